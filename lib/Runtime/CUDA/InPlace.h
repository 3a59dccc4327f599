// Final states in the place of initial ones, which a launch may write before another CTA has read them.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Whether the kernel may write a final state before all have read the initial one. Both are numbers of arguments.
bool mayOverwrite(const recur_kernel_info &kernel, int32_t initial, int32_t final);

/// The workspace, at its end, for the initial states that any kernel may overwrite; less than 0 where it is too large.
int64_t countStagedBytes(const Call &resolved);

/// A call whose initial states lie in the workspace where its kernel would overwrite them.
class Staged {
public:
  explicit Staged(const Call &resolved) : call(*resolved.call), copies(resolved), staged(resolved) {}

  /// Whether any has to be, where the call has this kernel.
  bool isNeeded(const recur_kernel_info &kernel) const;
  /// What copies the states there: a call of no tokens.
  const Call &getCopies();
  /// And then the call itself.
  const Call &getCall() const { return staged; }

private:
  recur_call call; // of `copies`
  Call copies, staged;
};

} // namespace recur::runtime
