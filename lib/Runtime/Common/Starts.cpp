#include "Runtime/Common/Starts.h"
#include "Runtime/Common/Message.h"
#include <cstring>

using namespace recur::runtime;

/// Adds so many float32 numbers to `bytes`, in a piece of its own.
static bool addFloats(int64_t &bytes, const recur_array_info &info, int64_t rows) {
  int64_t own;
  return !__builtin_mul_overflow(countElements(info) * int64_t(sizeof(float)), rows, &own) && own < INT64_MAX / 4 &&
         !__builtin_add_overflow(bytes, roundUp(own), &bytes);
}

static bool addAll(int64_t &bytes, const recur_recurrence *recurrence, int32_t kind, int64_t rows) {
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == kind && !addFloats(bytes, recurrence->arrays[i], rows))
      return false;
  return true;
}

/// A start is the same for all sequences. Its gradient is not: backward each of them has one of its own.
static int64_t countStartSequences(const Call &resolved) { return resolved.isBackward ? resolved.sequences : 1; }

StartLayout recur::runtime::makeStartLayout(const Call &resolved) {
  StartLayout layout = {};
  const recur_recurrence *start = resolved.recurrence->start;
  int64_t rows = 0, bytes = 0;
  layout.end = -1;
  if (__builtin_mul_overflow(countStartSequences(resolved), resolved.heads, &rows) ||
      !addAll(bytes, start, RECUR_STATE, rows))
    return layout;
  layout.gradients = bytes;
  if (resolved.isBackward && !addAll(bytes, start, RECUR_STATE, rows))
    return layout;
  layout.params = bytes;
  if (resolved.isBackward && !addAll(bytes, start, RECUR_PARAM, resolved.heads))
    return layout;
  layout.workspace = bytes;
  recur_call call = describeStarts(resolved);
  int64_t own = recur_workspace_size(start, &call);
  if (own >= 0 && resolved.isBackward && start->gradient) {
    int64_t backward = recur_backward_workspace_size(start, &call);
    own = backward < 0 || backward > own ? backward : own;
  }
  if (own >= 0 && !__builtin_add_overflow(bytes, roundUp(own), &bytes))
    layout.end = bytes;
  return layout;
}

recur_call recur::runtime::describeStarts(const Call &resolved) {
  const recur_call *given = resolved.call;
  recur_call call = {};
  call.B = countStartSequences(resolved);
  call.T = 1;
  call.H = resolved.heads;
  call.states_transposed = given->states_transposed;
  call.threads = given->threads;
  call.parallel_for = given->parallel_for;
  call.parallel_context = given->parallel_context;
  call.stream = given->stream;
  call.device = given->device;
  return call;
}

char *recur::runtime::getStartSpace(const Call &resolved) {
  return static_cast<char *>(resolved.call->workspace) + countWorkspaceBytes(resolved) - resolved.startBytes;
}

const Argument *recur::runtime::findStart(const Call &resolved, Role role, const recur_array_info &state) {
  for (int32_t i = 0; i < resolved.argumentCount; ++i)
    if (resolved.arguments[i].role == role && strcmp(resolved.arguments[i].info->name, state.name) == 0)
      return &resolved.arguments[i];
  return nullptr;
}
Argument *recur::runtime::findStart(Call &resolved, Role role, const recur_array_info &state) {
  return const_cast<Argument *>(findStart(static_cast<const Call &>(resolved), role, state));
}

bool recur::runtime::isMade(const Call &resolved, const Argument &initial) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(getStartSpace(resolved)),
            data = reinterpret_cast<uintptr_t>(initial.data);
  return resolved.startBytes && data >= begin && data - begin < uintptr_t(resolved.startBytes);
}

recur_status recur::runtime::planStarts(Call &resolved) {
  resolved.startBytes = 0;
  if (!resolved.recurrence->start || !resolved.sequences || !resolved.heads)
    return RECUR_OK;
  resolved.startBytes = makeStartLayout(resolved).end;
  if (resolved.startBytes < 0)
    return fail(RECUR_BAD_SIZE, "%s: the workspace for what its states start as is too large",
                resolved.recurrence->name);
  return RECUR_OK;
}

/// Lets a state that the caller left out lie in the workspace, dense, of so many sequences, or of one for all.
static void place(Argument &argument, char *data, int64_t sequences) {
  argument.data = data;
  argument.strides[2] = argument.elements;
  argument.strides[1] = argument.elements * argument.counts[2];
  argument.strides[0] = sequences == 1 ? 0 : argument.strides[1];
  argument.spanBytes = argument.elements * sequences * argument.counts[2] * argument.elementBytes;
}

recur_status recur::runtime::provideStarts(Call &resolved) {
  if (!resolved.startBytes)
    return RECUR_OK;
  const recur_recurrence *start = resolved.recurrence->start;
  StartLayout layout = makeStartLayout(resolved);
  recur_argument arguments[mostArguments] = {};
  int32_t count = 0;
  bool isNeeded = false, isTrained = false;
  for (int32_t i = 0; i < resolved.argumentCount; ++i) {
    const Argument &argument = resolved.arguments[i];
    if (argument.role == Role::Param)
      arguments[count++] = {argument.data, {argument.strides[0], argument.strides[1], argument.strides[2]}};
    isTrained |= start->gradient && argument.role == Role::ParamGradient && argument.data;
  }
  int32_t params = count, states = start->array_count - params;
  char *space = getStartSpace(resolved), *gradients = space + layout.gradients;
  int64_t sequences = countStartSequences(resolved);
  for (int32_t i = 0; i < states; ++i) {
    const recur_array_info &info = start->arrays[params + i];
    Argument &initial = *findStart(resolved, Role::Initial, info);
    int64_t bytes = roundUp(initial.elements * sequences * initial.counts[2] * initial.elementBytes);
    if (initial.rows) {
      isNeeded = true;
      initial.absent = space;
      arguments[params + states + i].data = space;
    } else if (!initial.data) {
      isNeeded = true;
      place(initial, space, sequences);
      arguments[params + states + i].data = space;
      Argument *gradient = isTrained ? findStart(resolved, Role::InitialGradient, info) : nullptr;
      if (gradient && !gradient->data)
        place(*gradient, gradients, sequences);
    }
    space += bytes;
    gradients += bytes;
  }
  if (!isNeeded)
    return RECUR_OK;
  recur_call call = describeStarts(resolved);
  call.arguments = arguments;
  call.argument_count = params + 2 * states;
  call.workspace = getStartSpace(resolved) + layout.workspace;
  call.workspace_bytes = layout.end - layout.workspace;
  return recur_forward(start, &call);
}
