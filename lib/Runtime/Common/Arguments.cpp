// The checks of the arrays themselves: pointers, alignment and strides.
#include "Runtime/Common/Gradients.h"
#include "Runtime/Common/Message.h"
#include <cstdint>

using namespace recur::runtime;

static constexpr const char *dimensionNames[3] = {"B", "T", "H"};

/// Handed over are the states that the gradient takes.
static void countKept(Argument &argument, const Call &resolved) {
  argument.counts[0] = resolved.keptRows;
  argument.elementBytes = sizeof(float);
  if (!handsOver(resolved))
    return;
  const recur_gradient_info &gradient = *resolved.recurrence->gradient;
  int32_t place = findKeptPlace(gradient, resolved.keptCount);
  argument.counts[0] = place < 0 ? 0 : countHandedRows(resolved);
  argument.elementBytes = place < 0 ? argument.elementBytes : getTypeBytes(getKeptType(gradient, place));
}

static void countElements(Argument &argument, const Call &resolved) {
  const recur_array_info &info = *argument.info;
  argument.elements = countElements(info);
  argument.elementBytes = getElementBytes(info);
  bool hasTokens = info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT;
  argument.counts[0] = hasTokens ? resolved.call->B : info.kind == RECUR_STATE ? resolved.sequences : 1;
  argument.counts[1] = hasTokens ? resolved.call->T : 1;
  if (info.kind == RECUR_OUTPUT && !isPacked(*resolved.call))
    argument.counts[1] -= resolved.call->replayed;
  argument.counts[2] = info.shared ? resolved.groups : resolved.heads;
  if (argument.isKept())
    countKept(argument, resolved);
  else if (argument.rows)
    argument.counts[0] = resolved.call->pool_rows;
}

static bool isEmpty(const Argument &argument) {
  return argument.elements == 0 || argument.counts[0] == 0 || argument.counts[1] == 0 || argument.counts[2] == 0;
}

/// Fills in strides that are 0, and finds how far the array reaches. False where that does not fit in memory.
static bool fillStrides(Argument &argument) {
  int64_t tokenDense, byTokens, byHeads;
  int64_t *strides = argument.strides, *counts = argument.counts;
  if (!strides[2])
    strides[2] = argument.elements;
  if (__builtin_mul_overflow(argument.elements, counts[2], &tokenDense))
    return false;
  if (!strides[1])
    strides[1] = tokenDense;
  if (__builtin_mul_overflow(strides[1], counts[1], &byTokens) ||
      __builtin_mul_overflow(strides[2], counts[2], &byHeads))
    return false;
  if (argument.isState())
    byTokens = 0; // has no tokens to step over
  if (!strides[0])
    strides[0] = byTokens > byHeads ? byTokens : byHeads;
  int64_t span = argument.elements;
  for (int i = 0; i < 3; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(strides[i], counts[i] - 1, &reach) || __builtin_add_overflow(span, reach, &span))
      return false;
  }
  uintptr_t end;
  if (__builtin_mul_overflow(span, argument.elementBytes, &argument.spanBytes))
    return false;
  return !__builtin_add_overflow(reinterpret_cast<uintptr_t>(argument.data), uintptr_t(argument.spanBytes), &end);
}

/// Whether no two elements of the array are the same memory: taken from the smallest stride up, each must reach beyond
/// all that the smaller ones span.
static bool isInjective(const Argument &argument) {
  int order[3] = {0, 1, 2};
  for (int i = 0; i < 3; ++i)
    for (int j = i + 1; j < 3; ++j)
      if (argument.strides[order[j]] < argument.strides[order[i]]) {
        int other = order[i];
        order[i] = order[j];
        order[j] = other;
      }
  int64_t span = argument.elements;
  for (int i : order) {
    if (argument.counts[i] == 1)
      continue;
    if (argument.strides[i] < span)
      return false;
    span += argument.strides[i] * (argument.counts[i] - 1); // no overflow: fillStrides summed the same
  }
  return true;
}

static recur_status resolveArgument(Argument &argument, const Call &resolved) {
  const char *name = resolved.recurrence->name, *word = argument.getWord(), *array = argument.info->name;
  for (int i = 0; i < 3; ++i)
    if (argument.strides[i] < 0)
      return fail(RECUR_BAD_STRIDE,
                  "%s: the stride over %s of the %s '%s' is %lld; it must be at least 0, which stands "
                  "for dense",
                  name, dimensionNames[i], word, array, (long long)argument.strides[i]);
  countElements(argument, resolved);
  argument.spanBytes = 0;
  argument.isTransposed = argument.info->kind == RECUR_STATE && argument.info->rank == 2 && !argument.isKept() &&
                          resolved.call->states_transposed;
  if (isEmpty(argument))
    return RECUR_OK;
  if (!argument.data) {
    if (argument.role == Role::Input || argument.role == Role::Param || argument.isKept())
      return fail(RECUR_NULL_POINTER, "%s: the %s '%s' is null", name, word, array);
    return RECUR_OK;
  }
  if (reinterpret_cast<uintptr_t>(argument.data) % uintptr_t(argument.elementBytes) != 0)
    return fail(RECUR_BAD_POINTER, "%s: the %s '%s' is not aligned to its elements of %lld bytes", name, word, array,
                (long long)argument.elementBytes);
  if (!fillStrides(argument))
    return fail(RECUR_BAD_SIZE, "%s: the %s '%s' is too large: its sizes times its strides leave the address space",
                name, word, array);
  if (argument.isWritten() && !isInjective(argument))
    return fail(RECUR_BAD_STRIDE,
                "%s: the strides of the %s '%s' put elements on top of one another: B %lld, T %lld, "
                "H %lld, and %lld elements at each",
                name, word, array, (long long)argument.strides[0], (long long)argument.strides[1],
                (long long)argument.strides[2], (long long)argument.elements);
  return RECUR_OK;
}

/// An error where a gradient is asked for that was left out of the build.
static recur_status checkLeftOut(const Argument &argument, const Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  if (!resolved.isBackward || !argument.isWritten() || !argument.data)
    return RECUR_OK;
  for (int32_t i = 0; i < recurrence->gradient->without_count; ++i)
    if (&recurrence->arrays[recurrence->gradient->without[i]] == argument.info)
      return fail(RECUR_NO_PLAN, "%s: the %s '%s' was left out when the kernel was built; name it in --backward=LIST",
                  recurrence->name, argument.getWord(), argument.info->name);
  return RECUR_OK;
}

/// Which rows of a pool each sequence has; none where states are those of the sequences in their order.
static void findRows(Argument &argument, const recur_call &call) {
  bool isFinal = argument.role == Role::Final;
  argument.rows = argument.accepted = nullptr;
  argument.rowColumns = 0;
  if (!argument.data || (!isFinal && argument.role != Role::Initial))
    return;
  if (isFinal && call.token_indices) {
    argument.rows = call.token_indices;
    argument.rowColumns = call.token_columns;
  } else if (isFinal && call.final_indices) {
    argument.rows = call.final_indices;
  } else {
    argument.rows = call.state_indices;
    if (call.accepted && !call.replayed) {
      argument.accepted = call.accepted;
      argument.rowColumns = call.state_columns;
    }
  }
  if (isFinal && call.replayed) // the state after these
    argument.rowColumns = 1;
}

/// The arrays of states at multiples of a length, or handed over, behind the arguments.
static recur_status resolveKept(Call &resolved) {
  const recur_call *call = resolved.call;
  resolved.keptCount = 0;
  bool isAny = call->kept_interval || handsOver(resolved);
  for (int32_t i = 0; isAny && i < resolved.recurrence->array_count; ++i) {
    const recur_array_info &info = resolved.recurrence->arrays[i];
    if (info.kind != RECUR_STATE)
      continue;
    if (call->kept_interval && !call->kept_states)
      return fail(RECUR_NULL_POINTER, "%s: kept_interval is %lld, but kept_states is null", resolved.recurrence->name,
                  (long long)call->kept_interval);
    Argument &argument = resolved.arguments[resolved.argumentCount + resolved.keptCount];
    argument = {};
    argument.info = &info;
    argument.role = resolved.isBackward ? Role::KeptIn : Role::KeptOut;
    argument.data = handsOver(resolved) ? static_cast<char *>(call->handed_states[resolved.keptCount])
                                        : reinterpret_cast<char *>(call->kept_states[resolved.keptCount]);
    if (recur_status status = resolveArgument(argument, resolved))
      return status;
    ++resolved.keptCount;
  }
  return RECUR_OK;
}

recur_status recur::runtime::resolveArguments(Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const recur_call *call = resolved.call;
  resolved.argumentCount = 0;
  auto kindOf = [&](int64_t i) { return recurrence->arrays[i].kind; };
  auto add = [&](const abi::RoleFacts &facts, int64_t i) {
    Argument &argument = resolved.arguments[resolved.argumentCount++];
    argument.info = &recurrence->arrays[i];
    argument.role = facts.role;
  };
  if (resolved.isBackward)
    abi::forEachArray(abi::gradientRoles, recurrence->array_count, kindOf, add);
  else
    abi::forEachArray(recurrence->array_count, kindOf, add);
  if (call->argument_count != resolved.argumentCount)
    return fail(RECUR_BAD_SIZE, "%s has %d arguments, but argument_count is %lld", recurrence->name,
                int(resolved.argumentCount), (long long)call->argument_count);
  if (!call->arguments && resolved.argumentCount)
    return fail(RECUR_NULL_POINTER, "%s: 'arguments' is null", recurrence->name);
  for (int32_t i = 0; i < resolved.argumentCount; ++i) {
    Argument &argument = resolved.arguments[i];
    const recur_argument &given = call->arguments[i];
    argument.data = static_cast<char *>(given.data);
    argument.strides[0] = given.strides.b;
    argument.strides[1] = given.strides.t;
    argument.strides[2] = given.strides.h;
    findRows(argument, *call);
    if (recur_status status = checkLeftOut(argument, resolved))
      return status;
    if (recur_status status = resolveArgument(argument, resolved))
      return status;
  }
  if (recur_status status = resolveKept(resolved))
    return status;
  int64_t needed = countWorkspaceBytes(resolved);
  if (needed == 0)
    return RECUR_OK;
  if (!call->workspace)
    return fail(RECUR_NULL_POINTER, "%s: the workspace is null; %lld bytes are needed", recurrence->name,
                (long long)needed);
  if (call->workspace_bytes < needed)
    return fail(RECUR_SMALL_WORKSPACE, "%s: the workspace has %lld bytes; %lld are needed", recurrence->name,
                (long long)call->workspace_bytes, (long long)needed);
  if (reinterpret_cast<uintptr_t>(call->workspace) % uintptr_t(alignment) != 0)
    return fail(RECUR_BAD_POINTER, "%s: the workspace is not aligned to %d bytes", recurrence->name, int(alignment));
  return RECUR_OK;
}
