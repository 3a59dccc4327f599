#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur::chunk;

bool recur::chunk::isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (isa<ConstantOp>(op) || (isa<MapOp, BroadcastOp>(op) && llvm::all_of(op->getOperands(), isConstant)));
}

/// A contribution of more tokens or elements than the value has, summed to what it has.
static Value sumTo(ValueBuilder &build, Value contribution, Value value) {
  OpBuilder &builder = build.getBuilder();
  RankedTensorType to = tensorOf(value);
  if (tensorOf(contribution).getRank() > 1 && to.getRank() == 1)
    contribution = build.map(Function::Sum, contribution);
  if (tensorOf(contribution).getDimSize(0) != 1 && to.getDimSize(0) == 1)
    contribution = SumTokensOp::create(builder, build.getLoc(), contribution);
  return build.fit(contribution, value);
}

void Adjoints::add(ValueBuilder &build, Value value, Value contribution) {
  if (!contribution || isConstant(value))
    return;
  Value &cotangent = cotangents[value];
  cotangent = build.add(cotangent, sumTo(build, contribution, value));
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether a state is a constant zero.
static bool isZeroState(Value state) {
  auto reshape = state.getDefiningOp<ReshapeStateOp>();
  return reshape && constantNumber(reshape.getState()) == 0.0;
}

/// What was written to a state of zeros without any decay, first to last; nothing if the state is anything else.
static SmallVector<AdvanceOp> findWrites(Value state) {
  SmallVector<AdvanceOp> writes;
  while (auto advance = state.getDefiningOp<AdvanceOp>()) {
    if (advance.getColumnDecay() || advance.getRowDecay())
      return {};
    writes.insert(writes.begin(), advance);
    state = advance.getState();
  }
  return isZeroState(state) ? writes : SmallVector<AdvanceOp>();
}

static Value write(ValueBuilder &build, Value state, Value values, Value keys) {
  // A state that only decays so far decays and takes the write in one op.
  if (auto decayed = state.getDefiningOp<AdvanceOp>(); decayed && decayed.writesNothing())
    return AdvanceOp::create(build.getBuilder(), build.getLoc(), decayed.getState(), values, keys,
                             decayed.getColumnDecay(), decayed.getRowDecay());
  return AdvanceOp::create(build.getBuilder(), build.getLoc(), state, values, keys);
}

void Adjoints::addToState(ValueBuilder &build, Value state, Value contribution) {
  if (!contribution)
    return;
  Value &cotangent = cotangents[state];
  if (!cotangent || isZeroState(cotangent)) {
    cotangent = contribution;
    return;
  }
  // Writes go on top of the other, which costs no sum of matrices.
  SmallVector<AdvanceOp> writes = findWrites(cotangent);
  Value sum = contribution;
  if (writes.empty()) {
    writes = findWrites(contribution);
    sum = cotangent;
  }
  if (writes.empty()) {
    cotangent = build.asState(build.add(build.asToken(cotangent), build.asToken(contribution)));
    return;
  }
  for (AdvanceOp advance : writes)
    sum = write(build, sum, advance.getValues(), advance.getKeys());
  cotangent = sum;
}

void Adjoints::addWrite(ValueBuilder &build, Value state, Value values, Value keys) {
  if (!values || !keys)
    return;
  Value before = of(state) ? of(state) : build.stateConstant(0, tensorOf(state));
  set(state, write(build, before, values, keys));
}

//===----------------------------------------------------------------------===//
// Ops, from last to first
//===----------------------------------------------------------------------===//

LogicalResult recur::chunk::buildAdjoints(OpBuilder &builder, ArrayRef<Operation *> ops, Adjoints &adjoints) {
  for (Operation *op : llvm::reverse(ops)) {
    if (llvm::none_of(op->getResults(), [&](Value result) { return bool(adjoints.of(result)); }) ||
        isa<ConstantOp, InputOp, ParamOp, StateOp, KeptOp>(op))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no adjoint");
    if (failed(differentiable.buildAdjoint(builder, adjoints)))
      return failure();
  }
  return success();
}
