// Functions as straight vector code: range reduction and a polynomial.
#include "Conversion/TileToLLVM/Emitter.h"
#include <limits>

using namespace mlir;
using namespace recur::tile;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Value select(Emitter &e, Value condition, Value a, Value b) {
  return arith::SelectOp::create(e.builder, e.loc, condition, a, b);
}
static Value compare(Emitter &e, arith::CmpFPredicate predicate, Value a, double b) {
  return arith::CmpFOp::create(e.builder, e.loc, predicate, a, e.splat(a.getType(), b));
}
static Type integersOf(Emitter &e, Value x) {
  auto vector = dyn_cast<VectorType>(x.getType());
  return e.vectorOf(e.builder.getI32Type(), vector ? vector.getDimSize(0) : 1);
}
/// A polynomial, its coefficients from the highest power down.
static Value polynomial(Emitter &e, Value x, ArrayRef<double> coefficients) {
  Value sum = e.splat(x.getType(), coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = e.fma(sum, x, e.splat(x.getType(), coefficient));
  return sum;
}

namespace {
/// x = n ln 2 + r with |r| at most ln 2 / 2: e^r - 1, and n as an integer.
struct Reduced {
  Value expm1, n;
};
} // namespace

static Reduced reduce(Emitter &e, Value x) {
  Type type = x.getType(), integers = integersOf(e, x);
  constexpr double magic = 12582912; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  Value shifted = e.fma(x, e.splat(type, 1.4426950408889634), e.splat(type, magic));
  Value n = e.minus(shifted, e.splat(type, magic));
  Value r = e.fma(n, e.splat(type, -0.693359375), x);
  r = e.fma(n, e.splat(type, 2.12194440054690583e-4), r);
  Value tail = polynomial(e, r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  Value p = e.fma(e.mul(r, r), tail, r);
  Value bits = arith::BitcastOp::create(e.builder, e.loc, integers, shifted);
  return {p, arith::SubIOp::create(e.builder, e.loc, bits, e.splat(integers, 0x4B400000))};
}

/// 2^n, for n of -126 to 127.
static Value powerOfTwo(Emitter &e, Value n, Type type) {
  Value biased = arith::AddIOp::create(e.builder, e.loc, n, e.splat(n.getType(), 127));
  Value bits = arith::ShLIOp::create(e.builder, e.loc, biased, e.splat(n.getType(), 23));
  return arith::BitcastOp::create(e.builder, e.loc, type, bits);
}

// Gives 0 below -86.6, where the result would be 2.5e-38.
Value Emitter::exp(Value x) {
  Type type = x.getType();
  Reduced reduced = reduce(*this, x);
  // Half of 2^n first, for 2^128 is not a number while e^88.7 is.
  Value halfN = arith::AddIOp::create(builder, loc, reduced.n, splat(reduced.n.getType(), -1));
  Value scale = powerOfTwo(*this, halfN, type);
  Value result = mul(fma(reduced.expm1, scale, scale), splat(type, 2));
  result = select(*this, compare(*this, arith::CmpFPredicate::OLT, x, -86.6), splat(type, 0), result);
  return select(*this, compare(*this, arith::CmpFPredicate::OGT, x, 88.722839), splat(type, infinity), result);
}

Value Emitter::expm1(Value x) {
  Type type = x.getType();
  Reduced reduced = reduce(*this, x);
  Value halfN = arith::AddIOp::create(builder, loc, reduced.n, splat(reduced.n.getType(), -1));
  Value half = powerOfTwo(*this, halfN, type); // 2^n p + (2^n - 1), halved
  Value result = mul(fma(reduced.expm1, half, minus(half, splat(type, 0.5))), splat(type, 2));
  result = select(*this, compare(*this, arith::CmpFPredicate::OLT, x, -20), splat(type, -1), result);
  return select(*this, compare(*this, arith::CmpFPredicate::OGT, x, 88.722839), splat(type, infinity), result);
}

Value Emitter::log(Value x) {
  Type type = x.getType(), integers = integersOf(*this, x);
  auto integer = [&](int64_t value) { return splat(integers, double(value)); };
  // Numbers below the normal ones are scaled up first.
  Value small = compare(*this, arith::CmpFPredicate::OLT, x, 1.17549435e-38);
  Value scaled = select(*this, small, mul(x, splat(type, 8388608)), x);
  Value bits = arith::BitcastOp::create(builder, loc, integers, scaled);
  Value exponent = arith::ShRSIOp::create(builder, loc, bits, integer(23));
  exponent = arith::SubIOp::create(builder, loc, exponent, select(*this, small, integer(127 + 23), integer(127)));
  Value mantissa = arith::AndIOp::create(builder, loc, bits, integer(0x7FFFFF));
  mantissa = arith::OrIOp::create(builder, loc, mantissa, integer(0x3F800000));
  Value m = arith::BitcastOp::create(builder, loc, type, mantissa); // [1, 2)
  Value large = compare(*this, arith::CmpFPredicate::OGT, m, 1.41421356);
  m = select(*this, large, mul(m, splat(type, 0.5)), m);
  exponent = select(*this, large, arith::AddIOp::create(builder, loc, exponent, integer(1)), exponent);
  Value n = arith::SIToFPOp::create(builder, loc, type, exponent);
  Value f = minus(m, splat(type, 1)), square = mul(f, f);
  Value y = polynomial(*this, f,
                       {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  y = mul(mul(y, f), square);
  y = fma(n, splat(type, -2.12194440e-4), y);
  y = fma(square, splat(type, -0.5), y);
  Value result = fma(n, splat(type, 0.693359375), plus(f, y));
  result = select(*this, compare(*this, arith::CmpFPredicate::OEQ, x, infinity), x, result);
  result = select(*this, compare(*this, arith::CmpFPredicate::OEQ, x, 0), splat(type, -infinity), result);
  return select(*this, compare(*this, arith::CmpFPredicate::UGE, x, 0),
                select(*this, compare(*this, arith::CmpFPredicate::UNO, x, 0), x, result),
                splat(type, std::numeric_limits<double>::quiet_NaN()));
}

// The part of x that rounding 1 + x loses is put back.
Value Emitter::log1p(Value x) {
  Value one = splat(x.getType(), 1), u = plus(x, one);
  Value lost = arith::DivFOp::create(builder, loc, minus(x, minus(u, one)), u);
  Value result = plus(log(u), lost);
  return select(*this, compare(*this, arith::CmpFPredicate::OEQ, u, infinity), u, result);
}

Value Emitter::tanh(Value x) {
  Type type = x.getType();
  Value size = math::AbsFOp::create(builder, loc, x);
  Value t = expm1(plus(size, size));
  Value result = arith::DivFOp::create(builder, loc, t, plus(t, splat(type, 2)));
  result = select(*this, compare(*this, arith::CmpFPredicate::OGT, size, 10), splat(type, 1), result);
  return select(*this, compare(*this, arith::CmpFPredicate::OLT, x, 0), arith::NegFOp::create(builder, loc, result),
                result);
}
