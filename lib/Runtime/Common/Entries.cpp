// The entries that every kind of machine has, forward and backward: checks, and then the machine's own part.
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Starts.h"

using namespace recur::runtime;

static int64_t findWorkspaceSize(const recur_recurrence *recurrence, const recur_call *call, bool isBackward) {
  Call resolved;
  resolved.isBackward = isBackward;
  if (resolveSizes(resolved, recurrence, call) != RECUR_OK)
    return -1;
  return countWorkspaceBytes(resolved);
}

static recur_status checkAndExecute(const recur_recurrence *recurrence, const recur_call *call, bool isBackward) {
  Call resolved;
  resolved.isBackward = isBackward;
  if (recur_status status = resolveSizes(resolved, recurrence, call))
    return status;
  if (recur_status status = resolveArguments(resolved))
    return status;
  if (recur_status status = checkOverlaps(resolved))
    return status;
  if (hasPools(*call) || call->parents)
    if (recur_status status = resolved.machine->checkPools(resolved))
      return status;
  if (recur_status status = provideStarts(resolved))
    return status;
  if (recur_status status = resolved.machine->execute(resolved))
    return status;
  return isBackward ? addStartGradients(resolved) : RECUR_OK;
}

int64_t recur_workspace_size(const recur_recurrence *recurrence, const recur_call *call) {
  return findWorkspaceSize(recurrence, call, /*isBackward=*/false);
}

recur_status recur_forward(const recur_recurrence *recurrence, const recur_call *call) {
  return checkAndExecute(recurrence, call, /*isBackward=*/false);
}

int64_t recur_backward_workspace_size(const recur_recurrence *recurrence, const recur_call *call) {
  return findWorkspaceSize(recurrence, call, /*isBackward=*/true);
}

recur_status recur_backward(const recur_recurrence *recurrence, const recur_call *call) {
  return checkAndExecute(recurrence, call, /*isBackward=*/true);
}
