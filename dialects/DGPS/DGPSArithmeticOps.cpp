// Constants and elementwise arithmetic: result shapes, the functions themselves, and folding.
#include "dialects/DGPS/DGPS.h"
#include <cmath>

using namespace mlir;
using namespace recur::dgps;

static OpFoldResult number(MLIRContext *context, double value) {
  return FloatAttr::get(Float64Type::get(context), value);
}

static std::optional<double> numberOf(Attribute attribute) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
    return value.getValueAsDouble();
  return std::nullopt;
}

std::optional<double> recur::dgps::constantNumber(Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return constant.getNumber();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Constant and broadcast
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, double value, ArrayRef<int64_t> shape) {
  state.getOrAddProperties<Properties>().setValue(builder.getF64FloatAttr(value));
  state.addTypes(RealType::get(builder.getContext(), shape));
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  FloatAttr value;
  RealType type;
  if (parser.parseAttribute(value, parser.getBuilder().getF64Type()) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseCustomTypeWithFallback(type))
    return failure();
  result.getOrAddProperties<Properties>().setValue(value);
  result.addTypes(type);
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printAttributeWithoutType(getValueAttr());
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << " : ";
  printer.printStrippedAttrOrType(cast<RealType>(getType()));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getType() == getOperand().getType())
    return getOperand();
  return adaptor.getOperand();
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

double NegOp::applyToElement(ArrayRef<double> x) { return -x[0]; }
double ExpOp::applyToElement(ArrayRef<double> x) { return std::exp(x[0]); }
double Expm1Op::applyToElement(ArrayRef<double> x) { return std::expm1(x[0]); }
double LogOp::applyToElement(ArrayRef<double> x) { return std::log(x[0]); }
double SqrtOp::applyToElement(ArrayRef<double> x) { return std::sqrt(x[0]); }
double AbsOp::applyToElement(ArrayRef<double> x) { return std::abs(x[0]); }
double SinOp::applyToElement(ArrayRef<double> x) { return std::sin(x[0]); }
double CosOp::applyToElement(ArrayRef<double> x) { return std::cos(x[0]); }
double TanhOp::applyToElement(ArrayRef<double> x) { return std::tanh(x[0]); }
double ErfOp::applyToElement(ArrayRef<double> x) { return std::erf(x[0]); }
double FloorOp::applyToElement(ArrayRef<double> x) { return std::floor(x[0]); }
double StopOp::applyToElement(ArrayRef<double> x) { return x[0]; }
double EluOp::applyToElement(ArrayRef<double> x) { return x[0] > 0 ? x[0] : std::expm1(x[0]); }

// Both take the exponential of a negative number only, so that neither overflows.
double SigmoidOp::applyToElement(ArrayRef<double> x) {
  double e = std::exp(-std::abs(x[0]));
  return x[0] >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double SoftplusOp::applyToElement(ArrayRef<double> x) {
  return std::max(x[0], 0.0) + std::log1p(std::exp(-std::abs(x[0])));
}

double AddOp::applyToElement(ArrayRef<double> x) { return x[0] + x[1]; }
double SubOp::applyToElement(ArrayRef<double> x) { return x[0] - x[1]; }
double MulOp::applyToElement(ArrayRef<double> x) { return x[0] * x[1]; }
double DivOp::applyToElement(ArrayRef<double> x) { return x[0] / x[1]; }
double MaxOp::applyToElement(ArrayRef<double> x) { return std::max(x[0], x[1]); }
double MinOp::applyToElement(ArrayRef<double> x) { return std::min(x[0], x[1]); }

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The op's value when all operands are constants. A result that is not finite is left to run time, where it is seen.
static OpFoldResult foldElementwise(ElementwiseOpInterface op, ArrayRef<Attribute> operands) {
  SmallVector<double, 2> numbers;
  for (Attribute operand : operands) {
    std::optional<double> value = numberOf(operand);
    if (!value)
      return {};
    numbers.push_back(*value);
  }
  double result = op.applyToElement(numbers);
  if (!std::isfinite(result))
    return {};
  return number(op->getContext(), result);
}

/// `value` itself when it already has the type of the result: a scalar that was broadcast does not.
static OpFoldResult sameShape(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() ? OpFoldResult(value) : OpFoldResult();
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegOp>())
    return inner.getOperand();
  return foldElementwise(*this, adaptor.getOperands());
}
#define RECUR_FOLD_BY_VALUE(OP)                                                                                        \
  OpFoldResult OP::fold(FoldAdaptor adaptor) { return foldElementwise(*this, adaptor.getOperands()); }
RECUR_FOLD_BY_VALUE(ExpOp)
RECUR_FOLD_BY_VALUE(Expm1Op)
RECUR_FOLD_BY_VALUE(LogOp)
RECUR_FOLD_BY_VALUE(SqrtOp)
RECUR_FOLD_BY_VALUE(AbsOp)
RECUR_FOLD_BY_VALUE(SigmoidOp)
RECUR_FOLD_BY_VALUE(SinOp)
RECUR_FOLD_BY_VALUE(CosOp)
RECUR_FOLD_BY_VALUE(TanhOp)
RECUR_FOLD_BY_VALUE(SoftplusOp)
RECUR_FOLD_BY_VALUE(EluOp)
RECUR_FOLD_BY_VALUE(StopOp)
RECUR_FOLD_BY_VALUE(ErfOp)
RECUR_FOLD_BY_VALUE(FloorOp)
#undef RECUR_FOLD_BY_VALUE

// Over the reals x + 0 = x and x * 1 = x. x * 0 = 0 is not folded: an infinity or NaN in x must stay visible.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  if (numberOf(adaptor.getRhs()) == 0.0)
    if (OpFoldResult same = sameShape(*this, getLhs()))
      return same;
  if (numberOf(adaptor.getLhs()) == 0.0)
    if (OpFoldResult same = sameShape(*this, getRhs()))
      return same;
  return foldElementwise(*this, adaptor.getOperands());
}
OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (numberOf(adaptor.getRhs()) == 0.0)
    if (OpFoldResult same = sameShape(*this, getLhs()))
      return same;
  return foldElementwise(*this, adaptor.getOperands());
}
OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  if (numberOf(adaptor.getRhs()) == 1.0)
    if (OpFoldResult same = sameShape(*this, getLhs()))
      return same;
  if (numberOf(adaptor.getLhs()) == 1.0)
    if (OpFoldResult same = sameShape(*this, getRhs()))
      return same;
  return foldElementwise(*this, adaptor.getOperands());
}
OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  if (numberOf(adaptor.getRhs()) == 1.0)
    if (OpFoldResult same = sameShape(*this, getLhs()))
      return same;
  return foldElementwise(*this, adaptor.getOperands());
}
OpFoldResult MaxOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  return foldElementwise(*this, adaptor.getOperands());
}
OpFoldResult MinOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs())
    return getLhs();
  return foldElementwise(*this, adaptor.getOperands());
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getFirst() == getSecond())
    return sameShape(*this, getFirst());
  std::optional<double> condition = numberOf(adaptor.getCondition());
  if (!condition)
    return {};
  Attribute number = *condition > 0 ? adaptor.getFirst() : adaptor.getSecond();
  return number ? OpFoldResult(number) : sameShape(*this, *condition > 0 ? getFirst() : getSecond());
}

//===----------------------------------------------------------------------===//
// Result shapes
//===----------------------------------------------------------------------===//

/// A scalar takes the shape of the other operand; otherwise the shapes must be equal.
static LogicalResult inferBroadcast(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                    SmallVectorImpl<Type> &types) {
  auto lhs = cast<RealType>(operands[0].getType()), rhs = cast<RealType>(operands[1].getType());
  if (!lhs.isScalar() && !rhs.isScalar() && lhs != rhs)
    return emitOptionalError(loc, "elementwise operands must have equal shapes or one must be a scalar, but they are ",
                             lhs, " and ", rhs);
  types.push_back(lhs.isScalar() ? rhs : lhs);
  return success();
}

#define RECUR_BINARY_SHAPE(OP)                                                                                         \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {    \
    return inferBroadcast(context, loc, operands, types);                                                              \
  }
RECUR_BINARY_SHAPE(AddOp)
RECUR_BINARY_SHAPE(SubOp)
RECUR_BINARY_SHAPE(MulOp)
RECUR_BINARY_SHAPE(DivOp)
RECUR_BINARY_SHAPE(MaxOp)
RECUR_BINARY_SHAPE(MinOp)
#undef RECUR_BINARY_SHAPE

LogicalResult SelectOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,
                                         DictionaryAttr, OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  auto widest = cast<RealType>(operands[0].getType());
  for (Value operand : operands.drop_front()) {
    auto type = cast<RealType>(operand.getType());
    if (!widest.isScalar() && !type.isScalar() && widest != type)
      return emitOptionalError(loc, "the operands of a choice must have equal shapes or be scalars, but they are ",
                               operands[0].getType(), ", ", operands[1].getType(), " and ", operands[2].getType());
    widest = widest.isScalar() ? type : widest;
  }
  types.push_back(widest);
  return success();
}
