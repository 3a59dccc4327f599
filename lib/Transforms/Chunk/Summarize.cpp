// What a segment of tokens does to each state, as programs of their own.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SUMMARIZEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// Builds the summary of one state.
class Summarizer {
public:
  Summarizer(ProgramOp program, StateOp state, SummaryKind kind)
      : program(program), state(state), path(state), kind(kind) {}
  ProgramOp build(OpBuilder &builder);

private:
  void buildMap(OpBuilder &builder, StateOp map);
  void copyWithoutFreeTerms(OpBuilder &builder, Operation *op);
  Value zeroLike(OpBuilder &builder, Operation *op, unsigned operand);
  void copyLoop(OpBuilder &builder, TokenLoopOp loop);

  ProgramOp program;
  StateOp state;
  StatePath path;
  SummaryKind kind;
  IRMapping copies; ///< of the whole program
  IRMapping maps;   ///< of the path, acting on the map
};

struct SummarizePass : recur::chunk::impl::SummarizePassBase<SummarizePass> {
  void runOnOperation() override;
};

} // namespace

//===----------------------------------------------------------------------===//
// The summary
//===----------------------------------------------------------------------===//

/// An addend that is left out, as a constant of the shape that it has beside the map.
Value Summarizer::zeroLike(OpBuilder &builder, Operation *op, unsigned operand) {
  RankedTensorType type = tensorOf(op->getOperand(operand));
  if (auto advance = dyn_cast<AdvanceOp>(op)) {
    // Values and keys have the sizes of the map's sides.
    RankedTensorType map = tensorOf(maps.lookup(advance.getState()));
    type = makeTokens(builder.getContext(), type.getDimSize(0), map.getDimSize(operand == 1 ? 0 : 1));
  } else if (isa<InterleaveOp>(op)) {
    type = tensorOf(maps.lookup(op->getOperand(path.operandsOnPath(op)[0])));
  }
  return ConstantOp::create(builder, op->getLoc(),
                            kind == SummaryKind::Tropical ? -std::numeric_limits<double>::infinity() : 0.0, type);
}

/// Copies a loop whose body goes elementwise from its state to the next, without what is added there.
void Summarizer::copyLoop(OpBuilder &builder, TokenLoopOp loop) {
  IRMapping own;
  for (Value stream : loop.getStreams())
    own.map(stream, copies.lookupOrDefault(stream));
  for (Value value : findUsedValues(loop))
    own.map(value, copies.lookupOrDefault(value));
  own.map(loop.getStates()[0], maps.lookup(loop.getStates()[0]));
  auto copy = cast<TokenLoopOp>(builder.clone(*loop, own));
  Block &body = copy.getBody().front();
  llvm::SetVector<Operation *> dependents = findDependents(body, body.getArguments().back());
  auto dependsOnState = [&](Value value) {
    return value == body.getArguments().back() || (value.getDefiningOp() && dependents.contains(value.getDefiningOp()));
  };
  for (Operation *op : dependents) {
    auto map = dyn_cast<MapOp>(op);
    if (!map || (map.getFunction() != Function::Add && map.getFunction() != Function::Sub))
      continue;
    for (OpOperand &operand : map->getOpOperands())
      if (!dependsOnState(operand.get())) {
        OpBuilder inner(map);
        operand.set(ConstantOp::create(inner, map.getLoc(), 0.0, operand.get().getType()));
      }
  }
  for (auto [from, to] : llvm::zip(loop.getResults(), copy.getResults()))
    maps.map(from, to);
}

/// The op on the path, acting on the map: what is added to the state on the way, and is free of it, is left out.
void Summarizer::copyWithoutFreeTerms(OpBuilder &builder, Operation *op) {
  if (auto loop = dyn_cast<TokenLoopOp>(op))
    return copyLoop(builder, loop);
  SmallVector<unsigned, 3> onPath = path.operandsOnPath(op);
  if (auto map = dyn_cast<MapOp>(op); map && onPath.size() == 1) {
    Value value = maps.lookup(map.getOperands()[onPath[0]]);
    if (map.getFunction() == Function::Add || (map.getFunction() == Function::Sub && onPath[0] == 0)) {
      maps.map(map.getResult(), value);
      return;
    }
    if (map.getFunction() == Function::Sub) {
      maps.map(map.getResult(), MapOp::create(builder, op->getLoc(), Function::Neg, ValueRange{value}).getResult());
      return;
    }
  }
  // A map of a vector state is a matrix already.
  if (isa<ReshapeStateOp>(op) && kind == SummaryKind::Right) {
    maps.map(op->getResult(0), maps.lookup(op->getOperand(0)));
    return;
  }
  OperationState copy(op->getLoc(), op->getName().getStringRef());
  auto linear = dyn_cast<LinearOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (llvm::is_contained(onPath, number)) {
      copy.addOperands(maps.lookup(operand.get()));
      continue;
    }
    SmallVector<unsigned, 4> together(onPath.begin(), onPath.end());
    together.push_back(number);
    bool addend = linear ? linear.isLinearIn(together) : isa<TropicalScanOp>(op) && number == 2;
    copy.addOperands(addend ? zeroLike(builder, op, number) : copies.lookupOrDefault(operand.get()));
  }
  copy.addAttributes(op->getAttrDictionary().getValue());
  copy.propertiesAttr = op->getPropertiesAsAttribute();
  if (auto reshape = dyn_cast<ReshapeStateOp>(op)) {
    copy.addTypes(reshape.getType());
  } else {
    auto infer = cast<InferTypeOpInterface>(op);
    SmallVector<Type> types;
    LogicalResult inferred = infer.inferReturnTypes(op->getContext(), op->getLoc(), copy.operands,
                                                    op->getAttrDictionary(), op->getPropertiesStorage(), {}, types);
    if (succeeded(inferred))
      copy.addTypes(types);
  }
  Operation *copied = builder.create(copy);
  for (auto [from, to] : llvm::zip(op->getResults(), copied->getResults()))
    maps.map(from, to);
}

void Summarizer::buildMap(OpBuilder &builder, StateOp map) {
  maps.map(state.getResult(), map.getResult());
  for (Operation *op : path.getOps())
    copyWithoutFreeTerms(builder, op);
  Value next = state.getNext().getValue();
  NextOp::create(builder, state.getLoc(), map, maps.lookup(next));
}

ProgramOp Summarizer::build(OpBuilder &builder) {
  auto summary = cast<ProgramOp>(builder.clone(*program, copies));
  summary.setSymName((program.getSymName() + "_summary_" + state.getName()).str());
  summary.setSummaryOf(state.getName());
  summary.setSummaryKind(kind);
  // What only outputs and later states need goes.
  auto copy = cast<StateOp>(copies.lookup(state.getResult()).getDefiningOp());
  for (OutputOp output : llvm::make_early_inc_range(summary.getBody().getOps<OutputOp>()))
    output.erase();
  llvm::SetVector<StateOp> needed;
  SmallVector<StateOp> work{state};
  while (!work.empty()) {
    StateOp next = work.pop_back_val();
    if (!needed.insert(next))
      continue;
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<Operation *> below{next.getNext()};
    while (!below.empty())
      for (Value value : findUsedValues(below.pop_back_val()))
        if (Operation *op = value.getDefiningOp(); op && seen.insert(op).second) {
          below.push_back(op);
          if (auto other = dyn_cast<StateOp>(op))
            work.push_back(other);
        }
  }
  // The map comes before the offset, and both after the states that are known.
  Block &block = summary.getBody().front();
  Operation *firstOther = nullptr;
  for (Operation &op : block)
    if (!isa<InputOp, ParamOp, StateOp, ConstantOp>(op) && !firstOther)
      firstOther = &op;
  for (StateOp other : summary.getStates())
    if (firstOther && !other->isBeforeInBlock(firstOther))
      other->moveBefore(firstOther);
  if (firstOther)
    copy->moveBefore(firstOther);
  copy.setName((state.getName() + ".offset").str());
  RankedTensorType type = tensorOf(state.getResult());
  int64_t side = kind == SummaryKind::Left ? type.getShape().front() : type.getRank() ? type.getShape().back() : 1;
  if (kind == SummaryKind::Right || kind == SummaryKind::Left)
    type = makeTensor(builder.getContext(), {side, side});
  OpBuilder inside(copy);
  auto map = StateOp::create(inside, state.getLoc(), type, (state.getName() + ".map").str());
  inside.setInsertionPointToEnd(&block);
  buildMap(inside, map);
  for (StateOp other : program.getStates()) {
    if (needed.contains(other))
      continue;
    auto dropped = cast<StateOp>(copies.lookup(other.getResult()).getDefiningOp());
    dropped.getNext().erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op) || (isa<StateOp>(op) && op.use_empty()))
      op.erase();
  return summary;
}

void SummarizePass::runOnOperation() {
  for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
    if (program.getSummaryOf() || program.getStates().empty() || findObstacle(program))
      continue;
    OpBuilder builder(program->getContext());
    builder.setInsertionPointAfter(program);
    for (StateOp state : orderStates(program))
      builder.setInsertionPointAfter(Summarizer(program, state, *StatePath(state).getKind()).build(builder));
  }
}
