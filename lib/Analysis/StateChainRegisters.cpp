// The registers of the threads that have a chain's state.
#include "Analysis/StateChain.h"

using namespace recur::analysis;
using Step = StateChain::Step;
using StepKind = StateChain::StepKind;
using Operand = StateChain::Operand;
using Action = StateChain::Action;

/// The most that a thread can have where a CTA has so many, if roles do not give some to it: each of the four
/// schedulers of a multiprocessor has a quarter of the registers, for a quarter of the warps.
int64_t StateChain::registers() const {
  constexpr int64_t warpThreads = 32, schedulers = 4, unit = 8;
  const int64_t registersOfScheduler = gpu->registers / schedulers, most = gpu->registersPerThread;
  if (dealsRegisters())
    return stateRegisters();
  int64_t warps = llvm::divideCeil(threads(), warpThreads * schedulers);
  return std::min(most, registersOfScheduler / (warps * warpThreads) / unit * unit);
}

bool StateChain::hasRoomToReadAhead() const {
  llvm::SmallDenseSet<unsigned> ahead; // loads
  int64_t sums = 0, fetched = 0, most = 0;
  for (const Action &action : order) {
    const Step &product = steps[action.step];
    if (action.kind == Action::Do || !product.value)
      continue;
    sums += (action.kind == Action::Begin ? 1 : -1) * values[*product.value].rows / 2;
    for (const Step &step : steps)
      if (step.kind == StepKind::Map && step.takes(*product.value))
        for (const StateChain::Operand &operand : step.operands)
          if (operand.kind == StateChain::Operand::Load && ahead.insert(operand.number).second)
            fetched += values[*step.value].rows / 4;
    if (product.kind == StepKind::Read)
      most = std::max(most, sums + fetched);
  }
  return keys / 2 + keys / 4 + most + forAddresses <= registers();
}

namespace {

/// From which action of the order to which a thread has numbers in registers.
struct Lifetime {
  size_t first = SIZE_MAX, last = 0;
  void reach(size_t from, size_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
  bool covers(size_t action) const { return first <= action && action <= last; }
};

/// What a thread has of a value or of a load: numbers, and two of them rounded in a register, which products take, to
/// bf16 or to f16.
struct Lifetimes {
  Lifetime numbers, rounded, halves;
};

} // namespace

int64_t StateChain::countLiveRegisters() const {
  std::vector<size_t> begins(steps.size()), ends(steps.size());
  for (auto [index, action] : llvm::enumerate(order)) {
    if (action.kind != Action::Settle)
      begins[action.step] = index;
    if (action.kind != Action::Begin)
      ends[action.step] = index;
  }
  std::vector<Lifetimes> made(values.size()), loaded(loads.size());
  Lifetime roundedState;
  auto find = [&](const Operand &operand) {
    return operand.kind == Operand::Value  ? &made[operand.number]
           : operand.kind == Operand::Load ? &loaded[operand.number]
                                           : nullptr;
  };
  for (auto [number, step] : llvm::enumerate(steps)) {
    size_t begin = begins[number], end = ends[number];
    if (step.value)
      made[*step.value].numbers.reach(begin, end);
    if (step.kind == StepKind::Read)
      roundedState.reach(0, end);
    if (step.plus) // where a guarded product is done again, it begins with these numbers again
      if (Lifetimes *own = find(*step.plus))
        own->numbers.reach(begin, step.isGuarded() ? end : begin);
    for (const Operand &operand : step.operands)
      if (Lifetimes *own = find(operand))
        (step.kind == StepKind::Map || step.isPrecise() ? own->numbers
         : takesHalves(step)                            ? own->halves
                                                        : own->rounded)
            .reach(begin, end);
    if (roundsToHalves(step) && step.kind != StepKind::Read)
      find(step.operands.front())->numbers.reach(begin, end); // of which what rounding left out is made
  }
  // A value is rounded where a product first takes it, and has its numbers until then.
  for (Lifetimes &own : made)
    if (own.rounded.first != SIZE_MAX)
      own.numbers.reach(own.rounded.first, own.rounded.first);
  int64_t most = 0;
  for (size_t action = 0; action < order.size(); ++action) {
    int64_t live = keys / 2 + (roundedState.covers(action) ? keys / 4 : 0);
    auto add = [&](const Lifetimes &own, int64_t rows) {
      live += (own.numbers.covers(action) ? rows / 2 : 0) + (own.rounded.covers(action) ? rows / 4 : 0) +
              (own.halves.covers(action) ? rows / 4 : 0);
    };
    for (auto [own, value] : llvm::zip(made, values))
      add(own, value.rows);
    for (auto [own, load] : llvm::zip(loaded, loads))
      if (load.isRows())
        add(own, load.type().getSize(0));
    most = std::max(most, live);
  }
  return most;
}
