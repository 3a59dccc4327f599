// The entries for gradients: the checks of every call.
#include "Runtime/Common/Machine.h"

using namespace recur::runtime;

int64_t recur_backward_workspace_size(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  resolved.isBackward = true;
  if (resolveSizes(resolved, recurrence, call) != RECUR_OK)
    return -1;
  return countWorkspaceBytes(resolved);
}

recur_status recur_backward(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  resolved.isBackward = true;
  if (recur_status status = resolveSizes(resolved, recurrence, call))
    return status;
  if (recur_status status = resolveArguments(resolved))
    return status;
  if (recur_status status = checkOverlaps(resolved))
    return status;
  return resolved.machine->execute(resolved);
}
