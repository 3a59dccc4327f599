#include "Analysis/ChainSummary.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;
using Operand = StateChain::Operand;
using Step = StateChain::Step;
using StepKind = StateChain::StepKind;

namespace {

/// How a number depends on the state and on the rows of values.
enum class Degree { None, Linear, Other };

Degree addUp(Degree a, Degree b) { return a == b ? a : Degree::Other; }
Degree multiply(Degree a, Degree b) {
  if (a == Degree::None)
    return b;
  return b == Degree::None ? a : Degree::Other;
}

/// A sum of what is linear and what is not there at all is no linear function.
Degree degreeOf(Operation &op, llvm::function_ref<Degree(Value)> known) {
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return addUp(known(op.getOperand(0)), known(op.getOperand(1)));
  if (isa<arith::MulFOp>(op))
    return multiply(known(op.getOperand(0)), known(op.getOperand(1)));
  if (isa<arith::NegFOp>(op))
    return known(op.getOperand(0));
  if (isa<arith::DivFOp>(op) && known(op.getOperand(1)) == Degree::None)
    return known(op.getOperand(0));
  bool isNone = llvm::all_of(op.getOperands(), [&](Value operand) { return known(operand) == Degree::None; });
  return isNone ? Degree::None : Degree::Other;
}

Degree degreeOf(MapOp map, ArrayRef<Degree> inputs) {
  llvm::DenseMap<Value, Degree> degrees;
  for (auto [argument, degree] : llvm::zip(map.getBody().getArguments(), inputs))
    degrees[argument] = degree;
  auto known = [&](Value value) { return degrees.lookup_or(value, Degree::None); };
  for (Operation &op : map.getBody().front().without_terminator()) {
    Degree degree = degreeOf(op, known);
    for (Value result : op.getResults())
      degrees[result] = degree;
  }
  return known(cast<YieldOp>(map.getBody().front().getTerminator()).getValues()[0]);
}

class Summariser {
public:
  explicit Summariser(const StateChain &chain) : chain(chain) {}
  std::optional<ChainSummary> run();

private:
  bool isRowsOfValues(const Operand &operand) const {
    return operand.kind == Operand::Load && chain.loads[operand.number].isRows();
  }
  Degree degree(const Operand &operand) const {
    if (operand.kind == Operand::Value)
      return degrees[operand.number];
    return isRowsOfValues(operand) ? Degree::Linear : Degree::None;
  }
  void need(const Operand &operand);
  void take(const Step &step);

  const StateChain &chain;
  ChainSummary summary;
  SmallVector<Degree> degrees;   // of the values
  SmallVector<bool> areOfStates; // the values
  llvm::DenseSet<unsigned> needed;
};

} // namespace

void Summariser::take(const Step &step) {
  if (!step.value)
    return;
  SmallVector<Degree> inputs;
  bool isOfState = step.kind == StepKind::Read;
  auto visit = [&](const Operand &operand) {
    inputs.push_back(degree(operand));
    isOfState |= operand.kind == Operand::Value && areOfStates[operand.number];
  };
  llvm::for_each(step.operands, visit);
  if (step.plus)
    visit(*step.plus);
  Degree own = Degree::Linear; // of what is read, or of a matrix times what is linear
  if (step.kind == StepKind::Map)
    own = degreeOf(cast<MapOp>(step.op), inputs);
  else
    for (Degree input : inputs)
      own = addUp(own, input);
  degrees[*step.value] = own;
  areOfStates[*step.value] = isOfState;
}

void Summariser::need(const Operand &operand) {
  if (operand.kind == Operand::Value)
    needed.insert(operand.number);
  if (operand.kind == Operand::Load)
    summary.loads.insert(operand.number);
  if (isRowsOfValues(operand))
    summary.values.insert(operand.number);
}

std::optional<ChainSummary> Summariser::run() {
  degrees.assign(chain.values.size(), Degree::None);
  areOfStates.assign(chain.values.size(), false);
  for (const Step &step : chain.steps)
    take(step);
  bool isLinear = true;
  summary.hasMaps = false;
  llvm::DenseSet<unsigned> factors; // loads that something is multiplied by
  for (size_t number = chain.steps.size(); number-- > 0;) {
    const Step &step = chain.steps[number];
    if (step.kind != StepKind::Advance && !(step.value && needed.contains(*step.value)))
      continue;
    summary.steps.insert(unsigned(number));
    llvm::for_each(step.operands, [&](const Operand &operand) { need(operand); });
    for (const std::optional<Operand> &operand : {step.plus, step.scale})
      if (operand)
        need(*operand);
    if (step.right) {
      summary.loads.insert(*step.right);
      factors.insert(*step.right);
    }
    if (step.kind != StepKind::Advance)
      continue;
    const Operand &written = step.operands.front();
    summary.hasMaps |= written.kind == Operand::Value && areOfStates[written.number];
    isLinear &= degree(written) == Degree::Linear;
  }
  // An array is either of values or of what they are multiplied by.
  auto arrayOf = [&](unsigned load) -> Value { return LoadOp(chain.loads[load].op).getArray(); };
  llvm::DenseSet<Value> ofFactors;
  for (unsigned load : summary.loads)
    if (!chain.loads[load].op) { // made of what is not known here to be of values or not
      if (summary.hasMaps)
        return std::nullopt;
    } else if (factors.contains(load) || !summary.values.contains(load))
      ofFactors.insert(arrayOf(load));
  bool areApart = llvm::none_of(summary.values, [&](unsigned load) { return ofFactors.contains(arrayOf(load)); });
  if (summary.hasMaps && (!isLinear || !areApart))
    return std::nullopt;
  return summary;
}

std::optional<ChainSummary> recur::analysis::summarise(const StateChain &chain) { return Summariser(chain).run(); }
