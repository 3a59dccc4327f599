#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/ErrorHandling.h"

// Complex numbers become pairs of real values, here and nowhere else: each product is the four of its parts, and a
// complex array is two real ones. The analysis finds turns again where the parts have sines and cosines of one angle.

namespace recur::frontend {

using llvm::cast;
using Parts = Emitter::Parts;

mlir::Value Emitter::fit(Value value, Value like) {
  if (!value || dgps::shapeOf(value) == dgps::shapeOf(like))
    return value;
  return dgps::BroadcastOp::create(builder, value.getLoc(), like.getType(), value);
}

/// The imaginary part, which of a real number is zero.
mlir::Value Emitter::imaginaryOf(mlir::Location loc, Parts parts) {
  if (parts.im)
    return parts.im;
  return dgps::ConstantOp::create(builder, loc, 0.0, dgps::shapeOf(parts.re));
}

/// Whatever is linear in both sides.
Parts Emitter::multiply(mlir::Location loc, Parts a, Parts b, llvm::function_ref<Value(Value, Value)> product) {
  Parts result{product(a.re, b.re), {}};
  if (a.im && b.im)
    result.re = dgps::SubOp::create(builder, loc, result.re, product(a.im, b.im));
  if (b.im)
    result.im = product(a.re, b.im);
  if (a.im) {
    Value other = product(a.im, b.re);
    result.im = result.im ? Value(dgps::AddOp::create(builder, loc, result.im, other)) : other;
  }
  return result;
}

Parts Emitter::emitComplex(const Expr *expr) {
  if (!expr->shape.isComplex())
    return {emit(expr), {}};
  mlir::Location loc = getLocation(expr->range);
  auto ofParts = [&](const Expr *operand, llvm::function_ref<Value(Value)> op) {
    Parts parts = emitComplex(operand);
    return Parts{op(parts.re), op(parts.im)};
  };
  switch (expr->kind) {
  case Expr::Name: {
    const Declaration *declaration = cast<NameExpr>(expr)->declaration;
    return {values.lookup(declaration), imaginary.lookup(declaration)};
  }
  case Expr::Negate:
    return ofParts(cast<NegateExpr>(expr)->operand,
                   [&](Value part) -> Value { return dgps::NegOp::create(builder, loc, part); });
  case Expr::Index: {
    auto *index = cast<IndexExpr>(expr);
    int64_t element = *evaluator.evaluateInteger(index->index, "an index");
    return ofParts(index->base, [&](Value part) -> Value {
      return index->isColumn ? emitColumn(loc, part, element)
                             : Value(dgps::ExtractOp::create(builder, loc, part, element));
    });
  }
  case Expr::Slice: {
    auto *slice = cast<SliceExpr>(expr);
    int64_t begin = *evaluator.evaluateInteger(slice->lower, "a bound");
    int64_t end = *evaluator.evaluateInteger(slice->upper, "a bound");
    return ofParts(slice->base,
                   [&](Value part) -> Value { return dgps::SliceOp::create(builder, loc, part, begin, end - begin); });
  }
  case Expr::Binary:
    return emitComplexBinary(cast<BinaryExpr>(expr));
  case Expr::Call:
    return emitComplexCall(cast<CallExpr>(expr));
  case Expr::Error:
  case Expr::Number:
    break;
  }
  llvm_unreachable("a number that is written down is real");
}

Parts Emitter::emitComplexBinary(const BinaryExpr *expr) {
  mlir::Location loc = getLocation(expr->operatorRange);
  Parts a = emitComplex(expr->lhs), b = emitComplex(expr->rhs);
  switch (expr->op) {
  case BinaryOperator::Add: {
    Value re = dgps::AddOp::create(builder, loc, a.re, b.re);
    Value im = a.im && b.im ? Value(dgps::AddOp::create(builder, loc, a.im, b.im)) : a.im ? a.im : b.im;
    return {re, fit(im, re)};
  }
  case BinaryOperator::Subtract: {
    Value re = dgps::SubOp::create(builder, loc, a.re, b.re);
    Value im = a.im && b.im ? Value(dgps::SubOp::create(builder, loc, a.im, b.im))
               : a.im       ? a.im
                            : Value(dgps::NegOp::create(builder, loc, b.im));
    return {re, fit(im, re)};
  }
  case BinaryOperator::Multiply:
    return multiply(loc, a, b, [&](Value x, Value y) -> Value { return dgps::MulOp::create(builder, loc, x, y); });
  case BinaryOperator::Divide: {
    auto divide = [&](Value x, Value y) -> Value { return dgps::DivOp::create(builder, loc, x, y); };
    if (!b.im)
      return {divide(a.re, b.re), divide(a.im, b.re)};
    // By the square of the divisor's magnitude, after a product with its conjugate.
    auto times = [&](Value x, Value y) -> Value { return dgps::MulOp::create(builder, loc, x, y); };
    Value square = dgps::AddOp::create(builder, loc, times(b.re, b.re), times(b.im, b.im));
    Parts above = multiply(loc, a, {b.re, dgps::NegOp::create(builder, loc, b.im)}, times);
    return {divide(above.re, square), divide(above.im, square)};
  }
  case BinaryOperator::Product:
    return multiply(loc, a, b,
                    [&](Value x, Value y) { return emitProduct(loc, expr->lhs->shape, x, expr->rhs->shape, y); });
  case BinaryOperator::Less:
  case BinaryOperator::AtMost:
  case BinaryOperator::Greater:
  case BinaryOperator::AtLeast:
  case BinaryOperator::Equal:
  case BinaryOperator::NotEqual:
    break; // of real numbers
  }
  llvm_unreachable("every operator is listed");
}

/// What of a complex number is real.
mlir::Value Emitter::emitRealPart(const CallExpr *call) {
  mlir::Location loc = getLocation(call->range);
  Parts parts = emitComplex(call->arguments[0].value);
  if (call->builtin->id == Builtin::Re || call->builtin->id == Builtin::Conj) // conj of a real number
    return parts.re;
  if (call->builtin->id == Builtin::Im)
    return imaginaryOf(loc, parts);
  if (!parts.im)
    return dgps::AbsOp::create(builder, loc, parts.re);
  auto square = [&](Value part) -> Value { return dgps::MulOp::create(builder, loc, part, part); };
  Value squares = dgps::AddOp::create(builder, loc, square(parts.re), square(parts.im));
  return dgps::SqrtOp::create(builder, loc, squares);
}

Parts Emitter::emitComplexCall(const CallExpr *call) {
  if (call->body) {
    bindArguments(call);
    return emitComplex(call->body);
  }
  mlir::Location loc = getLocation(call->range);
  auto given = [&](unsigned i) { return emitComplex(call->arguments[i].value); };
  auto ofParts = [&](llvm::function_ref<Value(Value)> op) {
    Parts parts = given(0);
    return Parts{op(parts.re), op(parts.im)};
  };
  switch (call->builtin->id) {
  case Builtin::Complex: {
    Value re = emit(call->arguments[0].value), im = emit(call->arguments[1].value);
    return {fit(re, dgps::shapeOf(re).empty() ? im : re), fit(im, dgps::shapeOf(im).empty() ? re : im)};
  }
  case Builtin::Cis: {
    Value angle = emit(call->arguments[0].value);
    return {dgps::CosOp::create(builder, loc, angle), dgps::SinOp::create(builder, loc, angle)};
  }
  case Builtin::Conj: {
    Parts parts = given(0);
    return {parts.re, dgps::NegOp::create(builder, loc, parts.im)};
  }
  case Builtin::Exp: {
    Parts parts = given(0);
    Value size = dgps::ExpOp::create(builder, loc, parts.re);
    Value cosine = dgps::CosOp::create(builder, loc, parts.im), sine = dgps::SinOp::create(builder, loc, parts.im);
    return {dgps::MulOp::create(builder, loc, size, cosine), dgps::MulOp::create(builder, loc, size, sine)};
  }
  case Builtin::Sum:
    return ofParts([&](Value part) -> Value { return dgps::SumOp::create(builder, loc, part); });
  case Builtin::Stop:
    return ofParts([&](Value part) -> Value { return dgps::StopOp::create(builder, loc, part); });
  case Builtin::Diag:
    return given(0); // the product that it stands in knows
  case Builtin::Dot:
    return multiply(loc, given(0), given(1),
                    [&](Value a, Value b) -> Value { return dgps::DotOp::create(builder, loc, a, b); });
  case Builtin::Outer:
    return multiply(loc, given(0), given(1),
                    [&](Value a, Value b) -> Value { return dgps::OuterOp::create(builder, loc, a, b); });
  case Builtin::Concat:
  case Builtin::Stack: {
    llvm::SmallVector<Value> re, im;
    for (const Argument &argument : call->arguments) {
      Parts parts = emitComplex(argument.value);
      re.push_back(parts.re);
      im.push_back(imaginaryOf(loc, parts));
    }
    mlir::Type type = getType(call->shape);
    return {dgps::ConcatOp::create(builder, loc, type, re), dgps::ConcatOp::create(builder, loc, type, im)};
  }
  case Builtin::Delay: {
    const Expr *source = call->arguments[0].value;
    int64_t tokens = *evaluator.evaluateInteger(call->arguments[1].value, "a delay");
    Parts parts = given(0);
    return {emitDelay(loc, parts.re, tokens, source, "_re"), emitDelay(loc, parts.im, tokens, source, "_im")};
  }
  case Builtin::Conv: {
    const Expr *source = call->arguments[0].value;
    Parts value = given(0);
    return multiply(loc, value, given(1), [&](Value part, Value weights) {
      llvm::StringRef name = !value.im ? "" : part == value.re ? "_re" : "_im";
      return emitConv(loc, part, weights, source, name);
    });
  }
  default:
    break;
  }
  llvm_unreachable("sema refuses complex numbers everywhere else");
}

} // namespace recur::frontend
