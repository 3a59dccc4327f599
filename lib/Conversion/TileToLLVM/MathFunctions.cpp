// What Support/VectorMath.h asks for, as ops on vectors or scalars.
#include "Conversion/TileToLLVM/Emitter.h"
#include "Support/VectorMath.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;

namespace {

class TileCode {
public:
  using Real = Value;
  using Integer = Value;
  using Mask = Value;

  TileCode(Emitter &e, Type type) : e(e), reals(type) {
    auto vector = dyn_cast<VectorType>(type);
    integers = e.vectorOf(e.builder.getI32Type(), vector ? vector.getDimSize(0) : 1);
  }

  Value real(double value) { return e.splat(reals, value); }
  Value integer(int32_t value) { return e.splat(integers, double(value)); }

  Value fma(Value a, Value b, Value c) { return e.fma(a, b, c); }
  Value mul(Value a, Value b) { return e.mul(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value neg(Value a) { return create<arith::NegFOp>(a); }
  Value abs(Value a) { return create<math::AbsFOp>(a); }
  Value add(Value a, Value b) { return a.getType() == reals ? e.plus(a, b) : create<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return a.getType() == reals ? e.minus(a, b) : create<arith::SubIOp>(a, b); }

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
  template <typename Op, typename... Arguments> Value create(Arguments... arguments) {
    return Op::create(e.builder, e.loc, arguments...);
  }

  Emitter &e;
  Type reals, integers;
};

} // namespace

static recur::VectorMath<TileCode> mathOf(Emitter &e, Value x) {
  return recur::VectorMath<TileCode>(TileCode(e, x.getType()));
}

Value Emitter::exp(Value x) { return mathOf(*this, x).exp(x); }
Value Emitter::expm1(Value x) { return mathOf(*this, x).expm1(x); }
Value Emitter::log(Value x) { return mathOf(*this, x).log(x); }
Value Emitter::log1p(Value x) { return mathOf(*this, x).log1p(x); }
Value Emitter::sin(Value x) { return mathOf(*this, x).sin(x); }
Value Emitter::cos(Value x) { return mathOf(*this, x).cos(x); }
Value Emitter::tanh(Value x) { return mathOf(*this, x).tanh(x); }
