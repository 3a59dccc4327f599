#include "Frontend/Emission.h"

#include "dialects/DGPS/DGPS.h"

#include "llvm/Support/ErrorHandling.h"

namespace recur::frontend {

Emitter::Value Emitter::emitCall(const CallExpr *call) {
  mlir::Location loc = getLocation(call->range);
  // The size of ones is not a value, and dgps orders its operands itself.
  if (call->builtin->id == Builtin::Ones)
    return dgps::ConstantOp::create(builder, loc, 1.0, getValue(call->shape.getSize()));
  if (call->builtin->id == Builtin::Dgps)
    return emitDgps(loc, call);

  Value a = emit(call->arguments[0].value);
  Value b = call->builtin->numPositional > 1 ? emit(call->arguments[1].value) : Value();
  switch (call->builtin->id) {
  case Builtin::Exp:
    return dgps::ExpOp::create(builder, loc, a);
  case Builtin::Log:
    return dgps::LogOp::create(builder, loc, a);
  case Builtin::Sqrt:
    return dgps::SqrtOp::create(builder, loc, a);
  case Builtin::Abs:
    return dgps::AbsOp::create(builder, loc, a);
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
    return dgps::CgOp::create(builder, loc, a, b, ridge, call->iterations);
  }
  case Builtin::Ones:
  case Builtin::Dgps:
    break;
  }
  llvm_unreachable("every function is listed");
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
