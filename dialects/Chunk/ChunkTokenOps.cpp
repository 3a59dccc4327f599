// Arithmetic that each token does by itself: shapes, functions and folding.
#include "dialects/Chunk/Chunk.h"
#include "dialects/Interfaces/ConcatFolds.h"
#include <cmath>

using namespace mlir;
using namespace recur;
using namespace recur::chunk;

#define RECUR_INFER(OP)                                                                                                \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,      \
                                     SmallVectorImpl<Type> &types)

//===----------------------------------------------------------------------===//
// Constant and broadcast
//===----------------------------------------------------------------------===//

std::optional<double> recur::chunk::constantNumber(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getNumber();
  return std::nullopt;
}

static std::optional<double> numberOf(Attribute attribute) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
    return value.getValueAsDouble();
  return std::nullopt;
}

void ConstantOp::build(OpBuilder &builder, OperationState &state, double value, Type type) {
  state.getOrAddProperties<Properties>().setValue(builder.getF64FloatAttr(value));
  state.addTypes(type);
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  FloatAttr value;
  Type type;
  if (parser.parseAttribute(value, parser.getBuilder().getF64Type()) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.getOrAddProperties<Properties>().setValue(value);
  result.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printAttributeWithoutType(getValueAttr());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << " : " << getType();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType())
    return getOperand();
  return adaptor.getOperand();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (from.getDimSize(0) != to.getDimSize(0) && from.getDimSize(0) != 1)
    return emitOpError() << "cannot make " << to.getDimSize(0) << " tokens of " << from.getDimSize(0);
  if (from.getRank() != 1 && from.getShape().drop_front() != to.getShape().drop_front())
    return emitOpError() << "cannot make " << to << " of " << from
                         << ": each token's value must keep its shape or be a scalar";
  return success();
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

bool recur::chunk::isUnary(Function function) { return function <= Function::Elu || function >= Function::Stop; }
bool recur::chunk::isBinary(Function function) { return function >= Function::Add && function <= Function::Min; }

static double evaluate(Function function, double x) {
  switch (function) {
  case Function::Neg:
    return -x;
  case Function::Exp:
    return std::exp(x);
  case Function::Expm1:
    return std::expm1(x);
  case Function::Log:
    return std::log(x);
  case Function::Sqrt:
    return std::sqrt(x);
  case Function::Abs:
    return std::abs(x);
  case Function::Sigmoid:
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
  case Function::Sin:
    return std::sin(x);
  case Function::Cos:
    return std::cos(x);
  case Function::Tanh:
    return std::tanh(x);
  case Function::Erf:
    return std::erf(x);
  case Function::Floor:
    return std::floor(x);
  case Function::Softplus:
    return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  case Function::Elu:
    return x > 0 ? x : std::expm1(x);
  case Function::Stop:
    return x;
  default:
    return std::nan("");
  }
}

static double evaluate(Function function, double x, double y) {
  switch (function) {
  case Function::Add:
    return x + y;
  case Function::Sub:
    return x - y;
  case Function::Mul:
    return x * y;
  case Function::Div:
    return x / y;
  case Function::Max:
    return std::max(x, y);
  case Function::Min:
    return std::min(x, y);
  default:
    return std::nan("");
  }
}

static unsigned countOperands(Function function) {
  if (isUnary(function) || function == Function::Sum || function == Function::Softmax)
    return 1;
  return function == Function::Select ? 3 : 2;
}

static LogicalResult inferPerToken(Function function, std::optional<Location> loc, ArrayRef<ArrayRef<int64_t>> shapes,
                                   SmallVectorImpl<int64_t> &result) {
  auto print = [](ArrayRef<int64_t> shape) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (shape.empty())
      return std::string("a scalar");
    llvm::interleave(shape, stream, "x");
    return text;
  };
  auto fail = [&](StringRef what) {
    std::string have = print(shapes[0]);
    for (size_t i = 1; i < shapes.size(); ++i)
      have += (i + 1 == shapes.size() ? " and " : ", ") + print(shapes[i]);
    return emitOptionalError(loc, "'", stringifyFunction(function), "' needs ", what, ", but each token has ", have);
  };
  if (isElementwise(function)) {
    ArrayRef<int64_t> widest;
    for (ArrayRef<int64_t> shape : shapes) {
      if (!shape.empty() && !widest.empty() && shape != widest)
        return fail(function == Function::Select ? "equal shapes or scalars" : "equal shapes or a scalar");
      widest = shape.empty() ? widest : shape;
    }
    result.assign(widest.begin(), widest.end());
    return success();
  }
  ArrayRef<int64_t> a = shapes[0], b = shapes.size() == 2 ? shapes[1] : ArrayRef<int64_t>();
  switch (function) {
  case Function::Sum:
    return success();
  case Function::Softmax:
    if (a.size() != 1)
      return fail("a vector");
    result.assign(a.begin(), a.end());
    return success();
  case Function::Dot:
    if (a.size() != 1 || a != b)
      return fail("two vectors of one size");
    return success();
  case Function::Outer:
    if (a.size() != 1 || b.size() != 1)
      return fail("two vectors");
    result.assign({a[0], b[0]});
    return success();
  case Function::Matvec:
    if (a.size() != 2 || b.size() != 1 || a[1] != b[0])
      return fail("a matrix and a vector as long as its rows");
    result.assign({a[0]});
    return success();
  case Function::Vecmat:
    if (a.size() != 1 || b.size() != 2 || a[0] != b[0])
      return fail("a vector and a matrix with as many rows");
    result.assign({b[1]});
    return success();
  case Function::ScaleCols:
    if (a.size() != 2 || b.size() != 1 || a[1] != b[0])
      return fail("a matrix and a vector as long as its rows");
    result.assign(a.begin(), a.end());
    return success();
  case Function::ScaleRows:
    if (a.size() != 1 || b.size() != 2 || a[0] != b[0])
      return fail("a vector and a matrix with as many rows");
    result.assign(b.begin(), b.end());
    return success();
  default:
    return failure();
  }
}

RECUR_INFER(MapOp) {
  Function function = MapOpAdaptor(operands, attributes, properties, regions).getFunction();
  if (operands.size() != countOperands(function))
    return emitOptionalError(loc, "'", stringifyFunction(function), "' takes ", countOperands(function),
                             countOperands(function) == 1 ? " operand" : " operands", ", but there are ",
                             operands.size());
  int64_t tokens = 1;
  SmallVector<ArrayRef<int64_t>, 2> shapes;
  for (Value operand : operands) {
    int64_t own = tensorOf(operand).getDimSize(0);
    if (own != 1 && tokens != 1 && own != tokens)
      return emitOptionalError(loc, "the operands have ", tokens, " and ", own, " tokens");
    tokens = std::max(tokens, own);
    shapes.push_back(shapePerToken(operand));
  }
  SmallVector<int64_t> result;
  if (failed(inferPerToken(function, loc, shapes, result)))
    return failure();
  types.push_back(makeTokens(context, tokens, result));
  return success();
}

/// `value` itself when it already has the type of the result.
static OpFoldResult sameShape(MapOp op, Value value) {
  return value.getType() == op.getType() ? OpFoldResult(value) : OpFoldResult();
}

OpFoldResult MapOp::fold(FoldAdaptor adaptor) {
  Function function = getFunction();
  if (!isElementwise(function))
    return {};
  SmallVector<std::optional<double>, 2> numbers =
      llvm::map_to_vector<2>(adaptor.getOperands(), [](Attribute operand) { return numberOf(operand); });
  // Over the reals x + 0 = x and x * 1 = x. x * 0 = 0 is not folded: an infinity or NaN in x must stay visible.
  if (isBinary(function)) {
    bool sum = function == Function::Add || function == Function::Sub;
    bool product = function == Function::Mul || function == Function::Div;
    bool commutes = function == Function::Add || function == Function::Mul;
    double neutral = sum ? 0.0 : 1.0;
    if ((sum || product) && numbers[1] == neutral)
      if (OpFoldResult same = sameShape(*this, getOperands()[0]))
        return same;
    if (commutes && numbers[0] == neutral)
      if (OpFoldResult same = sameShape(*this, getOperands()[1]))
        return same;
  }
  if (function == Function::Select) {
    if (!numbers[0])
      return {};
    unsigned chosen = *numbers[0] > 0 ? 1 : 2;
    if (numbers[chosen])
      return FloatAttr::get(Float64Type::get(getContext()), *numbers[chosen]);
    return sameShape(*this, getOperands()[chosen]);
  }
  if (function == Function::Neg)
    if (auto inner = getOperands()[0].getDefiningOp<MapOp>(); inner && inner.getFunction() == Function::Neg)
      return inner.getOperands()[0];
  if (!llvm::all_of(numbers, [](std::optional<double> number) { return number.has_value(); }))
    return {};
  double result = isUnary(function) ? evaluate(function, *numbers[0]) : evaluate(function, *numbers[0], *numbers[1]);
  // A result that is not finite is left to run time, where it is seen.
  if (!std::isfinite(result))
    return {};
  return FloatAttr::get(Float64Type::get(getContext()), result);
}

//===----------------------------------------------------------------------===//
// Extract, slice, concat
//===----------------------------------------------------------------------===//

RECUR_INFER(ExtractOp) {
  RankedTensorType type = tensorOf(operands[0]);
  int64_t index = ExtractOpAdaptor(operands, attributes, properties, regions).getIndex();
  if (type.getRank() < 2)
    return emitOptionalError(loc, "a scalar of each token has no elements to extract");
  if (index < 0 || index >= type.getDimSize(1))
    return emitOptionalError(loc, "index ", index, " is outside of ", type, ", whose first size after the tokens is ",
                             type.getDimSize(1));
  types.push_back(makeTokens(context, type.getDimSize(0), type.getShape().drop_front(2)));
  return success();
}

RECUR_INFER(SliceOp) {
  RankedTensorType type = tensorOf(operands[0]);
  SliceOpAdaptor adaptor(operands, attributes, properties, regions);
  int64_t begin = adaptor.getBegin(), size = adaptor.getSize();
  if (type.getRank() < 2)
    return emitOptionalError(loc, "a scalar of each token has no elements to slice");
  if (size < 1)
    return emitOptionalError(loc, "a slice has at least one element, but the size of this one is ", size);
  if (begin < 0 || begin > type.getDimSize(1) - size)
    return emitOptionalError(loc, size, " from ", begin, " on are not within ", type,
                             ", whose first size after the tokens is ", type.getDimSize(1));
  SmallVector<int64_t> perToken(type.getShape().drop_front());
  perToken[0] = size;
  types.push_back(makeTokens(context, type.getDimSize(0), perToken));
  return success();
}

SmallVector<int64_t> ConcatOp::getPlaces() {
  SmallVector<int64_t> places{0};
  for (Value operand : getOperands()) {
    bool isPart = tensorOf(operand).getRank() < tensorOf(getResult()).getRank();
    places.push_back(places.back() + (isPart ? 1 : tensorOf(operand).getDimSize(1)));
  }
  return places;
}

LogicalResult ConcatOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  if (getOperands().empty())
    return emitOpError("needs at least one operand");
  if (result.getRank() < 2)
    return emitOpError("gives a vector or a matrix of each token, but its result is a scalar");
  for (Value operand : getOperands()) {
    RankedTensorType type = tensorOf(operand);
    bool isPart = type.getRank() + 1 == result.getRank();
    bool fits = isPart || type.getRank() == result.getRank();
    if (!fits || type.getShape().drop_front(isPart ? 1 : 2) != result.getShape().drop_front(2))
      return emitOpError() << "cannot make " << type << " a part of " << result;
    if (type.getDimSize(0) != 1 && type.getDimSize(0) != result.getDimSize(0))
      return emitOpError() << "has " << result.getDimSize(0) << " tokens, but an operand has " << type.getDimSize(0);
  }
  if (int64_t parts = getPlaces().back(); parts != result.getDimSize(1))
    return emitOpError() << "has " << parts << (result.getRank() == 2 ? " elements" : " rows")
                         << " in its operands, but " << result << " has " << result.getDimSize(1);
  return success();
}

static SmallVector<int64_t> getPlaces(ConcatOp concat) { return concat.getPlaces(); }

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  return foldPart<ConcatOp>(getOperand(), adaptor.getOperand(), getIndex(), 1, getType(), getPlaces);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  return foldPart<ConcatOp>(getOperand(), adaptor.getOperand(), getBegin(), getSize(), getType(), getPlaces);
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) { return foldConcat(*this, adaptor.getOperands()); }

//===----------------------------------------------------------------------===//
// Interleave, deinterleave
//===----------------------------------------------------------------------===//

RECUR_INFER(InterleaveOp) {
  if (operands.empty())
    return emitOptionalError(loc, "at least one operand is needed");
  RankedTensorType type = tensorOf(operands[0]);
  types.push_back(makeTokens(context, type.getDimSize(0) * operands.size(), type.getShape().drop_front()));
  return success();
}

OpFoldResult InterleaveOp::fold(FoldAdaptor) {
  return getOperands().size() == 1 ? OpFoldResult(getOperands()[0]) : OpFoldResult();
}

RECUR_INFER(DeinterleaveOp) {
  DeinterleaveOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType type = tensorOf(operands[0]);
  int64_t step = adaptor.getStep(), steps = adaptor.getSteps();
  if (steps < 1 || type.getDimSize(0) % steps != 0)
    return emitOptionalError(loc, steps, " steps a token do not divide ", type.getDimSize(0), " rows");
  if (step < 0 || step >= steps)
    return emitOptionalError(loc, "step ", step, " is not one of ", steps, " steps");
  types.push_back(makeTokens(context, type.getDimSize(0) / steps, type.getShape().drop_front()));
  return success();
}

OpFoldResult DeinterleaveOp::fold(FoldAdaptor adaptor) {
  if (getSteps() == 1)
    return getOperand();
  if (auto interleave = getOperand().getDefiningOp<InterleaveOp>())
    if (interleave.getOperands().size() == getSteps())
      return interleave.getOperands()[getStep()];
  return adaptor.getOperand();
}
