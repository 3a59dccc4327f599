// Tangents of arithmetic that each token does by itself.
#include "dialects/Chunk/ChunkTangents.h"
#include <numbers>

using namespace mlir;
using namespace recur::chunk;

/// The derivative of erf at x: 2 / sqrt(pi) exp(-x^2).
static Value buildBell(ValueBuilder &build, Value x) {
  return build.mul(build.number(2 * std::numbers::inv_sqrtpi), build.map(Function::Exp, build.neg(build.mul(x, x))));
}

/// The derivative of a function of one number at x, where it is y.
static Value buildSlope(ValueBuilder &build, Function function, Value x, Value y) {
  switch (function) {
  case Function::Exp:
    return y;
  case Function::Expm1:
    return build.add(y, build.number(1));
  case Function::Sigmoid: // 1 - y would have no digits left where y is near one
    return build.mul(y, build.map(Function::Sigmoid, build.neg(x)));
  case Function::Sin:
    return build.map(Function::Cos, x);
  case Function::Cos:
    return build.neg(build.map(Function::Sin, x));
  case Function::Tanh:
    return build.sub(build.number(1), build.mul(y, y));
  case Function::Softplus:
    return build.map(Function::Sigmoid, x);
  case Function::Erf:
    return buildBell(build, x);
  case Function::Elu:
    return build.map(Function::Exp, build.map(Function::Min, {x, build.number(0)}));
  default:
    llvm_unreachable("a function whose slope is a factor");
  }
}

/// The tangent of a map of one operand.
static Value buildUnary(ValueBuilder &build, MapOp op, Value x, Value y, Value dx) {
  switch (op.getFunction()) {
  case Function::Neg:
    return build.neg(dx);
  case Function::Stop: // it stops gradients, and the value does move
    return dx;
  case Function::Floor: // does not move but where it jumps
    return {};
  case Function::Sum:
    return build.map(Function::Sum, dx);
  // Where a slope is infinite, at zero, the tangent is zero.
  case Function::Log:
    return build.select(x, build.map(Function::Div, {dx, x}), Value());
  case Function::Sqrt:
    return build.select(y, build.map(Function::Div, {dx, build.add(y, y)}), Value());
  case Function::Abs: // zero at zero
    return build.select(x, dx, build.select(build.neg(x), build.neg(dx), Value()));
  case Function::Softmax: {
    Value mean = build.map(Function::Dot, {y, dx});
    return build.mul(y, build.sub(dx, mean));
  }
  default:
    return build.mul(buildSlope(build, op.getFunction(), x, y), dx);
  }
}

/// The tangent of the larger of two numbers where they are equal: half of each, and nothing beside a constant, so that
/// a bound that just holds lets nothing through.
static Value tieOf(MapOp op, Value da, Value db, ValueBuilder &build) {
  if (llvm::any_of(op.getOperands(), [](Value operand) { return constantNumber(operand).has_value(); }))
    return {};
  return build.mul(build.number(0.5), build.add(da, db));
}

static Value buildLarger(ValueBuilder &build, Value ahead, Value da, Value db, Value tie) {
  return build.select(ahead, da, build.select(build.neg(ahead), db, tie));
}

/// The tangent of a map of two operands, either of whose tangents may be null.
static Value buildBinary(ValueBuilder &build, MapOp op, Value a, Value b, Value y, Value da, Value db) {
  switch (op.getFunction()) {
  case Function::Add:
    return build.add(da, db);
  case Function::Sub:
    return build.sub(da, db);
  case Function::Div: {
    Value moved = build.sub(da, build.mul(y, db));
    return build.map(Function::Div, {moved, b});
  }
  case Function::Max:
    return buildLarger(build, build.sub(a, b), da, db, tieOf(op, da, db, build));
  case Function::Min:
    return buildLarger(build, build.sub(b, a), da, db, tieOf(op, da, db, build));
  default: { // products of all kinds
    Value left = da ? build.map(op.getFunction(), {da, b}) : Value();
    Value right = db ? build.map(op.getFunction(), {a, db}) : Value();
    return build.add(left, right);
  }
  }
}

void MapOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  SmallVector<Value, 3> values, moved;
  for (Value operand : getOperands()) {
    values.push_back(tangents.valueOf(operand));
    moved.push_back(tangents.of(operand));
  }
  Value y = tangents.valueOf(getResult()), tangent;
  if (getFunction() == Function::Select)
    tangent = build.select(values[0], moved[1], moved[2]);
  else if (values.size() == 1)
    tangent = buildUnary(build, *this, values[0], y, moved[0]);
  else
    tangent = buildBinary(build, *this, values[0], values[1], y, moved[0], moved[1]);
  tangents.set(getResult(), build.fit(tangent, getResult()));
}

void ExtractOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  tangents.set(getResult(), ExtractOp::create(builder, getLoc(), tangents.of(getOperand()), getIndex()));
}

void SliceOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  tangents.set(getResult(), SliceOp::create(builder, getLoc(), tangents.of(getOperand()), getBegin(), getSize()));
}

void ConcatOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  SmallVector<Value> moved = llvm::map_to_vector(getOperands(), [&](Value operand) {
    Value tangent = tangents.of(operand);
    return tangent ? tangent : build.constant(0, makeTokens(getContext(), 1, shapePerToken(operand)));
  });
  int64_t tokens = 1;
  for (Value tangent : moved)
    tokens = std::max(tokens, tensorOf(tangent).getDimSize(0));
  RankedTensorType type = makeTokens(getContext(), tokens, shapePerToken(getResult()));
  tangents.set(getResult(), build.fit(ConcatOp::create(builder, getLoc(), type, moved), getResult()));
}

void BroadcastOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  tangents.set(getResult(), ValueBuilder(builder, getLoc()).fit(tangents.of(getOperand()), getResult()));
}

void InterleaveOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  SmallVector<Value> moved = llvm::map_to_vector(getOperands(), [&](Value value) { return tangents.of(value); });
  Value any = *llvm::find_if(moved, [](Value value) { return bool(value); });
  for (Value &value : moved)
    if (!value)
      value = build.constant(0, tensorOf(any));
  tangents.set(getResult(), InterleaveOp::create(builder, getLoc(), moved));
}

void DeinterleaveOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  tangents.set(getResult(),
               DeinterleaveOp::create(builder, getLoc(), tangents.of(getOperand()), getStep(), getSteps()));
}
