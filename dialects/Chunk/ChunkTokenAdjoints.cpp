// Adjoints of arithmetic that each token does by itself.
#include "dialects/Chunk/ChunkAdjoints.h"
#include <numbers>

using namespace mlir;
using namespace recur::chunk;

static bool isVector(Value value) { return tensorOf(value).getRank() == 2; }

/// The derivative of erf at x: 2 / sqrt(pi) exp(-x^2).
static Value buildBell(ValueBuilder &build, Value x) {
  return build.mul(build.number(2 * std::numbers::inv_sqrtpi), build.map(Function::Exp, build.neg(build.mul(x, x))));
}

/// d times the derivative of a function of one number at x, where it is y. A slope that is infinite where y is finite
/// counts as zero, and so does that of abs at zero.
static Value pullThroughFunction(ValueBuilder &build, Function function, Value x, Value y, Value d) {
  switch (function) {
  case Function::Neg:
    return build.neg(d);
  case Function::Exp:
    return build.mul(d, y);
  case Function::Expm1:
    return build.mul(d, build.map(Function::Exp, x));
  case Function::Log:
    return build.select(x, build.map(Function::Div, {d, x}), Value());
  case Function::Sqrt:
    return build.select(y, build.map(Function::Div, {build.mul(d, build.number(0.5)), y}), Value());
  case Function::Abs:
    return build.select(x, d, build.select(build.neg(x), build.neg(d), Value()));
  case Function::Sigmoid: // 1 - y would have no digits left where y is near one
    return build.mul(d, build.mul(y, build.map(Function::Sigmoid, build.neg(x))));
  case Function::Sin:
    return build.mul(d, build.map(Function::Cos, x));
  case Function::Cos:
    return build.neg(build.mul(d, build.map(Function::Sin, x)));
  case Function::Tanh: { // nor would 1 - y^2
    Value twice = build.add(x, x);
    Value slope = build.mul(build.map(Function::Sigmoid, twice), build.map(Function::Sigmoid, build.neg(twice)));
    return build.mul(d, build.mul(build.number(4), slope));
  }
  case Function::Softplus:
    return build.mul(d, build.map(Function::Sigmoid, x));
  case Function::Erf:
    return build.mul(d, buildBell(build, x));
  case Function::Elu:
    return build.mul(d, build.map(Function::Exp, build.map(Function::Min, {x, build.number(0)})));
  default:
    llvm_unreachable("a function of one number");
  }
}

/// The share of d that goes to `a` of the larger of a and b: all or nothing, but where they are equal half of it, or
/// all to the one that is a constant, so that the gradient of relu at zero is zero.
static Value pullToLarger(ValueBuilder &build, Value a, Value b, Value ahead, Value d) {
  if (isConstant(b))
    return build.select(ahead, d, Value());
  if (isConstant(a))
    return build.select(build.neg(ahead), Value(), d);
  return build.select(ahead, d, build.select(build.neg(ahead), Value(), build.mul(build.number(0.5), d)));
}

/// d * b, summed where a is a scalar and b is not.
static Value scaleFor(ValueBuilder &build, Value a, Value b, Value d) {
  if (tensorOf(a).getRank() == 1 && isVector(b) && isVector(d))
    return build.map(Function::Dot, {d, b});
  return build.mul(d, b);
}

static void pullThroughBinary(ValueBuilder &build, MapOp op, Adjoints &adjoints, Value d) {
  Value a = op.getOperands()[0], b = op.getOperands()[1];
  auto ones = [&](Value matrix, unsigned side) {
    return build.constant(1, makeTokens(op.getContext(), 1, {tensorOf(matrix).getDimSize(1 + side)}));
  };
  switch (op.getFunction()) {
  case Function::Add:
    adjoints.add(build, a, d);
    return adjoints.add(build, b, d);
  case Function::Sub:
    adjoints.add(build, a, d);
    return adjoints.add(build, b, build.neg(d));
  case Function::Mul:
    adjoints.add(build, a, scaleFor(build, a, b, d));
    return adjoints.add(build, b, scaleFor(build, b, a, d));
  case Function::Div: {
    Value scaled = build.map(Function::Div, {d, b});
    adjoints.add(build, a, scaled);
    return adjoints.add(build, b, build.neg(scaleFor(build, b, op.getResult(), scaled)));
  }
  case Function::Max:
  case Function::Min: {
    bool larger = op.getFunction() == Function::Max;
    Value ahead = build.fit(larger ? build.sub(a, b) : build.sub(b, a), op.getResult());
    adjoints.add(build, a, pullToLarger(build, a, b, ahead, d));
    return adjoints.add(build, b, pullToLarger(build, b, a, build.neg(ahead), d));
  }
  case Function::Dot:
    adjoints.add(build, a, build.mul(d, b));
    return adjoints.add(build, b, build.mul(d, a));
  case Function::Outer:
    adjoints.add(build, a, build.map(Function::Matvec, {d, b}));
    return adjoints.add(build, b, build.map(Function::Vecmat, {a, d}));
  case Function::Matvec:
    adjoints.add(build, a, build.map(Function::Outer, {d, b}));
    return adjoints.add(build, b, build.map(Function::Vecmat, {d, a}));
  case Function::Vecmat:
    adjoints.add(build, a, build.map(Function::Matvec, {b, d}));
    return adjoints.add(build, b, build.map(Function::Outer, {a, d}));
  case Function::ScaleCols:
    adjoints.add(build, a, build.map(Function::ScaleCols, {d, b}));
    return adjoints.add(build, b, build.map(Function::Vecmat, {ones(a, 0), build.mul(d, a)}));
  case Function::ScaleRows:
    adjoints.add(build, a, build.map(Function::Matvec, {build.mul(d, b), ones(b, 1)}));
    return adjoints.add(build, b, build.map(Function::ScaleRows, {a, d}));
  default:
    llvm_unreachable("a function of two operands");
  }
}

LogicalResult MapOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value y = getResult(), d = adjoints.of(y), x = getOperands()[0];
  switch (getFunction()) {
  case Function::Stop:
  case Function::Floor:
    break;
  case Function::Select:
    adjoints.add(build, getOperands()[1], build.select(x, d, Value()));
    adjoints.add(build, getOperands()[2], build.select(x, Value(), d));
    break;
  case Function::Sum:
    adjoints.add(build, x, d);
    break;
  case Function::Softmax:
    adjoints.add(build, x, build.mul(y, build.sub(d, build.map(Function::Dot, {y, d}))));
    break;
  default:
    if (getOperands().size() == 1)
      adjoints.add(build, x, pullThroughFunction(build, getFunction(), x, y, d));
    else
      pullThroughBinary(build, *this, adjoints, d);
  }
  return success();
}

LogicalResult ExtractOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  adjoints.add(
      build, getOperand(),
      InsertOp::create(builder, getLoc(), adjoints.of(getResult()), getIndex(), tensorOf(getOperand()).getDimSize(1)));
  return success();
}

LogicalResult SliceOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // Zeros before it and behind it.
  ValueBuilder build(builder, getLoc());
  Value d = adjoints.of(getResult());
  SmallVector<int64_t> rest(shapePerToken(getOperand()));
  SmallVector<Value, 3> parts;
  int64_t behind = rest[0] - int64_t(getBegin()) - int64_t(getSize());
  auto addZeros = [&](int64_t count) {
    rest[0] = count;
    if (count)
      parts.push_back(build.constant(0, makeTokens(getContext(), 1, rest)));
  };
  addZeros(getBegin());
  parts.push_back(d);
  addZeros(behind);
  RankedTensorType type = makeTokens(getContext(), tensorOf(d).getDimSize(0), shapePerToken(getOperand()));
  adjoints.add(build, getOperand(), ConcatOp::create(builder, getLoc(), type, parts));
  return success();
}

LogicalResult ConcatOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value d = adjoints.of(getResult());
  SmallVector<int64_t> places = getPlaces();
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    bool isPart = tensorOf(operand).getRank() < tensorOf(getResult()).getRank();
    Value part = isPart ? ExtractOp::create(builder, getLoc(), d, places[index]).getResult()
                        : SliceOp::create(builder, getLoc(), d, places[index], places[index + 1] - places[index]);
    adjoints.add(build, operand, part);
  }
  return success();
}

LogicalResult BroadcastOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  adjoints.add(build, getOperand(), adjoints.of(getResult()));
  return success();
}

LogicalResult InterleaveOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  for (auto [step, operand] : llvm::enumerate(getOperands()))
    adjoints.add(build, operand,
                 DeinterleaveOp::create(builder, getLoc(), adjoints.of(getResult()), step, getOperands().size()));
  return success();
}

LogicalResult DeinterleaveOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  SmallVector<Value> steps(getSteps(), build.constant(0, tensorOf(getResult())));
  steps[getStep()] = adjoints.of(getResult());
  adjoints.add(build, getOperand(), InterleaveOp::create(builder, getLoc(), steps));
  return success();
}
