// Functions that the hardware has no instruction for: as Support/VectorMath.h spells them out, or, where factors are
// rounded in any case, as Support/HardwareMath.h does.
#include "Conversion/TileToNVVM/Team.h"
#include "Conversion/ToLLVM/MathFunctions.h"
#include "Support/HardwareMath.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

static recur::conversion::MathFunctions functionsOf(TeamCode &t) { return {t.builder, t.loc, /*hasFMA=*/true}; }

static Value callIntrinsic(TeamCode &t, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getF32Type(), t.builder.getStringAttr(name),
                                       operands)
      .getResult(0);
}

namespace {
/// What Support/HardwareMath.h asks for.
struct HardwareCode {
  using Real = Value;
  TeamCode &t;

  Value real(double value) { return t.number(value); }
  Value fma(Value a, Value b, Value c) { return t.fma(a, b, c); }
  Value mul(Value a, Value b) { return t.mul(a, b); }
  Value add(Value a, Value b) { return t.plus(a, b); }
  Value neg(Value a) { return arith::NegFOp::create(t.builder, t.loc, a); }
  Value abs(Value a) { return math::AbsFOp::create(t.builder, t.loc, a); }
  Value less(Value a, Value b) { return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLT, a, b); }
  Value select(Value mask, Value a, Value b) { return t.select(mask, a, b); }
  Value exp2(Value x) { return callIntrinsic(t, "llvm.nvvm.ex2.approx.ftz.f", x); }
  Value log2(Value x) { return callIntrinsic(t, "llvm.nvvm.lg2.approx.ftz.f", x); }
  Value reciprocal(Value x) { return callIntrinsic(t, "llvm.nvvm.rcp.approx.ftz.f", x); }
};
} // namespace

static recur::HardwareMath<HardwareCode> hardwareOf(TeamCode &t) {
  return recur::HardwareMath<HardwareCode>(HardwareCode{t});
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
Value TeamCode::log1p(Value x) { return isRounded ? hardwareOf(*this).log1p(x) : functionsOf(*this).log1p(x); }
Value TeamCode::sin(Value x) { return functionsOf(*this).sin(x); }
Value TeamCode::cos(Value x) { return functionsOf(*this).cos(x); }
Value TeamCode::tanh(Value x) { return isRounded ? hardwareOf(*this).tanh(x) : functionsOf(*this).tanh(x); }
Value TeamCode::erf(Value x) { return functionsOf(*this).erf(x); }
Value TeamCode::floor(Value x) { return functionsOf(*this).floor(x); }
