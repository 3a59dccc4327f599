// What differs between the kinds of machines that calls run on. All checks of a call are common to them.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

struct Machine {
  /// Whether kernels of the recurrence, which is for this kind of machine, run here.
  bool (*canRun)(const recur_recurrence *recurrence);
  /// Says why they do not.
  recur_status (*refuse)(const recur_recurrence *recurrence);
  /// Decides how a call whose sizes were checked is computed, and fills in what of Call follows from that.
  void (*plan)(Call &resolved);
  /// Computes the call, all of which was checked but what only this kind of machine asks of memory.
  recur_status (*execute)(const Call &resolved);
  /// Of a call backward: adds to the gradient of a param as many numbers of its type, which lie densely in the
  /// workspace. Null where calls go forward.
  recur_status (*addTo)(const Call &resolved, const Argument &gradient, const char *more);
  /// Checks the rows of pools, and trees of tokens. Null where calls go backward.
  recur_status (*checkPools)(const Call &resolved);
};

extern const Machine processors, cudaDevice;
extern const Machine processorsBackward, cudaBackward; // calls of the gradient

/// The one of a recur_device; null for a number that is none.
const Machine *findMachine(int32_t device, bool isBackward = false);

} // namespace recur::runtime
