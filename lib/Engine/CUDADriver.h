// What the engine calls of CUDA's driver beside the runtime: devices, their contexts and their memory. Found in libcuda
// when it is first asked for.
#pragma once
#include "Target/Target.h"
#include "llvm/Support/Error.h"

namespace recur::engine {

using CUDAPointer = unsigned long long;

class CUDADriver {
public:
  static const CUDADriver &get();

  /// Why there is no device that the target's kernels run on.
  std::optional<std::string> explainNoDevice(const Target &target) const;
  /// Makes the context of the first such device this thread's own.
  llvm::Error makeCurrent(const Target &target) const;

  /// An error where the result of a call says so.
  llvm::Error check(int result, llvm::StringRef what) const;

  int (*allocate)(CUDAPointer *place, size_t bytes) = nullptr;
  int (*free)(CUDAPointer place) = nullptr;
  int (*copyToDevice)(CUDAPointer to, const void *from, size_t bytes) = nullptr;
  int (*copyToHost)(void *to, CUDAPointer from, size_t bytes) = nullptr;
  int (*synchronize)() = nullptr;

private:
  CUDADriver();
  std::optional<int> findDevice(const Target &target) const;

  std::string missing;                     // empty where there is a driver
  llvm::SmallVector<int64_t> capabilities; // of the devices, 90 for 9.0
  int (*getErrorName)(int result, const char **name) = nullptr;
  int (*retainContext)(void **context, int device) = nullptr;
  int (*setContext)(void *context) = nullptr;
};

} // namespace recur::engine
