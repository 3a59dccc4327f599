// Kernels that were loaded into contexts. The runtime knows them by where their descriptions lie.
#pragma once
#include "Runtime/CUDA/Library.h"

namespace recur::runtime {

/// The function of a launch of the recurrence in a context, loaded if it has not been: its own, or the one by which it
/// goes by a list.
recur_status findFunction(const CUDALibrary &cuda, const recur_recurrence *recurrence, const recur_launch_info *launch,
                          bool isListed, void *context, void **function);

} // namespace recur::runtime
