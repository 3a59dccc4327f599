#include "Runtime/CPU/Tokens.h"

using namespace recur::runtime;

constexpr int64_t mostPlaces = RECUR_MOST_KEPT_TOKENS + 1;

static int64_t countPlaces(const recur_call &call) {
  int64_t tokens = call.T < RECUR_MOST_KEPT_TOKENS ? call.T : RECUR_MOST_KEPT_TOKENS;
  return call.parents ? tokens + 1 : 1;
}

int64_t recur::runtime::countTokenBytes(const Call &resolved) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < resolved.recurrence->array_count; ++i)
    if (const recur_array_info &info = resolved.recurrence->arrays[i]; info.kind == RECUR_STATE)
      bytes += countFloatBytes(info) * countPlaces(*resolved.call);
  return bytes;
}

namespace {
/// A state on its way through the tokens.
struct State {
  const Argument *initial, *final;
  float *places;                // of the slot, where it is while no row has it as kernels do
  const float *now[mostPlaces]; // as each of them has it; null: zeros
  float *getPlace(int64_t place) const {
    return reinterpret_cast<float *>(reinterpret_cast<char *>(places) + place * countFloatBytes(*initial->info));
  }
};

/// The tokens that a sequence goes over: some of those that are replayed, and then all behind these.
class Path {
public:
  Path(const recur_call &call, int64_t sequence, int64_t tokens)
      : call(call), parents(call.parents ? call.parents + sequence * call.parent_stride : nullptr),
        taken(call.replayed ? call.accepted[sequence] : 0) {
    if (parents)
      findTaken(taken - 1);
    count = tokens - call.replayed + taken;
  }
  bool isTree() const { return parents; }
  int64_t getCount() const { return count; }
  int64_t getToken(int64_t step) const {
    return !isAgain(step) ? step + call.replayed - taken : parents ? takenTokens[step] : step;
  }
  /// Whether the token is gone over again, for the state alone.
  bool isAgain(int64_t step) const { return step < taken; }
  /// After how many steps the state is that the step begins with.
  int64_t getBegin(int64_t step) const {
    return !parents || isAgain(step) ? step : taken + 1 + parents[getToken(step)];
  }
  /// Which place has the state after so many steps: of a tree any of its tokens may ask for it.
  int64_t getPlace(int64_t steps) const { return parents && steps > taken ? steps - taken : 0; }
  /// The row of the state after so many steps; null where it is not stored.
  char *findRow(const Argument &final, int64_t sequence, int64_t head, int64_t steps) const {
    bool isStored = call.replayed ? steps == taken : call.token_indices ? steps > 0 : steps == count;
    return isStored && final.elements ? final.getState(sequence, head, call.token_indices ? steps - 1 : 0) : nullptr;
  }

private:
  /// The tokens on the path that this one ends.
  void findTaken(int64_t last) {
    taken = 0;
    for (int64_t token = last; token >= 0; token = parents[token])
      ++taken;
    for (int64_t token = last, step = taken; token >= 0; token = parents[token])
      takenTokens[--step] = token;
  }

  const recur_call &call;
  const int32_t *parents; // of the sequence's tokens; null: each is behind the one before it
  int64_t taken, count;
  int64_t takenTokens[RECUR_MOST_KEPT_TOKENS]; // of a tree
};
} // namespace

/// Where no token is gone over before the state is stored, it is that from before them.
static void keepFirst(const Path &path, State *states, int32_t count, int64_t sequence, int64_t head) {
  for (int32_t i = 0; i < count; ++i) {
    State &state = states[i];
    char *row = path.findRow(*state.final, sequence, head, 0);
    if (!row)
      continue;
    readState(*state.initial, sequence, head, reinterpret_cast<char *>(state.places));
    giveState(*state.final, state.places, row);
    state.now[0] = state.places;
  }
}

void recur::runtime::runTokens(const Call &call, int64_t unit, int64_t tokens, char *workspace) {
  const recur_kernel_info &kernel = *chooseKernel(call.recurrence, call.plan, 1);
  int64_t sequence = unit / call.heads, head = unit % call.heads;
  State states[mostArguments];
  int32_t count = 0, firstFinal = call.argumentCount;
  char *free = workspace + call.slotBytes;
  Path path(*call.call, sequence, tokens);
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    if (argument.role == Role::Initial) {
      State &state = states[count++];
      state.initial = &argument;
      state.places = reinterpret_cast<float *>(free -= countFloatBytes(*argument.info) * countPlaces(*call.call));
      const char *given = argument.getState(sequence, head);
      bool isPlaced = argument.isConverted() || path.isTree(); // where no row that is written is what it begins with
      state.now[0] = !given ? nullptr : isPlaced ? state.places : reinterpret_cast<const float *>(given);
      if (state.now[0] == state.places)
        readState(argument, sequence, head, reinterpret_cast<char *>(state.places));
    } else if (argument.role == Role::Final && firstFinal > i) {
      firstFinal = i;
    }
  }
  for (int32_t i = 0; i < count; ++i)
    states[i].final = &call.arguments[firstFinal + i];
  keepFirst(path, states, count, sequence, head);
  recur_array arrays[mostArguments];
  for (int64_t step = 0; step < path.getCount(); ++step) {
    Part part{unit, path.getToken(step), 1};
    int32_t initials = 0;
    for (int32_t i = 0; i < firstFinal; ++i) {
      const Argument &argument = call.arguments[i];
      if (argument.role == Role::Initial)
        arrays[i] = {const_cast<float *>(states[initials++].now[path.getPlace(path.getBegin(step))]),
                     argument.strides[1]};
      else if (argument.role == Role::Output && path.isAgain(step))
        arrays[i] = {nullptr, argument.strides[1]};
      else
        arrays[i] = {getData(call, part, argument), argument.strides[1]};
    }
    char *rows[mostArguments]; // where the states after this token go
    for (int32_t i = 0; i < count; ++i) {
      const Argument &final = *states[i].final;
      rows[i] = path.findRow(final, sequence, head, step + 1);
      int64_t place = path.getPlace(step + 1);
      bool isInRow = rows[i] && !final.isConverted() && !path.isTree();
      float *next = isInRow ? reinterpret_cast<float *>(rows[i]) : states[i].getPlace(place);
      arrays[firstFinal + i] = {next, final.strides[1]};
      states[i].now[place] = next;
    }
    kernel.run(arrays, 1, workspace);
    for (int32_t i = 0; i < count; ++i)
      if (const float *next = states[i].now[path.getPlace(step + 1)];
          rows[i] && rows[i] != reinterpret_cast<const char *>(next))
        giveState(*states[i].final, next, rows[i]);
  }
}
