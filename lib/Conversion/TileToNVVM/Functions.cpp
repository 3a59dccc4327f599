// Functions that the hardware has no instruction for, as Support/VectorMath.h spells them out.
#include "Conversion/TileToNVVM/Team.h"
#include "Support/VectorMath.h"

using namespace mlir;
using namespace recur::conversion::nvvm;

namespace {

class ScalarCode {
public:
  using Real = Value;
  using Integer = Value;
  using Mask = Value;

  explicit ScalarCode(TeamCode &t) : t(t) {}

  Value real(double value) { return t.number(value); }
  Value integer(int32_t value) { return t.constant(value); }

  Value fma(Value a, Value b, Value c) { return t.fma(a, b, c); }
  Value mul(Value a, Value b) { return t.mul(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value neg(Value a) { return create<arith::NegFOp>(a); }
  Value abs(Value a) { return create<math::AbsFOp>(a); }
  Value add(Value a, Value b) { return a.getType().isF32() ? t.plus(a, b) : t.add(a, b); }
  Value sub(Value a, Value b) { return a.getType().isF32() ? t.minus(a, b) : t.subtract(a, b); }

  Value shiftLeft(Value a, int32_t by) { return create<arith::ShLIOp>(a, integer(by)); }
  Value shiftRight(Value a, int32_t by) { return create<arith::ShRSIOp>(a, integer(by)); }
  Value bitAnd(Value a, Value b) { return create<arith::AndIOp>(a, b); }
  Value bitOr(Value a, Value b) { return create<arith::OrIOp>(a, b); }
  Value bits(Value a) { return create<arith::BitcastOp>(t.builder.getI32Type(), a); }
  Value fromBits(Value a) { return create<arith::BitcastOp>(t.builder.getF32Type(), a); }
  Value toReal(Value a) { return create<arith::SIToFPOp>(t.builder.getF32Type(), a); }

  Value less(Value a, Value b) { return create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b); }
  Value equal(Value a, Value b) { return create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, b); }
  Value isNaN(Value a) { return create<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a); }
  Value select(Value mask, Value a, Value b) { return t.select(mask, a, b); }

private:
  template <typename Op, typename... Arguments> Value create(Arguments... arguments) {
    return Op::create(t.builder, t.loc, arguments...);
  }
  TeamCode &t;
};

} // namespace

static recur::VectorMath<ScalarCode> mathOf(TeamCode &t) { return recur::VectorMath<ScalarCode>(ScalarCode(t)); }

/// The hardware's power of two is off by 2^-22.
Value TeamCode::exp(Value x) {
  if (!isRounded)
    return mathOf(*this).exp(x);
  constexpr double log2OfE = 1.4426950408889634;
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(),
                                       builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), mul(x, number(log2OfE)))
      .getResult(0);
}
Value TeamCode::expm1(Value x) { return mathOf(*this).expm1(x); }
Value TeamCode::log(Value x) { return mathOf(*this).log(x); }
Value TeamCode::log1p(Value x) { return mathOf(*this).log1p(x); }
Value TeamCode::sin(Value x) { return mathOf(*this).sin(x); }
Value TeamCode::cos(Value x) { return mathOf(*this).cos(x); }
Value TeamCode::tanh(Value x) { return mathOf(*this).tanh(x); }
