// The rows of pools: that each is there, and that none is written while another sequence reads or writes it.
#include "Runtime/Common/Call.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

/// Whether one of so many is the number. It has no way out on the way, so that many are compared at once.
static bool contains(const int32_t *numbers, int64_t count, int32_t number) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i)
    found |= numbers[i] == number;
  return found;
}

static int64_t find(const int32_t *numbers, int32_t number) {
  int64_t i = 0;
  while (numbers[i] != number)
    ++i;
  return i;
}

namespace {
/// What the call does with the rows of its pools.
struct Use {
  bool reads = false, writes = false;
  bool isInPlace = false; // what is written is what is read
};
} // namespace

static Use findUse(const Call &resolved) {
  Use use;
  for (int32_t i = 0; i < resolved.argumentCount; ++i) {
    const Argument &argument = resolved.arguments[i];
    if (!argument.rows)
      continue;
    (argument.isWritten() ? use.writes : use.reads) = true;
    for (int32_t j = 0; argument.isWritten() && j < i; ++j)
      use.isInPlace |= resolved.arguments[j].rows && resolved.arguments[j].data == argument.data;
  }
  return use;
}

static recur_status checkRange(const Call &resolved, const char *field, const int32_t *indices) {
  for (int64_t i = 0; indices && i < resolved.sequences; ++i)
    if (indices[i] >= resolved.call->pool_rows)
      return fail(RECUR_BAD_INDEX, "%s: %s[%lld] is %d, and the pools have %lld rows; a negative index stands for none",
                  resolved.recurrence->name, field, (long long)i, int(indices[i]), (long long)resolved.call->pool_rows);
  return RECUR_OK;
}

recur_status recur::runtime::checkIndices(const Call &resolved, const int32_t *states, const int32_t *finals) {
  const char *name = resolved.recurrence->name, *field = finals ? "final_indices" : "state_indices";
  if (recur_status status = checkRange(resolved, "state_indices", states))
    return status;
  if (recur_status status = checkRange(resolved, "final_indices", finals))
    return status;
  Use use = findUse(resolved);
  const int32_t *written = finals ? finals : states;
  for (int64_t i = 0; use.writes && i < resolved.sequences; ++i)
    if (written[i] >= 0 && contains(written, i, written[i]))
      return fail(RECUR_BAD_INDEX, "%s: %s[%lld] is %d, and so is [%lld]; no row is written for two sequences", name,
                  field, (long long)i, int(written[i]), (long long)find(written, written[i]));
  if (!use.isInPlace || !states || !finals)
    return RECUR_OK;
  for (int64_t i = 0; i < resolved.sequences; ++i) {
    if (states[i] < 0 || finals[i] == states[i] || !contains(finals, resolved.sequences, states[i]))
      continue;
    return fail(RECUR_BAD_INDEX,
                "%s: state_indices[%lld] is %d, and so is final_indices[%lld]; no row is read for one sequence and "
                "written for another",
                name, (long long)i, int(states[i]), (long long)find(finals, states[i]));
  }
  return RECUR_OK;
}
