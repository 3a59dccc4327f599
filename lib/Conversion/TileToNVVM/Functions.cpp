// Functions that the hardware has no instruction for, as Support/VectorMath.h spells them out.
#include "Conversion/TileToNVVM/Team.h"
#include "Conversion/ToLLVM/MathFunctions.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

static recur::conversion::MathFunctions functionsOf(TeamCode &t) { return {t.builder, t.loc, /*hasFMA=*/true}; }

static Value callIntrinsic(TeamCode &t, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getF32Type(), t.builder.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value TeamCode::exp(Value x) {
  constexpr double log2OfE = 1.4426950408889634;
  return isRounded ? exp2(mul(x, number(log2OfE))) : functionsOf(*this).exp(x);
}

/// The hardware's power of two is off by 2^-22.
Value TeamCode::exp2(Value x) {
  constexpr double logOf2 = 0.6931471805599453;
  if (!isRounded)
    return functionsOf(*this).exp(mul(x, number(logOf2)));
  return callIntrinsic(*this, "llvm.nvvm.ex2.approx.ftz.f", x);
}
Value TeamCode::expm1(Value x) { return functionsOf(*this).expm1(x); }
/// The hardware's logarithm is off by 2^-22, of itself or, between a half and two, of one. Denormal numbers are zeros
/// to it: to take them for what they are costs two of its four instructions.
Value TeamCode::log(Value x) {
  if (!isRounded)
    return functionsOf(*this).log(x);
  constexpr double logOf2 = 0.6931471805599453;
  return mul(callIntrinsic(*this, "llvm.nvvm.lg2.approx.ftz.f", x), number(logOf2));
}
/// In the whole range of normal numbers, off by two places.
Value TeamCode::div(Value a, Value b, bool takesDenormal) {
  if (!isRounded)
    return arith::DivFOp::create(builder, loc, a, b);
  return callIntrinsic(*this, takesDenormal ? "llvm.nvvm.div.full" : "llvm.nvvm.div.full.ftz", {a, b});
}
Value TeamCode::log1p(Value x) { return functionsOf(*this).log1p(x); }
Value TeamCode::sin(Value x) { return functionsOf(*this).sin(x); }
Value TeamCode::cos(Value x) { return functionsOf(*this).cos(x); }
Value TeamCode::tanh(Value x) { return functionsOf(*this).tanh(x); }
Value TeamCode::erf(Value x) { return functionsOf(*this).erf(x); }
Value TeamCode::floor(Value x) { return functionsOf(*this).floor(x); }
