#include "Conversion/ToLLVM/MathFunctions.h"
#include "Conversion/ToLLVM/Code.h"
#include "Support/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace recur::conversion;

namespace {

/// What Support/VectorMath.h asks for.
class OpCode {
public:
  using Real = Value;
  using Integer = Value;
  using Mask = Value;

  OpCode(OpBuilder &builder, Location loc, bool hasFMA, bool scalesByPowers, Type reals)
      : builder(builder), loc(loc), hasFMA(hasFMA), reals(reals), integers(getTypeLike(reals, builder.getI32Type())) {
    auto vector = dyn_cast<VectorType>(reals);
    canScale = scalesByPowers && vector && vector.getNumElements() % scaledLanes == 0;
  }

  Value real(double value) { return buildSplat(builder, loc, reals, value); }
  Value integer(int32_t value) { return buildSplat(builder, loc, integers, double(value)); }

  Value fma(Value a, Value b, Value c) {
    SmallVector<Value> operands{a, b, c};
    return hasFMA ? LLVM::FMAOp::create(builder, loc, reals, operands).getResult()
                  : LLVM::FMulAddOp::create(builder, loc, reals, operands).getResult();
  }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value neg(Value a) { return create<arith::NegFOp>(a); }
  Value abs(Value a) { return create<math::AbsFOp>(a); }
  Value add(Value a, Value b) {
    return a.getType() == reals ? create<arith::AddFOp>(a, b) : create<arith::AddIOp>(a, b);
  }
  Value sub(Value a, Value b) {
    return a.getType() == reals ? create<arith::SubFOp>(a, b) : create<arith::SubIOp>(a, b);
  }

  bool scalesByPowers() const { return canScale; }
  /// x 2^n, a register's numbers at a time.
  Value scaleByPower(Value x, Value n) {
    int64_t lanes = cast<VectorType>(reals).getNumElements();
    if (lanes == scaledLanes)
      return scaleRegister(x, n);
    Value result = real(0);
    for (int64_t first = 0; first < lanes; first += scaledLanes) {
      auto part = [&](Value whole) -> Value {
        return vector::ExtractStridedSliceOp::create(builder, loc, whole, first, scaledLanes, int64_t(1));
      };
      Value scaled = scaleRegister(part(x), part(n));
      result = vector::InsertStridedSliceOp::create(builder, loc, scaled, result, first, int64_t(1));
    }
    return result;
  }

  Value shiftLeft(Value a, int32_t by) { return create<arith::ShLIOp>(a, integer(by)); }
  Value shiftRight(Value a, int32_t by) { return create<arith::ShRSIOp>(a, integer(by)); }
  Value bitAnd(Value a, Value b) { return create<arith::AndIOp>(a, b); }
  Value bitOr(Value a, Value b) { return create<arith::OrIOp>(a, b); }
  Value bits(Value a) { return create<arith::BitcastOp>(integers, a); }
  Value fromBits(Value a) { return create<arith::BitcastOp>(reals, a); }
  Value toReal(Value a) { return create<arith::SIToFPOp>(reals, a); }

  Value less(Value a, Value b) { return create<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b); }
  Value equal(Value a, Value b) { return create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, b); }
  Value isNaN(Value a) { return create<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a); }
  Value select(Value mask, Value a, Value b) { return create<arith::SelectOp>(mask, a, b); }

private:
  static constexpr int64_t scaledLanes = 16;

  Value scaleRegister(Value x, Value n) {
    auto whole = [&](int bits, int64_t number) {
      return arith::ConstantIntOp::create(builder, loc, number, bits).getResult();
    };
    constexpr int64_t asTheModeSays = 4; // how the result is rounded, which no scaled number is but a subnormal one
    return LLVM::CallIntrinsicOp::create(builder, loc, x.getType(),
                                         builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                         ValueRange{x, n, x, whole(16, -1), whole(32, asTheModeSays)})
        .getResult(0);
  }

  template <typename Op, typename... Arguments> Value create(Arguments... arguments) {
    return Op::create(builder, loc, arguments...);
  }

  OpBuilder &builder;
  Location loc;
  bool hasFMA, canScale = false;
  Type reals, integers;
};

} // namespace

using Math = recur::VectorMath<OpCode>;
static Math mathOf(OpBuilder &builder, Location loc, bool hasFMA, bool scalesByPowers, Value x) {
  return Math(OpCode(builder, loc, hasFMA, scalesByPowers, x.getType()));
}

Value MathFunctions::exp(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).exp(x); }
Value MathFunctions::expm1(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).expm1(x); }
Value MathFunctions::log(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).log(x); }
Value MathFunctions::log1p(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).log1p(x); }
Value MathFunctions::sin(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).sin(x); }
Value MathFunctions::cos(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).cos(x); }
Value MathFunctions::tanh(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).tanh(x); }
Value MathFunctions::erf(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).erf(x); }
Value MathFunctions::floor(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).floor(x); }
Value MathFunctions::sigmoid(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).sigmoid(x); }
Value MathFunctions::softplus(Value x) const { return mathOf(builder, loc, hasFMA, scalesByPowers, x).softplus(x); }
