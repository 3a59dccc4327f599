// Tokens that are tried as trees: that each is behind an earlier one, and that there are no more than a call may have.
#include "Runtime/Common/Call.h"
#include "Runtime/Common/Message.h"
#include <cstdio>

using namespace recur::runtime;

int64_t recur::runtime::countParents(const Call &resolved) {
  const recur_call &call = *resolved.call;
  return call.parents && resolved.sequences ? (resolved.sequences - 1) * call.parent_stride + call.parent_columns : 0;
}

/// Of one sequence.
static recur_status checkLength(const char *name, const recur_call &call, int64_t sequence, int64_t tokens) {
  if (tokens > call.parent_columns)
    return fail(RECUR_BAD_SIZE, "%s: sequence %lld has %lld tokens, and parents has numbers for %lld", name,
                (long long)sequence, (long long)tokens, (long long)call.parent_columns);
  if (tokens - call.replayed > RECUR_MOST_KEPT_TOKENS)
    return fail(RECUR_BAD_SIZE, "%s: sequence %lld tries %lld tokens; a tree has at most %d", name, (long long)sequence,
                (long long)(tokens - call.replayed), RECUR_MOST_KEPT_TOKENS);
  return RECUR_OK;
}

recur_status recur::runtime::checkTreeSizes(const recur_recurrence *recurrence, const recur_call *call,
                                            bool isBackward) {
  const char *name = recurrence->name;
  if (!call->parents) {
    if (call->parent_columns || call->parent_stride)
      return fail(RECUR_NULL_POINTER, "%s: %s is %lld, but parents is null", name,
                  call->parent_columns ? "parent_columns" : "parent_stride",
                  (long long)(call->parent_columns ? call->parent_columns : call->parent_stride));
    return RECUR_OK;
  }
  if (isBackward)
    return fail(RECUR_NO_PLAN, "%s: tokens are tried as trees by calls forward alone", name);
  if (call->parent_columns < 0 || call->parent_columns > 2 * RECUR_MOST_KEPT_TOKENS)
    return fail(RECUR_BAD_SIZE, "%s: parent_columns is %lld; it must be at least 0, and at most %d", name,
                (long long)call->parent_columns, 2 * RECUR_MOST_KEPT_TOKENS);
  if (call->parent_stride && (call->parent_stride < call->parent_columns || call->parent_stride > INT32_MAX))
    return fail(RECUR_BAD_STRIDE,
                "%s: parent_stride is %lld; it is 0 where all sequences have the same tree, and else at least "
                "parent_columns, %lld, and at most %d",
                name, (long long)call->parent_stride, (long long)call->parent_columns, int(INT32_MAX));
  if (call->replayed > RECUR_MOST_KEPT_TOKENS)
    return fail(RECUR_BAD_SIZE, "%s: replayed is %lld; a tree has at most %d tokens", name, (long long)call->replayed,
                RECUR_MOST_KEPT_TOKENS);
  if (call->interval || call->kept_interval || call->handed_states)
    return fail(RECUR_NO_PLAN, "%s: no states of a tree are kept for %s", name,
                call->interval        ? "interval"
                : call->kept_interval ? "kept_interval"
                                      : "handed_states");
  return isPacked(*call) || !call->B ? RECUR_OK : checkLength(name, *call, 0, call->T);
}

recur_status recur::runtime::checkTrees(const Call &resolved, const CallIndices &given) {
  const char *name = resolved.recurrence->name;
  const recur_call &call = *resolved.call;
  for (int64_t i = 0; given.parents && i < resolved.sequences; ++i) {
    int64_t tokens = given.offsets ? given.offsets[i + 1] - given.offsets[i] : call.T;
    if (recur_status status = checkLength(name, call, i, tokens))
      return status;
    for (int64_t token = 0; token < tokens; ++token) {
      int64_t own = token < call.replayed ? token : token - call.replayed;
      int32_t parent = given.parents[i * call.parent_stride + token];
      if (parent >= -1 && parent < own)
        continue;
      char place[64];
      if (call.parent_stride)
        snprintf(place, sizeof place, "[%lld][%lld]", (long long)i, (long long)token);
      else
        snprintf(place, sizeof place, "[%lld]", (long long)token);
      return fail(
          RECUR_BAD_INDEX,
          "%s: parents%s is %d; it is the number of an earlier token of its tree, of which this one is %lld, or "
          "-1",
          name, place, int(parent), (long long)own);
    }
  }
  return RECUR_OK;
}
