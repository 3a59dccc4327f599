#include "Transforms/Chunk/Delays.h"
#include "Transforms/Chunk/Dependence.h"
#include "dialects/Chunk/ChunkTangents.h"
#include "dialects/Chunk/ChunkWindow.h"

using namespace mlir;
using namespace recur::chunk;

SmallVector<InputOp> Delay::getInputs() const {
  auto parts = rows.getDefiningOp<ConcatOp>();
  SmallVector<InputOp> inputs;
  for (Value part : parts ? SmallVector<Value>(parts.getOperands()) : SmallVector<Value>{rows}) {
    auto input = part.getDefiningOp<InputOp>();
    if (!input || input.getSizes() || (parts && tensorOf(part).getRank() != 2))
      return {};
    inputs.push_back(input);
  }
  return inputs;
}

/// The delay that makes a state's next value, if it alone does.
static std::optional<Delay> findDelay(StateOp state) {
  auto last = state.getNext().getValue().getDefiningOp<LastOp>();
  if (!last || tensorOf(state).getRank() > 1)
    return std::nullopt;
  Delay delay{last.getAll(), {}};
  while (auto previous = delay.rows.getDefiningOp<PreviousOp>()) {
    auto earlier = previous.getState().getDefiningOp<StateOp>();
    if (!earlier)
      return std::nullopt;
    delay.earlier.push_back(earlier);
    delay.rows = previous.getAll();
  }
  return delay;
}

Delays recur::chunk::findDelays(ProgramOp program) {
  SmallVector<Value> states;
  for (StateOp state : program.getStates())
    states.push_back(state);
  llvm::SetVector<Operation *> dependents = findDependents(program.getBody().front(), states);
  Delays delays;
  for (StateOp state : program.getStates())
    if (std::optional<Delay> delay = findDelay(state);
        delay && !dependents.contains(delay->rows.getDefiningOp()) && delay->earlier.size() < program.getChunk())
      delays[state] = std::move(*delay);
  auto isUnknown = [&](StateOp state) { return !delays.contains(state); };
  SmallVector<StateOp> unknown;
  do {
    unknown.clear();
    for (auto &[state, delay] : delays)
      if (llvm::any_of(delay.earlier, isUnknown))
        unknown.push_back(state);
    for (StateOp state : unknown)
      delays.erase(state);
  } while (!unknown.empty());
  return delays;
}

llvm::SetVector<StateOp> recur::chunk::findHeld(ProgramOp program, const Delays &delays) {
  llvm::SetVector<StateOp> held;
  for (StateOp state : program.getStates())
    if (auto *delay = delays.find(state); delay != delays.end() && !delay->second.getInputs().empty())
      held.insert(state);
  auto isOther = [&](StateOp state) { return !held.contains(state); };
  while (held.remove_if([&](StateOp state) { return llvm::any_of(delays.find(state)->second.earlier, isOther); }))
    ;
  return held;
}

Value recur::chunk::buildHeld(OpBuilder &builder, StateOp state, const Delay &delay, ArrayRef<InputOp> inputs) {
  Location loc = state.getLoc();
  ValueBuilder build(builder, loc);
  auto back = int64_t(delay.earlier.size()) + 1;
  Value initial = InitialOp::create(builder, loc, state.getType(), state.getNameAttr(), state.getStoredAttr());
  if (inputs.size() == 1)
    return HeldOp::create(builder, loc, state.getType(), InputOp(inputs[0]), back, initial);
  SmallVector<Value> parts;
  int64_t place = 0;
  Value row = build.asToken(initial);
  for (InputOp input : inputs) {
    int64_t size = tensorOf(input).getDimSize(1);
    Value first = build.asState(SliceOp::create(builder, loc, row, place, size));
    parts.push_back(build.asToken(HeldOp::create(builder, loc, first.getType(), input, back, first)));
    place += size;
  }
  return build.asState(ConcatOp::create(builder, loc, tensorOf(row), parts));
}

llvm::MapVector<StateOp, InputOp> recur::chunk::findInputWindows(ProgramOp program) {
  llvm::MapVector<StateOp, InputOp> windows;
  for (StateOp state : program.getStates()) {
    auto loop = state.getNext().getValue().getDefiningOp<TokenLoopOp>();
    std::optional<Window> window = loop ? findWindow(loop) : std::nullopt;
    if (!window || loop.getStates().front() != state || state.getSizes())
      continue;
    auto input = loop.getStreams()[window->stream].getDefiningOp<InputOp>();
    bool isReadByLoop =
        llvm::all_of(state->getUsers(), [&](Operation *user) { return user == loop || isa<NextOp>(user); });
    bool isOfOwnTokens = input && !input.getSizes() && !input.getBack();
    if (isOfOwnTokens && isReadByLoop && loop.getStateResults().front().hasOneUse())
      windows[state] = input;
  }
  return windows;
}
