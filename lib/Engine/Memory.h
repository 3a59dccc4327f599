// Memory that kernels of a target work on: this process's own, or a GPU's.
#pragma once
#include "Target/Target.h"
#include "recur/Runtime.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace recur::engine {

/// Arrays of one call, which are gone when this is.
class Memory {
public:
  virtual ~Memory() = default;
  /// Where kernels find a copy of these bytes of this process: the same place, if they work on it.
  virtual llvm::Expected<void *> give(void *bytes, int64_t count) = 0;
  /// When all work is done: what the kernels made of the bytes that were given last to first.
  virtual llvm::Error take(void *bytes, const void *place, int64_t count) = 0;
  /// Waits until all work is done. An error says what went wrong in it.
  virtual llvm::Error wait() = 0;
};

/// Why this machine runs no kernels of the target; none where it does.
std::optional<std::string> explainNoDevice(const Target &target);

/// Opens the memory for one call of kernels of the target, from this thread.
llvm::Expected<std::unique_ptr<Memory>> openMemory(const Target &target);

} // namespace recur::engine
