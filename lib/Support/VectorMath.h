// The functions of one float32 number that kernels compute, as straight code: range reduction and a polynomial, without
// a call, a branch or a table, so that the lanes of a vector go through it together.
//
// It is written once, over a `Code` that says what an instruction is: ops of MLIR in kernels, on vectors where they go
// chunk by chunk and on single numbers, of which LLVM makes vectors, where they go token by token; and plain floats in
// the test that measures the errors. So all kernels compute the same.
//
//   function   largest error   for x of                     else
//   exp        1.1 ulp         -86.6 to 88.7228             0 below, where e^x is less than 2.5e-38; infinity above
//   expm1      1.8 ulp         88.7228 and below            infinity above
//   log        0.8 ulp         0 and above, all subnormals  NaN below; -infinity at 0
//   log1p      1.2 ulp         0 and above                  not meant for numbers below
//   sin, cos   1.7e-7          -4194304 to 4194304      NaN: floats there are a third of a radian apart and more
//   tanh       2.5 ulp         anything
//   erf        2.0 ulp         anything
//   floor      exact           anything
//   sigmoid    2.5 ulp         -86.6 and above              0 below
//   softplus   2.0 ulp         -86.6 and above              0 below
//
// Where the processor scales by powers of two, exp goes on below -86.6 as far as its numbers do.
//
// A NaN gives a NaN. An ulp is the distance of the floats around the exact result; the error of sin and cos is
// absolute. The errors are the same whether or not the processor has an instruction that multiplies and adds with one
// rounding. test/unit/Support/VectorMathTest.cpp holds the functions to this table.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace recur {

/// `Code` has the types Real, Integer and Mask of one lane or many, and as functions the instructions used below, of
/// which `scaleByPower(x, n)`, x 2^n for whole n of any size, is called where it `scalesByPowers()`. None may be
/// reassociated: the sums with large constants below round on purpose.
template <typename Code> class VectorMath {
public:
  using Real = typename Code::Real;
  using Integer = typename Code::Integer;

  explicit VectorMath(Code code) : c(code) {}

  Real exp(Real x) {
    if (c.scalesByPowers()) {
      // Within these bounds, beyond which all is 0 or infinity, what is left of x by whole powers is small.
      x = c.select(c.less(x, c.real(-104)), c.real(-104), x);
      Reduced reduced = reduce(c.select(c.less(c.real(89), x), c.real(89), x));
      return c.scaleByPower(c.add(reduced.expm1, c.real(1)), reduced.power);
    }
    Reduced reduced = reduce(x);
    // Half of 2^n first, for 2^128 is not a number while e^88.7 is.
    Real half = powerOfTwo(c.add(reduced.n, c.integer(-1)));
    Real result = c.mul(c.fma(reduced.expm1, half, half), c.real(2));
    result = c.select(c.less(x, c.real(-86.6)), c.real(0), result);
    return c.select(c.less(c.real(largestExponent), x), c.real(infinity), result);
  }

  Real expm1(Real x) {
    Reduced reduced = reduce(x);
    Real half = powerOfTwo(c.add(reduced.n, c.integer(-1))); // 2^n p + (2^n - 1), halved
    Real result = c.mul(c.fma(reduced.expm1, half, c.sub(half, c.real(0.5))), c.real(2));
    result = c.select(c.less(x, c.real(-20)), c.real(-1), result);
    return c.select(c.less(c.real(largestExponent), x), c.real(infinity), result);
  }

  Real log(Real x) {
    // Subnormal numbers are scaled up first.
    auto isSmall = c.less(x, c.real(std::numeric_limits<float>::min()));
    Integer bits = c.bits(c.select(isSmall, c.mul(x, c.real(8388608)), x));
    Integer exponent = c.sub(c.shiftRight(bits, 23), c.select(isSmall, c.integer(127 + 23), c.integer(127)));
    Real m = c.fromBits(c.bitOr(c.bitAnd(bits, c.integer(0x7FFFFF)), c.integer(0x3F800000))); // [1, 2)
    auto isLarge = c.less(c.real(1.41421356), m);
    m = c.select(isLarge, c.mul(m, c.real(0.5)), m);
    Real n = c.toReal(c.select(isLarge, c.add(exponent, c.integer(1)), exponent));
    Real f = c.sub(m, c.real(1)), square = c.mul(f, f);
    Real y = polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                            -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
    y = c.mul(c.mul(y, f), square);
    y = c.fma(n, c.real(-2.12194440e-4), y);
    y = c.fma(square, c.real(-0.5), y);
    Real result = c.fma(n, c.real(0.693359375), c.add(f, y));
    result = c.select(c.equal(x, c.real(infinity)), x, result);
    result = c.select(c.equal(x, c.real(0)), c.real(-infinity), result);
    result = c.select(c.less(x, c.real(0)), c.real(std::numeric_limits<double>::quiet_NaN()), result);
    return c.select(c.isNaN(x), x, result);
  }

  Real log1p(Real x) {
    // The part of x that rounding 1 + x loses is put back.
    Real one = c.real(1), u = c.add(x, one);
    Real result = c.add(log(u), c.div(c.sub(x, c.sub(u, one)), u));
    return c.select(c.equal(u, c.real(infinity)), u, result);
  }

  Real sin(Real x) { return wave(x, 0); }
  Real cos(Real x) { return wave(x, 1); }

  Real tanh(Real x) {
    Real size = c.abs(x), t = expm1(c.add(size, size));
    Real result = c.div(t, c.add(t, c.real(2)));
    result = c.select(c.less(c.real(10), size), c.real(1), result);
    return c.select(c.less(x, c.real(0)), c.neg(result), result);
  }

  Real erf(Real x) {
    // Near zero x + x P(x^2); further out 1 - exp(-x R(x)), which has no more digits than 1 has.
    Real size = c.abs(x), square = c.mul(x, x);
    Real near = polynomial(square, {7.8758750627e-5, -8.0168642872e-4, 5.1890874234e-3, -2.6854212011e-2,
                                    1.1283594715e-1, -3.7612626667e-1, 1.2837916585e-1});
    near = c.fma(x, near, x);
    Real bounded = c.select(c.less(c.real(4), size), c.real(4), size);
    Real rate = polynomial(bounded, {-1.1660325005e-6, 3.659301182e-5, -5.1574556382e-4, 4.3739226248e-3,
                                     -2.5308601195e-2, 1.0809191263e-1, 6.3397144759e-1, 1.1289572434});
    Real far = c.neg(expm1(c.neg(c.mul(bounded, rate))));
    far = c.select(c.less(x, c.real(0)), c.neg(far), far);
    return c.select(c.less(c.real(1), size), far, near);
  }

  /// The largest whole number that is not above x.
  Real floor(Real x) {
    // Numbers from 2^23 on are whole; adding it to smaller ones leaves the nearest whole one.
    Real size = c.abs(x), whole = c.sub(c.add(size, c.real(8388608)), c.real(8388608));
    whole = c.select(c.less(x, c.real(0)), c.neg(whole), whole);
    whole = c.select(c.less(x, whole), c.sub(whole, c.real(1)), whole);
    return c.select(c.less(size, c.real(8388608)), whole, x);
  }

  Real sigmoid(Real x) {
    Real small = exp(c.neg(c.abs(x))); // at most 1
    Real top = c.select(c.less(x, c.real(0)), small, c.real(1));
    return c.div(top, c.add(c.real(1), small));
  }

  Real softplus(Real x) {
    Real rest = log1p(exp(c.neg(c.abs(x))));
    return c.add(c.select(c.less(x, c.real(0)), c.real(0), x), rest);
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double largestExponent = 88.722839; // of which exp is a number

  /// A polynomial, its coefficients from the highest power down.
  Real polynomial(Real x, std::initializer_list<double> coefficients) {
    Real sum = c.real(*coefficients.begin());
    for (const double *next = coefficients.begin() + 1; next != coefficients.end(); ++next)
      sum = c.fma(sum, x, c.real(*next));
    return sum;
  }

  /// The sine of x and so many quarters of a turn.
  Real wave(Real x, int32_t quarters) {
    // x = n pi/2 + r. Both n and the parts of pi/2 are cut to 12 bits, so that their products are exact.
    constexpr double magic = 12582912; // as below
    constexpr double partsOfQuarter[] = {1.57080078125, -4.453584551811218e-06, -8.706138032721356e-10,
                                         6.222800053024002e-14, 5.7208605257555445e-18};
    Real shifted = c.fma(x, c.real(0.63661977236758134), c.real(magic)), n = c.sub(shifted, c.real(magic));
    Real high = c.sub(c.fma(n, c.real(1.0 / 4096), c.real(magic)), c.real(magic)), low = c.fma(high, c.real(-4096), n);
    Real r = x;
    for (double part : partsOfQuarter) {
      r = c.fma(high, c.real(-4096 * part), r);
      r = c.fma(low, c.real(-part), r);
    }
    Real square = c.mul(r, r);
    Real sine = c.fma(c.mul(polynomial(square, {1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6}), square), r, r);
    Real cosine =
        c.fma(polynomial(square, {-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5}), square, c.real(1));
    Integer turn = c.add(c.bits(shifted), c.integer(quarters - 0x4B400000));
    auto isOdd = c.less(c.real(0), c.toReal(c.bitAnd(turn, c.integer(1))));
    auto isNegative = c.less(c.real(0), c.toReal(c.bitAnd(turn, c.integer(2))));
    Real result = c.select(isOdd, cosine, sine);
    result = c.select(isNegative, c.neg(result), result);
    return c.select(c.less(c.abs(x), c.real(4194305)), result, c.real(std::numeric_limits<double>::quiet_NaN()));
  }

  /// x = n ln 2 + r with |r| at most ln 2 / 2: e^r - 1, and n, also as a real number.
  struct Reduced {
    Real expm1;
    Integer n;
    Real power;
  };
  Reduced reduce(Real x) {
    constexpr double magic = 12582912; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
    Real shifted = c.fma(x, c.real(1.4426950408889634), c.real(magic));
    Real n = c.sub(shifted, c.real(magic));
    Real r = c.fma(n, c.real(-0.693359375), x); // exact: few bits of n meet few bits of ln 2
    r = c.fma(n, c.real(2.12194440054690583e-4), r);
    Real tail = polynomial(r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
    return {c.fma(c.mul(r, r), tail, r), c.sub(c.bits(shifted), c.integer(0x4B400000)), n};
  }

  /// 2^n, for n of -126 to 127.
  Real powerOfTwo(Integer n) { return c.fromBits(c.shiftLeft(c.add(n, c.integer(127)), 23)); }

  Code c;
};

} // namespace recur
