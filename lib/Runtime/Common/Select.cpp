// Which of the recurrences that were compiled for several targets a call uses.
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace recur::runtime;

const Machine *recur::runtime::findMachine(int32_t device, bool isBackward) {
  if (device == RECUR_CPU)
    return isBackward ? &processorsBackward : &processors;
  if (device == RECUR_CUDA)
    return isBackward ? &cudaBackward : &cudaDevice;
  return nullptr;
}

static void warnOfTarget(const recur_recurrence *recurrence, const char *forced) {
  char names[192] = "";
  size_t length = 0;
  for (const recur_recurrence *one = recurrence; one && length < sizeof names; one = one->next)
    length += size_t(snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", one->target));
  warnOfVariable("RECUR_TARGET", forced, "'%s' was compiled for %s", recurrence->name, names);
}

const recur_recurrence *recur_select_for(const recur_recurrence *recurrence, int32_t device) {
  const Machine *machine = findMachine(device);
  const char *forced = recurrence && recurrence->next ? getenv("RECUR_TARGET") : nullptr;
  bool isKnown = false, isOfOther = false;
  for (const recur_recurrence *one = recurrence; forced && one; one = one->next)
    if (strcmp(one->target, forced) == 0)
      (one->device == device ? isKnown : isOfOther) = true;
  if (forced && *forced && !isKnown && !isOfOther)
    warnOfTarget(recurrence, forced);
  for (const recur_recurrence *one = recurrence; machine && one; one = one->next)
    if (one->device == device && (!isKnown || strcmp(one->target, forced) == 0) && machine->canRun(one))
      return one;
  return nullptr;
}

const recur_recurrence *recur_select(const recur_recurrence *recurrence) {
  return recur_select_for(recurrence, RECUR_CPU);
}

recur_status recur::runtime::checkDevice(const recur_recurrence *recurrence, int32_t device) {
  const Machine *machine = findMachine(device);
  if (!machine)
    return fail(RECUR_WRONG_MACHINE, "%s: there is no device of the number %d; see recur_device", recurrence->name,
                int(device));
  if (recur_select_for(recurrence, device))
    return RECUR_OK;
  for (const recur_recurrence *one = recurrence; one; one = one->next)
    if (one->device == device)
      return machine->refuse(one);
  if (device == RECUR_CPU)
    return fail(
        RECUR_WRONG_MACHINE,
        "%s was compiled for '%s' alone; set the call's device to RECUR_CUDA, with arrays in memory of a GPU, or "
        "add a processor to --target",
        recurrence->name, recurrence->target);
  return fail(RECUR_WRONG_MACHINE, "%s was compiled for processors alone; add a GPU, such as sm_90a, to --target",
              recurrence->name);
}
