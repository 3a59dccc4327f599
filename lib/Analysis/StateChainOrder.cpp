// The order of a chain's steps.
#include "Analysis/StateChain.h"
#include <deque>

using namespace recur::analysis;
using Step = StateChain::Step;
using StepKind = StateChain::StepKind;
using Action = StateChain::Action;

bool Step::isGuarded() const {
  return kind == StepKind::Apply && !isTransposed() && llvm::cast<recur::tile::ProductOp>(op).getLeftTriangle();
}

bool Step::isTransposed() const {
  return kind == StepKind::Apply && llvm::cast<recur::tile::ProductOp>(op).getTransposed();
}

bool Step::isPrecise() const {
  return kind == StepKind::Apply && llvm::cast<recur::tile::ProductOp>(op).getLeftExchanged();
}

/// The most that a thread can have where a CTA has so many, if roles do not give some to it: each of the four
/// schedulers of a multiprocessor has a quarter of the registers, for a quarter of the warps.
int64_t StateChain::registers() const {
  constexpr int64_t warpThreads = 32, schedulers = 4, unit = 8;
  const int64_t registersOfScheduler = gpu->registers / schedulers, most = gpu->registersPerThread;
  if (dealsRegisters())
    return stateRegisters;
  int64_t warps = llvm::divideCeil(threads(), warpThreads * schedulers);
  return std::min(most, registersOfScheduler / (warps * warpThreads) / unit * unit);
}

bool Step::takes(unsigned value) const {
  return llvm::any_of(operands, [&](const StateChain::Operand &operand) {
    return operand.kind == StateChain::Operand::Value && operand.number == value;
  });
}

namespace {

class Orderer {
public:
  explicit Orderer(StateChain &chain) : chain(chain), states(chain.steps.size(), State::Waiting) {}
  void run();

private:
  enum class State { Waiting, Running, Done };
  void findNeeds();
  void markCritical();
  bool isReady(unsigned step) const;
  /// The first such step that could be done now.
  std::optional<unsigned> findReady(bool isCritical, bool isProduct) const;
  void begin(unsigned step);
  void settleOldest();
  bool mayBegin() const { return running.empty() || !chain.steps[running.back()].isGuarded(); }

  StateChain &chain;
  std::vector<State> states;
  std::vector<llvm::SmallVector<unsigned>> needs;
  std::deque<unsigned> running;
};

} // namespace

void Orderer::findNeeds() {
  llvm::DenseMap<unsigned, unsigned> makers;
  std::optional<unsigned> advanced;
  for (auto [number, step] : llvm::enumerate(chain.steps)) {
    llvm::SmallVector<unsigned> &own = needs.emplace_back();
    auto need = [&](const StateChain::Operand &operand) {
      if (operand.kind == StateChain::Operand::Value)
        own.push_back(makers.lookup(operand.number));
    };
    llvm::for_each(step.operands, need);
    if (step.plus)
      need(*step.plus);
    if (step.scale)
      need(*step.scale);
    if (step.value)
      makers[*step.value] = unsigned(number);
    if (step.kind == StepKind::Advance) {
      if (advanced)
        own.push_back(*advanced);
      advanced = unsigned(number);
    }
  }
}

void Orderer::markCritical() {
  for (size_t number = chain.steps.size(); number-- > 0;) {
    Step &step = chain.steps[number];
    step.isCritical |= step.kind == StepKind::Advance;
    if (step.isCritical)
      for (unsigned needed : needs[number])
        chain.steps[needed].isCritical = true;
  }
}

bool Orderer::isReady(unsigned step) const {
  return states[step] == State::Waiting &&
         llvm::all_of(needs[step], [&](unsigned needed) { return states[needed] == State::Done; });
}

std::optional<unsigned> Orderer::findReady(bool isCritical, bool isProduct) const {
  for (unsigned number = 0; number < chain.steps.size(); ++number)
    if (chain.steps[number].isCritical == isCritical && chain.steps[number].isProduct() == isProduct && isReady(number))
      return number;
  return std::nullopt;
}

void Orderer::begin(unsigned step) {
  chain.order.push_back({Action::Begin, step});
  states[step] = State::Running;
  running.push_back(step);
}

void Orderer::settleOldest() {
  unsigned step = running.front();
  running.pop_front();
  chain.order.push_back({Action::Settle, step, unsigned(running.size())});
  states[step] = State::Done;
}

void Orderer::run() {
  findNeeds();
  markCritical();
  auto isDone = [](State state) { return state == State::Done; };
  while (!llvm::all_of(states, isDone)) {
    if (std::optional<unsigned> map = findReady(true, false)) {
      chain.order.push_back({Action::Do, *map});
      states[*map] = State::Done;
    } else if (std::optional<unsigned> product = findReady(true, true); product && mayBegin()) {
      begin(*product);
    } else if (std::optional<unsigned> product = findReady(false, true);
               product && running.size() == 1 && mayBegin()) { // in company
      begin(*product);
    } else if (std::optional<unsigned> map = findReady(false, false)) {
      chain.order.push_back({Action::Do, *map});
      states[*map] = State::Done;
    } else if (!running.empty()) {
      settleOldest();
    } else {
      begin(*findReady(false, true));
    }
  }
}

/// Whether registers have room for the state, for what is rounded of it while rows read it, for the sums of these
/// products, and for all that passes over these sums take besides.
static bool hasRoomToReadAhead(const StateChain &chain) {
  constexpr int64_t forAddresses = 16;
  llvm::SmallDenseSet<unsigned> ahead; // loads
  int64_t sums = 0, fetched = 0, most = 0;
  for (const Action &action : chain.order) {
    const Step &product = chain.steps[action.step];
    if (action.kind == Action::Do || !product.value)
      continue;
    sums += (action.kind == Action::Begin ? 1 : -1) * chain.values[*product.value].rows / 2;
    for (const Step &step : chain.steps)
      if (step.kind == StepKind::Map && step.takes(*product.value))
        for (const StateChain::Operand &operand : step.operands)
          if (operand.kind == StateChain::Operand::Load && ahead.insert(operand.number).second)
            fetched += chain.values[*step.value].rows / 4;
    if (product.kind == StepKind::Read)
      most = std::max(most, sums + fetched);
  }
  return chain.keys / 2 + chain.keys / 4 + most + forAddresses <= chain.registers();
}

void recur::analysis::orderSteps(StateChain &chain) {
  Orderer(chain).run();
  chain.readsAhead = hasRoomToReadAhead(chain);
}
