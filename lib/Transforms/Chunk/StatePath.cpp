#include "Transforms/Chunk/StatePath.h"
#include "Transforms/Chunk/SideDecay.h"
#include "dialects/Chunk/ChunkTangents.h"

using namespace mlir;
using namespace recur;
using namespace recur::chunk;

StatePath::StatePath(StateOp state) : state(state.getResult()) {
  llvm::SetVector<Operation *> dependents = findDependents(*state->getBlock(), state.getResult());
  llvm::SetVector<Operation *> leading;
  SmallVector<Operation *> work{state.getNext().getValue().getDefiningOp()};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!dependents.contains(op) || !leading.insert(op))
      continue;
    for (Value value : findUsedValues(op))
      if (Operation *defining = value.getDefiningOp())
        work.push_back(defining);
  }
  for (Operation *op : dependents)
    if (leading.contains(op))
      ops.insert(op);
}

SmallVector<unsigned, 3> StatePath::operandsOnPath(Operation *op) const {
  SmallVector<unsigned, 3> operands;
  for (OpOperand &operand : op->getOpOperands())
    if (contains(operand.get()))
      operands.push_back(operand.getOperandNumber());
  return operands;
}

/// Whether what the state becomes is affine in it: then its derivative by the state is the same wherever the state is.
bool StatePath::isAffine() const {
  OwningOpRef<ProgramOp> scratch = cast<ProgramOp>(state.getDefiningOp()->getParentOp()).clone();
  Block &block = scratch->getBody().front();
  StateOp copy;
  for (StateOp other : scratch->getStates())
    if (other.getName() == cast<StateOp>(state.getDefiningOp()).getName())
      copy = other;
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  auto direction = StateOp::create(builder, state.getLoc(), state.getType(), "direction");
  Tangents tangents;
  tangents.set(copy, direction);
  StatePath path(copy);
  for (Operation *op : path.getOps())
    buildTangent(builder, op, tangents);
  Value moved = tangents.of(copy.getNext().getValue());
  return !moved || moved == direction || !findDependents(block, copy.getResult()).contains(moved.getDefiningOp());
}

/// Whether each element of the state goes its own way through the op.
bool StatePath::isElementwise(Operation *op) const {
  if (isa<ScanOp, AdvanceOp, ReshapeStateOp>(op))
    return operandsOnPath(op) == SmallVector<unsigned, 3>{0};
  auto loop = dyn_cast<TokenLoopOp>(op);
  if (!loop || loop.getStates().size() != 1 ||
      operandsOnPath(op) != SmallVector<unsigned, 3>{unsigned(loop.getStreams().size())})
    return false;
  // The loop's own path: from the carried state to the last value that is yielded.
  Block &body = loop.getBody().front();
  BlockArgument carried = body.getArguments().back();
  llvm::SetVector<Operation *> dependents = findDependents(body, carried);
  SmallVector<Operation *> work{body.getTerminator()->getOperands().back().getDefiningOp()};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *inner = work.pop_back_val();
    if (!inner || !dependents.contains(inner) || !seen.insert(inner).second)
      continue;
    auto map = dyn_cast<MapOp>(inner);
    if (!map || tensorOf(map).getShape() != tensorOf(carried).getShape())
      return false;
    Function function = map.getFunction();
    if (!chunk::isElementwise(function) && function != Function::ScaleCols && function != Function::ScaleRows)
      return false;
    for (Value operand : map.getOperands())
      work.push_back(operand.getDefiningOp());
  }
  return true;
}

/// Whether the op does to all rows of an affine state the same, so that a product from the right goes through it.
bool StatePath::actsFromRight(Operation *op) const {
  if (auto map = dyn_cast<MapOp>(op)) {
    if (map.getFunction() == Function::Add || map.getFunction() == Function::Sub || map.getFunction() == Function::Neg)
      return true;
    if (map.getFunction() == Function::Div)
      return contains(map.getOperands()[0]) && tensorOf(map.getOperands()[1]).getRank() == 1;
    unsigned own = operandsOnPath(op)[0];
    return map.getFunction() == Function::Mul && tensorOf(map.getOperands()[1 - own]).getRank() == 1;
  }
  if (auto read = dyn_cast<ReadOp>(op))
    return !read.getLeft() && !contains(read.getRows());
  if (auto solve = dyn_cast<SolveOp>(op))
    return !solve.getDecay() && !contains(solve.getMatrix());
  if (auto apply = dyn_cast<ApplyOp>(op))
    return !apply.getDecay() && !contains(apply.getMatrix());
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return !advance.getRowDecay() && !contains(advance.getKeys());
  return isa<InterleaveOp, DeinterleaveOp, ReshapeStateOp>(op);
}

bool StatePath::actsFromLeft(Operation *op) const {
  if (auto read = dyn_cast<ReadOp>(op))
    return read.getLeft() && !contains(read.getRows());
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return !advance.getColumnDecay() && !contains(advance.getValues());
  return !isa<ReshapeStateOp>(op) && actsFromRight(op);
}

std::optional<SummaryKind> StatePath::getKind() const {
  if (ops.size() == 1)
    if (auto scan = dyn_cast<TropicalScanOp>(ops.front()); scan && operandsOnPath(scan) == SmallVector<unsigned, 3>{0})
      return summaryKindOf(scan.getExtremum());
  std::optional<SummaryKind> kind;
  if (llvm::all_of(ops, [&](Operation *op) { return isElementwise(op); }))
    kind = SummaryKind::Elementwise;
  else if (llvm::all_of(ops, [&](Operation *op) { return actsFromRight(op); }))
    kind = SummaryKind::Right;
  else if (llvm::all_of(ops, [&](Operation *op) { return actsFromLeft(op); }))
    kind = SummaryKind::Left;
  for (SummaryKind side : {SummaryKind::Right, SummaryKind::Left})
    if (!kind && SideDecay::find(*this, side))
      kind = side;
  return kind && isAffine() ? kind : std::nullopt;
}

Value recur::chunk::keepNeutral(OpBuilder &builder, TropicalScanOp scan) {
  bool lower = isLower(scan.getExtremum());
  constexpr double most = std::numeric_limits<float>::max();
  ValueBuilder build(builder, scan.getLoc());
  return build.map(lower ? Function::Max : Function::Min, {scan.getShifts(), build.number(lower ? -most : most)});
}

StateForm StatePath::getForm() const {
  auto isLoop = [&](Operation *op) { return isa<TokenLoopOp>(op) && !isElementwise(op); };
  if (llvm::any_of(ops, isLoop))
    return StateForm::TokenByToken;
  return llvm::any_of(ops, [](Operation *op) { return isa<AdvanceOp>(op); }) ? StateForm::Products : StateForm::Scanned;
}

bool recur::chunk::isSum(StateOp state) {
  unsigned adds = 0;
  return llvm::all_of(findDependents(*state->getBlock(), state.getResult()), [&](Operation *op) {
    auto map = dyn_cast<MapOp>(op);
    auto next = dyn_cast<NextOp>(op);
    adds += map != nullptr;
    return isa<ReshapeStateOp>(op) ||
           (map && map.getFunction() == Function::Add && adds == 1 && map->getNumOperands() == 2) ||
           (next && next.getState() == state.getResult());
  });
}

/// Whether products are added to the state, and nothing on their way scales what it was.
static bool addsUp(StateOp state) {
  bool adds = false;
  Value value = state.getNext().getValue();
  while (auto advance = value.getDefiningOp<AdvanceOp>()) {
    if (advance.getRowDecay() || advance.getColumnDecay())
      return false;
    adds = true;
    value = advance.getState();
  }
  return adds;
}

bool recur::chunk::losesDigits(ProgramOp program, ValueRange vectors) {
  llvm::SetVector<Operation *> dependents = findDependents(program.getBody().front(), vectors);
  bool hasSystem = llvm::any_of(dependents, [&](Operation *op) {
    return isa<SolveOp, ScaledSolveOp, InverseOp>(op) && dependents.contains(op->getOperand(0).getDefiningOp());
  });
  return hasSystem && llvm::any_of(program.getStates(), addsUp);
}

SmallVector<StateOp> recur::chunk::orderStates(ProgramOp program) {
  SmallVector<StateOp> ordered;
  SmallVector<StateOp, 8> states = program.getStates();
  Block &block = program.getBody().front();
  auto needs = [&](StateOp state, StateOp other) {
    return findDependents(block, other.getResult()).contains(state.getNext());
  };
  while (ordered.size() < states.size()) {
    size_t before = ordered.size();
    for (StateOp state : states)
      if (!llvm::is_contained(ordered, state) && llvm::all_of(states, [&](StateOp other) {
            return other == state || llvm::is_contained(ordered, other) || !needs(state, other);
          }))
        ordered.push_back(state);
    if (ordered.size() == before)
      return {};
  }
  return ordered;
}

/// Whether the op solves for writes that see each other before the decay of the channels of what they write.
static bool erasesBeforeDecay(Operation *op) {
  auto solve = dyn_cast<SolveOp>(op);
  return solve && solve.getDecay() && llvm::is_contained(*solve.getPoints(), beforeDecay);
}

std::optional<std::string> recur::chunk::findObstacle(ProgramOp program) {
  for (StateOp state : program.getStates()) {
    StatePath path(state);
    if (path.getKind())
      continue;
    std::string name = ("state '" + state.getName() + "'").str();
    if (path.getForm() == StateForm::TokenByToken)
      return name + " goes token by token, and what a segment does to it has no summary";
    if (llvm::any_of(path.getOps(), [](Operation *op) { return isa<ScaledSolveOp>(op); }))
      return name +
             " erases with a gain for each value channel, so that a segment does to each channel what one matrix "
             "for all of them cannot say";
    if (llvm::any_of(path.getOps(), [](Operation *op) { return isa<EliminateOp>(op); }))
      return name +
             " is an inverse, which tokens correct by products with itself, and what a segment does to it has no "
             "summary";
    if (llvm::any_of(path.getOps(), [](Operation *op) { return isa<MoebiusScanOp>(op); }))
      return name + " becomes a quotient of two sums that have it, and what a segment does to it has no summary";
    if (llvm::any_of(path.getOps(), erasesBeforeDecay))
      return name + " erases what it reads before the decay of each value channel, so that a segment does to each "
                    "channel what "
                    "one matrix for all of them cannot say";
    if (orderStates(program).empty())
      break;
    return name + " is multiplied from both sides, and what a segment does to it has no summary";
  }
  if (!program.getStates().empty() && orderStates(program).empty())
    return "its states need each other's values, so a segment cannot be summarised for one state after the other";
  return std::nullopt;
}
