// Hands each head of each sequence to a kernel.
#include "Runtime/Call.h"
#include "Runtime/Message.h"
#include "Runtime/ThreadPool.h"
#include <cstring>

using namespace recur::runtime;

namespace {
struct Work {
  const Call *call;
  int64_t next; // the first head of a sequence that no slot has taken
};

struct Sequence {
  int64_t entry; // of the batch
  int64_t begin, tokens;
};
} // namespace

static Sequence getSequence(const Call &call, int64_t index) {
  if (const int64_t *offsets = call.call->sequence_offsets)
    return {0, offsets[index], offsets[index + 1] - offsets[index]};
  return {index, 0, call.call->T};
}

static void transpose(const float *from, float *to, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      to[column * rows + row] = from[row * columns + column];
}

/// What one head of one sequence has in the caller's memory, and where transposed states stand meanwhile.
static void runUnit(const Call &call, int64_t unit, char *workspace) {
  int64_t index = unit / call.heads, head = unit % call.heads;
  Sequence sequence = getSequence(call, index);
  const recur_kernel_info *kernel = chooseKernel(call.recurrence, call.call->plan, sequence.tokens);
  recur_array arrays[mostArguments];
  float *scratch[mostArguments]; // of transposed states, by the place of their info
  char *free = workspace + call.slotBytes;
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    arrays[i] = {nullptr, argument.strides[1]};
    int64_t place = argument.info - call.recurrence->arrays;
    if (argument.role == Role::Initial && argument.isTransposed) {
      free -= roundUp(argument.elements * argument.elementBytes);
      scratch[place] = reinterpret_cast<float *>(free);
    }
    if (!argument.data)
      continue;
    bool isState = argument.info->kind == RECUR_STATE, isParam = argument.info->kind == RECUR_PARAM;
    int64_t ownHead = argument.info->shared ? head / (call.heads / call.groups) : head;
    char *data = argument.at(isState   ? index
                             : isParam ? 0
                                       : sequence.entry,
                             isState || isParam ? 0 : sequence.begin, ownHead);
    if (argument.isTransposed) {
      if (argument.role == Role::Initial)
        transpose(reinterpret_cast<float *>(data), scratch[place], argument.info->shape[1], argument.info->shape[0]);
      data = reinterpret_cast<char *>(scratch[place]);
    }
    arrays[i].data = data;
  }
  if (sequence.tokens > 0) {
    kernel->run(arrays, sequence.tokens, workspace);
  } else {
    // Nothing happens to the states: final is initial. They stand in one order, finals last.
    int32_t states = 0, initial = 0;
    for (int32_t i = 0; i < call.argumentCount; ++i)
      if (call.arguments[i].role == Role::Initial)
        initial = states++ ? initial : i;
    for (int32_t i = 0; i < states; ++i) {
      const Argument &argument = call.arguments[call.argumentCount - states + i];
      void *to = arrays[call.argumentCount - states + i].data;
      const void *from = arrays[initial + i].data;
      size_t bytes = size_t(argument.elements * argument.elementBytes);
      if (to && from && to != from)
        memcpy(to, from, bytes);
      else if (to && !from)
        memset(to, 0, bytes);
    }
  }
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    if (argument.role == Role::Final && argument.isTransposed && argument.data)
      transpose(static_cast<float *>(arrays[i].data), reinterpret_cast<float *>(argument.at(index, 0, head)),
                argument.info->shape[0], argument.info->shape[1]);
  }
}

/// Takes heads until none is left. Which slot a head falls to changes nothing of what is computed.
static void runSlot(void *context, int64_t slot) {
  Work &work = *static_cast<Work *>(context);
  const Call &call = *work.call;
  char *workspace = static_cast<char *>(call.call->workspace);
  if (workspace)
    workspace += slot * call.slotBytes;
  int64_t units = call.sequences * call.heads;
  for (int64_t unit; (unit = __atomic_fetch_add(&work.next, 1, __ATOMIC_RELAXED)) < units;)
    runUnit(call, unit, workspace);
}

int64_t recur_workspace_size(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  if (resolveSizes(resolved, recurrence, call) != RECUR_OK)
    return -1;
  return resolved.slots * resolved.slotBytes;
}

recur_status recur_forward(const recur_recurrence *recurrence, const recur_call *call) {
  Call resolved;
  if (recur_status status = resolveSizes(resolved, recurrence, call))
    return status;
  if (recur_status status = resolveArguments(resolved))
    return status;
  if (recur_status status = checkOverlaps(resolved))
    return status;
  if (resolved.slots == 0)
    return RECUR_OK;
  Work work{&resolved, 0};
  if (call->parallel_for)
    call->parallel_for(call->parallel_context, resolved.slots, runSlot, &work);
  else
    runOnPool(resolved.slots, runSlot, &work);
  return RECUR_OK;
}
