// Kernels of a checked call, put into its stream.
#pragma once
#include "Runtime/CUDA/Library.h"
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// What launches go to.
struct Device {
  const CUDALibrary *cuda;
  void *context;
  int multiprocessors; // 0 where not known
};
/// That of the current context.
recur_status findDevice(const Call &resolved, Device &device);

bool isOnDevice(const CUDALibrary &cuda, const void *data);

/// An error where the call has more heads of sequences than a launch takes, or memory that is not a GPU's.
recur_status checkMemory(const CUDALibrary &cuda, const Call &resolved);

/// All launches of a kernel, for all sequences of a call whose arguments are numbered as the kernel's are.
recur_status launchKernel(const Device &device, const Call &resolved, const recur_kernel_info &kernel);

/// One launch with its words.
recur_status putLaunch(const Device &device, const recur_recurrence *recurrence, const recur_launch_info &launch,
                       bool isListed, LaunchConfig &config, int64_t *words);

/// The same of a kernel whose threads share out so many elements; nothing where there are none.
recur_status putOverElements(const Device &device, const recur_recurrence *recurrence, const recur_launch_info &launch,
                             int64_t elements, void *stream, int64_t *words);

} // namespace recur::runtime
