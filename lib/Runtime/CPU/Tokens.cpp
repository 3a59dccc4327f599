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
  const Argument *initial, *final;
  float *place;     // of the slot, where it is while no row has it as kernels do
  const float *now; // null: zeros
};

/// The tokens that a sequence goes over: some of those that are replayed, and then all behind these.
class Path {
public:
  Path(const recur_call &call, int64_t sequence, int64_t tokens)
      : replayed(call.replayed), taken(replayed ? call.accepted[sequence] : 0), count(tokens - replayed + taken) {}
  int64_t getCount() const { return count; }
  int64_t getToken(int64_t step) const { return isAgain(step) ? step : step + replayed - taken; }
  /// Whether the token is gone over again, for the state alone.
  bool isAgain(int64_t step) const { return step < taken; }
  /// The row of the state after so many steps; null where it is not stored.
  char *findRow(const Argument &final, int64_t sequence, int64_t head, int64_t steps) const {
    bool isStored = final.elements && (replayed ? steps == taken : steps > 0);
    return isStored ? final.getState(sequence, head, replayed ? 0 : steps - 1) : nullptr;
  }

private:
  int64_t replayed, taken, count;
};
} // namespace

/// Where none of the tokens is taken, the state is that from before them.
static void keepFirst(const Path &path, State *states, int32_t count, int64_t sequence, int64_t head) {
  for (int32_t i = 0; i < count; ++i) {
    State &state = states[i];
    char *row = path.findRow(*state.final, sequence, head, 0);
    if (!row)
      continue;
    readState(*state.initial, sequence, head, reinterpret_cast<char *>(state.place));
    giveState(*state.final, state.place, row);
    state.now = state.place;
  }
}

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
      state.initial = &argument;
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
  Path path(*call.call, sequence, tokens);
  keepFirst(path, states, count, sequence, head);
  recur_array arrays[mostArguments];
  for (int64_t step = 0; step < path.getCount(); ++step) {
    Part part{unit, path.getToken(step), 1};
    int32_t initials = 0;
    for (int32_t i = 0; i < firstFinal; ++i) {
      const Argument &argument = call.arguments[i];
      if (argument.role == Role::Initial)
        arrays[i] = {const_cast<float *>(states[initials++].now), argument.strides[1]};
      else if (argument.role == Role::Output && path.isAgain(step))
        arrays[i] = {nullptr, argument.strides[1]};
      else
        arrays[i] = {getData(call, part, argument), argument.strides[1]};
    }
    char *rows[mostArguments]; // where the states after this token go
    for (int32_t i = 0; i < count; ++i) {
      const Argument &final = *states[i].final;
      rows[i] = path.findRow(final, sequence, head, step + 1);
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
