#include "Runtime/CPU/Tokens.h"

using namespace recur::runtime;

int64_t recur::runtime::countTokenBytes(const Call &resolved) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < resolved.recurrence->array_count; ++i)
    if (const recur_array_info &info = resolved.recurrence->arrays[i]; info.kind == RECUR_STATE)
      bytes += countFloatBytes(info);
  return bytes;
}

namespace {
/// A state on its way through the tokens.
struct State {
  const Argument *final;
  float *place;     // of the slot, where it is while no row has it as kernels do
  const float *now; // null: zeros
};
} // namespace

void recur::runtime::runTokens(const Call &call, int64_t unit, int64_t tokens, char *workspace) {
  const recur_kernel_info &kernel = *chooseKernel(call.recurrence, call.plan, 1);
  int64_t sequence = unit / call.heads, head = unit % call.heads;
  State states[mostArguments];
  int32_t count = 0, firstFinal = call.argumentCount;
  char *free = workspace + call.slotBytes;
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    if (argument.role == Role::Initial) {
      State &state = states[count++];
      state.place = reinterpret_cast<float *>(free -= countFloatBytes(*argument.info));
      const char *given = argument.getState(sequence, head);
      state.now = !given ? nullptr : argument.isConverted() ? state.place : reinterpret_cast<const float *>(given);
      if (state.now == state.place)
        readState(argument, sequence, head, reinterpret_cast<char *>(state.place));
    } else if (argument.role == Role::Final && firstFinal > i) {
      firstFinal = i;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    states[i].final = &call.arguments[firstFinal + i];
  recur_array arrays[mostArguments];
  for (int64_t token = 0; token < tokens; ++token) {
    Part part{unit, token, 1};
    int32_t initials = 0;
    for (int32_t i = 0; i < firstFinal; ++i) {
      const Argument &argument = call.arguments[i];
      if (argument.role == Role::Initial)
        arrays[i] = {const_cast<float *>(states[initials++].now), argument.strides[1]};
      else
        arrays[i] = {getData(call, part, argument), argument.strides[1]};
    }
    char *rows[mostArguments]; // where the states after this token go
    for (int32_t i = 0; i < count; ++i) {
      const Argument &final = *states[i].final;
      rows[i] = final.elements ? final.getState(sequence, head, token) : nullptr;
      float *next = rows[i] && !final.isConverted() ? reinterpret_cast<float *>(rows[i]) : states[i].place;
      arrays[firstFinal + i] = {next, final.strides[1]};
      states[i].now = next;
    }
    kernel.run(arrays, 1, workspace);
    for (int32_t i = 0; i < count; ++i)
      if (rows[i] && states[i].final->isConverted())
        giveState(*states[i].final, states[i].now, rows[i]);
  }
}
