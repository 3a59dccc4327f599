// Whether what is written shares memory with anything else, the call's own tables among it. Arrays may lie interleaved
// in one buffer, as slices of a fused projection do: then the ranges of their addresses overlap while their elements do
// not.
#include "Runtime/Common/Call.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

namespace {
/// An array as runs of contiguous bytes at multiples of a period.
struct Runs {
  int64_t bytes;  // of a run
  int64_t period; // 0: there is one run
};
} // namespace

static int64_t getGcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static Runs getRuns(const Argument &argument) {
  bool isMerged[3] = {};
  int64_t run = argument.elements;
  for (bool changes = true; changes;) { // a dimension that is dense over the run makes it longer
    changes = false;
    for (int i = 0; i < 3; ++i)
      if (!isMerged[i] && argument.counts[i] > 1 && argument.strides[i] == run) {
        run *= argument.counts[i];
        isMerged[i] = changes = true;
      }
  }
  int64_t period = 0;
  for (int i = 0; i < 3; ++i)
    if (!isMerged[i] && argument.counts[i] > 1)
      period = getGcd(period, argument.strides[i]);
  return {run * argument.elementBytes, period * argument.elementBytes};
}

static bool overlap(const Argument &a, const Argument &b) {
  uintptr_t aBegin = reinterpret_cast<uintptr_t>(a.data), bBegin = reinterpret_cast<uintptr_t>(b.data);
  if (aBegin + a.spanBytes <= bBegin || bBegin + b.spanBytes <= aBegin)
    return false;
  if (aBegin > bBegin)
    return overlap(b, a);
  Runs aRuns = getRuns(a), bRuns = getRuns(b);
  int64_t period = getGcd(aRuns.period, bRuns.period);
  if (period == 0)
    return true;
  int64_t shift = int64_t(bBegin - aBegin) % period;
  return shift < aRuns.bytes || shift + bRuns.bytes > period;
}

/// A state may be updated in place; a gradient, or what is kept of a state, is in nothing's place.
static bool isSameState(const Argument &a, const Argument &b) {
  bool areBeforeAndAfter =
      (a.role == Role::Initial && b.role == Role::Final) || (a.role == Role::Final && b.role == Role::Initial);
  if (a.info != b.info || !areBeforeAndAfter || a.data != b.data)
    return false;
  for (int i = 0; i < 3; ++i)
    if (a.counts[i] > 1 && a.strides[i] != b.strides[i])
      return false;
  return true;
}

/// Bytes in one piece.
static Argument makeBlock(const void *data, int64_t bytes) {
  Argument block = {};
  block.data = static_cast<char *>(const_cast<void *>(data));
  block.elementBytes = 1;
  block.elements = block.spanBytes = bytes;
  block.counts[0] = block.counts[1] = block.counts[2] = 1;
  return block;
}

static Argument makeIndices(const int32_t *indices, const Call &resolved, int64_t columns = 1) {
  return makeBlock(indices, indices ? resolved.sequences * columns * int64_t(sizeof(int32_t)) : 0);
}

/// What the caller describes the call with is read while it runs: it may lie in nothing that is written.
static recur_status checkTables(const Call &resolved, const Argument &workspace) {
  const recur_call *call = resolved.call;
  const struct {
    const char *name;
    Argument block;
  } tables[] = {
      {"the call", makeBlock(call, sizeof *call)},
      {"'arguments'", makeBlock(call->arguments, call->argument_count * int64_t(sizeof(recur_argument)))},
      {"'kept_states'", makeBlock(static_cast<const void *>(call->kept_states),
                                  call->kept_interval ? resolved.keptCount * int64_t(sizeof(*call->kept_states)) : 0)},
      {"'handed_states'",
       makeBlock(static_cast<const void *>(call->handed_states),
                 handsOver(resolved) ? resolved.keptCount * int64_t(sizeof(*call->handed_states)) : 0)},
      {"'sequence_offsets'",
       makeBlock(call->sequence_offsets,
                 call->sequence_offsets ? (call->sequence_count + 1) * int64_t(sizeof(int64_t)) : 0)},
      {"'device_offsets'", makeBlock(call->device_offsets,
                                     call->device_offsets ? (call->sequence_count + 1) * int64_t(sizeof(int64_t)) : 0)},
      {"'state_indices'", makeIndices(call->state_indices, resolved, countStateColumns(*call))},
      {"'final_indices'", makeIndices(call->final_indices, resolved)},
      {"'token_indices'", makeIndices(call->token_indices, resolved, call->token_columns)},
      {"'accepted'", makeIndices(call->accepted, resolved)},
      {"'parents'", makeBlock(call->parents, countParents(resolved) * int64_t(sizeof(int32_t)))},
      {"'interval_indices'", makeIndices(call->interval_indices, resolved, call->interval_columns)},
      {"'positions'", makeIndices(call->positions, resolved)}};
  const char *name = resolved.recurrence->name;
  for (const auto &[table, block] : tables) {
    if (!block.spanBytes)
      continue;
    if (workspace.spanBytes && overlap(block, workspace))
      return fail(RECUR_OVERLAP, "%s: %s lies in the workspace", name, table);
    for (int32_t i = 0; i < resolved.argumentCount + resolved.keptCount; ++i) {
      const Argument &argument = resolved.arguments[i];
      if (argument.isWritten() && argument.spanBytes && overlap(block, argument))
        return fail(RECUR_OVERLAP, "%s: %s lies in the %s '%s'", name, table, argument.getWord(), argument.info->name);
    }
  }
  return RECUR_OK;
}

/// What launches hand over lies apart from all other arrays, for one call writes it.
static recur_status checkHandedValues(const Call &resolved, const Argument &workspace) {
  const char *name = resolved.recurrence->name;
  if (!handsValues(resolved))
    return RECUR_OK;
  const Argument values = makeBlock(resolved.call->handed_values, countHandedBytes(resolved));
  if (values.spanBytes && workspace.spanBytes && overlap(values, workspace))
    return fail(RECUR_OVERLAP, "%s: 'handed_values' lies in the workspace", name);
  for (int32_t i = 0; i < resolved.argumentCount + resolved.keptCount; ++i)
    if (const Argument &argument = resolved.arguments[i];
        values.spanBytes && argument.spanBytes && overlap(values, argument))
      return fail(RECUR_OVERLAP, "%s: 'handed_values' shares memory with the %s '%s'", name, argument.getWord(),
                  argument.info->name);
  return RECUR_OK;
}

recur_status recur::runtime::checkOverlaps(const Call &resolved) {
  const char *name = resolved.recurrence->name;
  const Argument workspace = makeBlock(resolved.call->workspace, countWorkspaceBytes(resolved));
  for (int32_t i = 0; i < resolved.argumentCount + resolved.keptCount; ++i) {
    const Argument &a = resolved.arguments[i];
    if (!a.spanBytes)
      continue;
    uintptr_t begin = reinterpret_cast<uintptr_t>(a.data), space = reinterpret_cast<uintptr_t>(workspace.data);
    if (workspace.spanBytes && begin < space + workspace.spanBytes && space < begin + a.spanBytes)
      return fail(RECUR_OVERLAP, "%s: the %s '%s' lies in the workspace", name, a.getWord(), a.info->name);
    for (int32_t j = 0; j < i; ++j) {
      const Argument &b = resolved.arguments[j];
      if (!b.spanBytes || (!a.isWritten() && !b.isWritten()) || isSameState(a, b) || !overlap(a, b))
        continue;
      const Argument &written = a.isWritten() ? a : b, &other = a.isWritten() ? b : a;
      return fail(RECUR_OVERLAP, "%s: the %s '%s' shares memory with the %s '%s'", name, written.getWord(),
                  written.info->name, other.getWord(), other.info->name);
    }
  }
  if (recur_status status = checkHandedValues(resolved, workspace))
    return status;
  return checkTables(resolved, workspace);
}
