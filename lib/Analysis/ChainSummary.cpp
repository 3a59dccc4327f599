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
  auto givenOf = [&](unsigned load) -> Value {
    const std::optional<EarlierRows> &earlier = chain.loads[load].earlier;
    return earlier ? LoadOp(earlier->given).getArray() : Value();
  };
  llvm::DenseSet<Value> ofFactors;
  for (unsigned load : summary.loads)
    if (!chain.loads[load].op) { // made of what is not known here to be of values or not
      if (summary.hasMaps)
        return std::nullopt;
    } else if (factors.contains(load) || !summary.values.contains(load)) {
      ofFactors.insert(arrayOf(load));
      ofFactors.insert(givenOf(load));
    }
  bool areApart = llvm::none_of(summary.values, [&](unsigned load) {
    Value given = givenOf(load);
    return ofFactors.contains(arrayOf(load)) || (given && ofFactors.contains(given));
  });
  if (summary.hasMaps && (!isLinear || !areApart))
    return std::nullopt;
  return summary;
}

std::optional<ChainSummary> recur::analysis::summarise(const StateChain &chain) { return Summariser(chain).run(); }

//===----------------------------------------------------------------------===//
// What is forgotten
//===----------------------------------------------------------------------===//

namespace {

/// Goes back from what is written to what was read of the state.
class ReadFinder {
public:
  explicit ReadFinder(const StateChain &chain) : chain(chain) {}
  bool find(unsigned value);
  ForgottenState found;

private:
  bool takeMap(const Step &step);
  bool takeFactors(MapOp map, ArrayRef<Operand> operands, Value number);

  const StateChain &chain;
};

} // namespace

static bool isValue(const Operand &operand) { return operand.kind == Operand::Value; }

/// What becomes of the number in the pass: others are added, and numbers of rows multiply it.
bool ReadFinder::takeFactors(MapOp map, ArrayRef<Operand> operands, Value number) {
  while (true) {
    if (!number.hasOneUse())
      return false;
    Operation *user = *number.user_begin();
    if (isa<YieldOp>(user))
      return true;
    if (isa<arith::MulFOp>(user)) {
      Value other = user->getOperand(user->getOperand(0) == number ? 1 : 0);
      auto argument = dyn_cast<BlockArgument>(other);
      if (!argument || argument.getOwner() != &map.getBody().front())
        return false;
      const Operand &factor = operands[argument.getArgNumber()];
      if (factor.kind != Operand::Load || !chain.loads[factor.number].op || !chain.loads[factor.number].isOfRows())
        return false;
      found.factors.push_back(factor.number);
    } else if (!isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(user)) {
      return false;
    }
    number = user->getResult(0);
  }
}

bool ReadFinder::takeMap(const Step &step) {
  if (llvm::count_if(step.operands, isValue) != 1)
    return false;
  const Operand *read = llvm::find_if(step.operands, isValue);
  auto map = cast<MapOp>(step.op);
  return takeFactors(map, step.operands, map.getBody().getArgument(unsigned(read - step.operands.begin()))) &&
         find(read->number);
}

bool ReadFinder::find(unsigned value) {
  auto maker = llvm::find_if(chain.steps, [&](const Step &step) { return step.value == value; });
  if (maker == chain.steps.end() || maker->scale || (maker->plus && isValue(*maker->plus)))
    return false;
  if (maker->kind == StepKind::Map)
    return takeMap(*maker);
  if (!maker->right)
    return false;
  if (maker->kind == StepKind::Read) {
    found.reads = *maker->right;
    return true;
  }
  // The matrix of all that is read, not of the rows that were multiplied before.
  if (maker->kind != StepKind::Apply || found.matrix || !found.factors.empty() || !isValue(maker->operands.front()))
    return false;
  found.matrix = maker->right;
  if (std::optional<ArrayRef<int64_t>> triangle = cast<ProductOp>(maker->op).getLeftTriangle())
    found.triangle.assign(triangle->begin(), triangle->end());
  return find(maker->operands.front().number);
}

/// Whether all that is needed lies in memory as it is, with as many rows on both sides.
static bool isThere(const StateChain &chain, const ForgottenState &found) {
  auto isRows = [&](unsigned number, int64_t columns) {
    const StateChain::Load &load = chain.loads[number];
    return load.isCopied() && load.type().getElementType().isBF16() && load.type().getSize(1) == columns;
  };
  const StateChain::Load &decays = chain.loads[found.decays];
  int64_t rows = chain.loads[found.reads].type().getSize(0);
  return isRows(found.reads, chain.keys) && isRows(found.writes, chain.keys) &&
         chain.loads[found.writes].type().getSize(0) == rows && (!found.matrix || isRows(*found.matrix, rows)) &&
         decays.isCopied() && !decays.isOfRows() && decays.type().getElementType().isF32();
}

std::optional<ForgottenState> recur::analysis::findForgotten(const StateChain &chain) {
  std::optional<ForgottenState> found;
  for (const Step &step : chain.steps) {
    if (step.kind != StepKind::Advance)
      continue;
    const Operand &written = step.operands.front();
    if (!isValue(written)) { // rows that no state enters
      if (step.scale)
        return std::nullopt;
      continue;
    }
    if (found || !step.right || !step.scale || step.scale->kind != Operand::Load)
      return std::nullopt;
    ReadFinder finder(chain);
    if (!finder.find(written.number))
      return std::nullopt;
    found = finder.found;
    found->writes = *step.right;
    found->decays = step.scale->number;
  }
  return found && isThere(chain, *found) ? found : std::nullopt;
}
