#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>

namespace recur::frontend {

Emitter::Value Emitter::emitCall(const CallExpr *call) {
  if (call->body) {
    bindArguments(call);
    return emit(call->body);
  }
  mlir::Location loc = getLocation(call->range);
  // The size of ones is not a value, and dgps orders its operands itself.
  if (call->builtin->id == Builtin::Ones)
    return dgps::ConstantOp::create(builder, loc, 1.0, getValue(call->shape.getSize()));
  if (call->builtin->id == Builtin::Dgps)
    return emitDgps(loc, call);

  if (call->builtin->id == Builtin::Conv) {
    const Expr *source = call->arguments[0].value;
    Value value = emit(source);
    return emitConv(loc, value, emit(call->arguments[1].value), source);
  }
  if (call->builtin->id == Builtin::RMSNorm || call->builtin->id == Builtin::LayerNorm)
    return emitNorm(loc, call);
  if (call->builtin->isVariadic) {
    llvm::SmallVector<Value> parts =
        llvm::map_to_vector(call->arguments, [&](const Argument &argument) { return emit(argument.value); });
    return dgps::ConcatOp::create(builder, loc, getType(call->shape), parts);
  }

  switch (call->builtin->id) {
  case Builtin::Re:
  case Builtin::Im:
  case Builtin::Conj:
  case Builtin::Abs:
    return emitRealPart(call);
  default:
    break;
  }
  Value a = emit(call->arguments[0].value);
  // Whole numbers and powers known at compile time are no values.
  if (call->builtin->id == Builtin::Delay) {
    const Expr *source = call->arguments[0].value;
    return emitDelay(loc, a, *evaluator.evaluateInteger(call->arguments[1].value, "a delay"), source);
  }
  if (call->builtin->id == Builtin::Pow)
    return emitPow(loc, a, *evaluator.evaluate(call->arguments[1].value));
  Value b = call->builtin->numPositional > 1 ? emit(call->arguments[1].value) : Value();
  switch (call->builtin->id) {
  case Builtin::Where:
    return emitWhere(loc, a, b, emit(call->arguments[2].value));
  case Builtin::Mod:
    return emitMod(loc, a, b);
  case Builtin::Floor:
    return dgps::FloorOp::create(builder, loc, a);
  case Builtin::Erf:
    return dgps::ErfOp::create(builder, loc, a);
  case Builtin::Gelu: {
    // With the halves inside of the gate, where no rewrite parts them from it: reports find the function again.
    Value half = emitNumber(loc, 0.5);
    Value scaled = dgps::MulOp::create(builder, loc, a, emitNumber(loc, std::sqrt(0.5)));
    Value erf = dgps::ErfOp::create(builder, loc, scaled);
    Value gate = dgps::AddOp::create(builder, loc, dgps::MulOp::create(builder, loc, erf, half).getResult(), half);
    return dgps::MulOp::create(builder, loc, a, gate);
  }
  case Builtin::Sign: {
    Value one = emitNumber(loc, 1), zero = emitNumber(loc, 0);
    Value above = emitSelect(loc, a, one, zero);
    Value below = emitSelect(loc, dgps::NegOp::create(builder, loc, a), one, zero);
    return dgps::SubOp::create(builder, loc, above, below);
  }
  case Builtin::Exp:
    return dgps::ExpOp::create(builder, loc, a);
  case Builtin::Log:
    return dgps::LogOp::create(builder, loc, a);
  case Builtin::Sqrt:
    return dgps::SqrtOp::create(builder, loc, a);
  case Builtin::Sigmoid:
    return dgps::SigmoidOp::create(builder, loc, a);
  case Builtin::Silu: {
    Value gate = dgps::SigmoidOp::create(builder, loc, a);
    return dgps::MulOp::create(builder, loc, a, gate);
  }
  case Builtin::Relu: {
    Value zero = emitNumber(loc, 0);
    return dgps::MaxOp::create(builder, loc, a, zero);
  }
  case Builtin::Elu:
    return dgps::EluOp::create(builder, loc, a);
  case Builtin::Stop:
    return dgps::StopOp::create(builder, loc, a);
  case Builtin::Sin:
    return dgps::SinOp::create(builder, loc, a);
  case Builtin::Cos:
    return dgps::CosOp::create(builder, loc, a);
  case Builtin::Tanh:
    return dgps::TanhOp::create(builder, loc, a);
  case Builtin::Softplus:
    return dgps::SoftplusOp::create(builder, loc, a);
  case Builtin::LogSigmoid: {
    Value negative = dgps::NegOp::create(builder, loc, a);
    Value softplus = dgps::SoftplusOp::create(builder, loc, negative);
    return dgps::NegOp::create(builder, loc, softplus);
  }
  case Builtin::Max:
    return dgps::MaxOp::create(builder, loc, a, b);
  case Builtin::Min:
    return dgps::MinOp::create(builder, loc, a, b);
  case Builtin::LogAddExp: {
    // The larger, and what the other adds to it: no exponential is above one.
    Value larger = dgps::MaxOp::create(builder, loc, a, b);
    Value apart = dgps::AbsOp::create(builder, loc, dgps::SubOp::create(builder, loc, a, b).getResult());
    Value rest = dgps::SoftplusOp::create(builder, loc, dgps::NegOp::create(builder, loc, apart).getResult());
    return dgps::AddOp::create(builder, loc, larger, rest);
  }
  case Builtin::Sum:
    return dgps::SumOp::create(builder, loc, a);
  case Builtin::Softmax:
    return dgps::SoftmaxOp::create(builder, loc, a);
  case Builtin::L2Norm: {
    Value square = dgps::DotOp::create(builder, loc, a, a);
    Value guard = emitNumber(loc, 1e-6);
    Value guarded = dgps::AddOp::create(builder, loc, square, guard);
    Value norm = dgps::SqrtOp::create(builder, loc, guarded);
    return dgps::DivOp::create(builder, loc, a, norm);
  }
  case Builtin::Outer:
    return dgps::OuterOp::create(builder, loc, a, b);
  case Builtin::Dot:
    return dgps::DotOp::create(builder, loc, a, b);
  case Builtin::Diag:
    return a; // the product that it stands in knows
  case Builtin::Cg: {
    Value ridge = emit(call->getKeyword("ridge"));
    return dgps::CgOp::create(builder, loc, a, b, ridge, call->count, call->bySteps);
  }
  case Builtin::Ones:
  case Builtin::Dgps:
  case Builtin::Pow:
  case Builtin::RMSNorm:
  case Builtin::LayerNorm:
  case Builtin::Concat:
  case Builtin::Stack:
  case Builtin::Delay:
  case Builtin::Conv:
  case Builtin::Abs:
  case Builtin::Complex:
  case Builtin::Cis:
  case Builtin::Conj:
  case Builtin::Re:
  case Builtin::Im:
    break;
  }
  llvm_unreachable("every function is listed");
}

/// A function's expression is emitted with the arguments of the call.
void Emitter::bindArguments(const CallExpr *call) {
  for (Declaration *argument : call->boundArguments) {
    Parts parts = emitComplex(argument->init);
    values[argument] = parts.re;
    imaginary[argument] = parts.im;
  }
}

/// A whole power by squaring, halves by a square root, and any other power as exp(p * log(a)), which is NaN below zero.
Emitter::Value Emitter::emitPow(mlir::Location loc, Value base, double power) {
  auto multiply = [&](Value a, Value b) -> Value { return a ? Value(dgps::MulOp::create(builder, loc, a, b)) : b; };
  double size = std::abs(power), whole = std::floor(size);
  bool isHalf = size - whole == 0.5;
  if (power == 0)
    return dgps::ConstantOp::create(builder, loc, 1.0, dgps::shapeOf(base));
  if ((size != whole && !isHalf) || size > 1024) {
    Value logarithm = dgps::LogOp::create(builder, loc, base);
    Value exponent = dgps::MulOp::create(builder, loc, emitNumber(loc, power), logarithm);
    return dgps::ExpOp::create(builder, loc, exponent);
  }
  Value result = isHalf ? Value(dgps::SqrtOp::create(builder, loc, base)) : Value(), square = base;
  for (int64_t rest = int64_t(whole); rest; rest >>= 1) {
    if (rest & 1)
      result = multiply(result, square);
    if (rest > 1)
      square = multiply(square, square);
  }
  if (power > 0)
    return result;
  return dgps::DivOp::create(builder, loc, emitNumber(loc, 1), result);
}

/// a / sqrt(mean of the squares + eps), of a itself or of what is left without its mean.
Emitter::Value Emitter::emitNorm(mlir::Location loc, const CallExpr *call) {
  Value a = emit(call->arguments[0].value);
  Value count = emitNumber(loc, double(dgps::shapeOf(a)[0]));
  if (call->builtin->id == Builtin::LayerNorm) {
    Value sum = dgps::SumOp::create(builder, loc, a);
    Value mean = dgps::DivOp::create(builder, loc, sum, count);
    a = dgps::SubOp::create(builder, loc, a, mean);
  }
  Value squares = dgps::DotOp::create(builder, loc, a, a);
  Value mean = dgps::DivOp::create(builder, loc, squares, count);
  const Expr *eps = call->getKeyword("eps");
  Value guarded = dgps::AddOp::create(builder, loc, mean, eps ? emit(eps) : emitNumber(loc, 1e-6));
  Value size = dgps::SqrtOp::create(builder, loc, guarded);
  return dgps::DivOp::create(builder, loc, a, size);
}

/// With D = decay: online is S@diag(D) + gain * outer(v - (S@diag(D)) @ read, atk * write), offline is
/// S@diag(D) + gain * outer(v, atk * write). An axis that is left out costs no op. The axes are emitted in the order of
/// the written-out form, so that the two forms give the same IR to the letter.
Emitter::Value Emitter::emitDgps(mlir::Location loc, const CallExpr *call) {
  auto emitAxis = [&](llvm::StringRef keyword) {
    const Expr *axis = call->getKeyword(keyword);
    return axis ? emit(axis) : Value();
  };
  Value state;
  if (const Expr *decay = call->getKeyword("decay"); decay && decay->shape.isScalar()) {
    Value factor = emit(decay);
    state = dgps::MulOp::create(builder, loc, factor, emit(call->arguments[0].value));
  } else {
    state = emit(call->arguments[0].value);
    if (decay)
      state = dgps::ScaleColsOp::create(builder, loc, state, emit(decay));
  }
  Value gain = emitAxis("gain"), value = emitAxis("value"), read;
  if (llvm::cast<NameExpr>(call->getKeyword("solve"))->name == "online") {
    read = emitAxis("read");
    Value held = dgps::MatvecOp::create(builder, loc, state, read);
    value = dgps::SubOp::create(builder, loc, value, held);
  }
  Value atk = emitAxis("atk"), write = emitAxis("write");
  if (!write)
    write = read ? read : emitAxis("read");
  if (atk)
    write = dgps::MulOp::create(builder, loc, atk, write);
  Value update = dgps::OuterOp::create(builder, loc, value, write);
  if (gain)
    update = dgps::MulOp::create(builder, loc, gain, update);
  return dgps::AddOp::create(builder, loc, state, update);
}

} // namespace recur::frontend
