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

bool Step::takes(unsigned value) const {
  return llvm::any_of(operands, [&](const StateChain::Operand &operand) {
    return operand.kind == StateChain::Operand::Value && operand.number == value;
  });
}

static bool readsHalves(const StateChain &chain, const Step &step) {
  return step.kind == StepKind::Read && chain.roundsToHalves(step);
}

namespace {

class Orderer {
public:
  Orderer(StateChain &chain, bool doesAgain)
      : chain(chain), doesAgain(doesAgain), states(chain.steps.size(), State::Waiting) {}
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
  /// Settles the oldest; and the others as well where something is added to it, while which nothing may run.
  void settle();
  bool readsHalves(unsigned step) const { return ::readsHalves(chain, chain.steps[step]); }
  /// Something is added to the product once it has ended.
  bool isAddedTo(unsigned step) const {
    return chain.roundsToHalves(chain.steps[step]) && !(doesAgain && readsHalves(step));
  }
  /// Whether the product may run beside the one that does. Beside one that reads the state in f16 only those may that
  /// are finished with it: others would have registers for as long.
  bool mayJoin(unsigned step) const { return doesAgain || !readsHalves(running.back()) || readsHalves(step); }
  bool mayBegin() const { return running.empty() || !chain.steps[running.back()].isGuarded(); }

  StateChain &chain;
  bool doesAgain; // what reads the state in f16 is done again, and nothing is added to it before
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
      // What rounding left out of what reads the state is made of the state's numbers, behind it.
      for (unsigned other = 0; other < chain.steps.size(); ++other)
        if (readsHalves(other))
          own.push_back(other);
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

void Orderer::settle() {
  bool endsAll = isAddedTo(running.front());
  settleOldest();
  while (endsAll && !running.empty())
    settleOldest();
}

void Orderer::run() {
  findNeeds();
  markCritical();
  auto isDone = [](State state) { return state == State::Done; };
  // Where a warpgroup that makes interactions keeps its registers, what reads the state in f16 comes first and by
  // itself: of what is made besides, there is no room for anything while what rounding left out is added.
  for (unsigned number = 0; number < chain.steps.size(); ++number)
    if (!chain.interactions.empty() && readsHalves(number) && isReady(number))
      begin(number);
  while (!running.empty())
    settleOldest();
  while (!llvm::all_of(states, isDone)) {
    if (std::optional<unsigned> map = findReady(true, false)) {
      chain.order.push_back({Action::Do, *map});
      states[*map] = State::Done;
    } else if (std::optional<unsigned> product = findReady(true, true); product && mayBegin()) {
      begin(*product);
    } else if (std::optional<unsigned> product = findReady(false, true);
               product && running.size() == 1 && mayBegin() && mayJoin(*product)) { // in company
      begin(*product);
    } else if (std::optional<unsigned> map = findReady(false, false)) {
      chain.order.push_back({Action::Do, *map});
      states[*map] = State::Done;
    } else if (!running.empty()) {
      settle();
    } else {
      begin(*findReady(false, true));
    }
  }
}

/// The guarded product up to which all is done again where f16 lacks digits of the state: it ends when nothing else
/// runs, and behind all that reads the state in f16, before anything is stored and before the state changes.
static std::optional<unsigned> findDoneAgain(const StateChain &chain) {
  llvm::SmallDenseSet<unsigned> settled;
  for (auto [index, action] : llvm::enumerate(chain.order)) {
    const Step &step = chain.steps[action.step];
    if (step.kind == StepKind::Store || step.kind == StepKind::Advance)
      return std::nullopt;
    if (action.kind != Action::Settle)
      continue;
    settled.insert(action.step);
    bool isBehindAll = llvm::all_of(llvm::enumerate(chain.steps), [&](const auto &other) {
      return !readsHalves(chain, other.value()) || settled.contains(unsigned(other.index()));
    });
    if (step.isGuarded() && action.running == 0 && isBehindAll)
      return unsigned(index);
  }
  return std::nullopt;
}

void recur::analysis::orderSteps(StateChain &chain, bool mayDoAgain) {
  bool readsInHalves = llvm::any_of(chain.steps, [&](const Step &step) { return readsHalves(chain, step); });
  if (mayDoAgain && readsInHalves && chain.interactions.empty()) {
    Orderer(chain, /*doesAgain=*/true).run();
    if ((chain.doneAgain = findDoneAgain(chain)))
      return;
    chain.order.clear();
  }
  Orderer(chain, /*doesAgain=*/false).run();
}
