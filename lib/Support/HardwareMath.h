// Functions of one float32 number where the hardware has the power of two, the logarithm and the reciprocal in some 22
// bits, as GPUs have: short code, without a division whose rounding takes a path of its own.
//
// It is written once over a `Code`, like Support/VectorMath.h: ops of MLIR in kernels, and plain floats in the test
// that measures the errors.
//
//   function   largest error of the result   for x of
//   log1p      2^-19                          -1 and above
//   tanh       2^-20                          anything
//
// Small results are as exact as large ones. A NaN gives a NaN.
#pragma once

namespace recur {

/// `Code` has the type Real and as functions the instructions used below, of which `exp2`, `log2` and `reciprocal` are
/// off by 2^-22: the logarithm, between a half and two, of one and not of itself.
template <typename Code> class HardwareMath {
public:
  using Real = typename Code::Real;

  explicit HardwareMath(Code code) : c(code) {}

  Real log1p(Real x) {
    Real far = c.mul(c.log2(c.add(x, c.real(1))), c.real(0.6931471805599453));
    // 1 + x has lost digits of a small x, and its logarithm is near zero: 2 atanh(s) then, s = x / (2 + x).
    Real s = c.mul(x, c.reciprocal(c.add(x, c.real(2)))), square = c.mul(s, s);
    Real terms =
        c.fma(square, c.fma(square, c.real(2.9463399063e-1), c.real(3.9989359100e-1)), c.real(6.6666702628e-1));
    Real near = c.mul(s, c.fma(square, terms, c.real(2)));
    return c.select(c.less(c.abs(x), c.real(0.25)), near, far);
  }

  Real tanh(Real x) {
    Real size = c.abs(x), power = c.exp2(c.mul(size, c.real(2 * 1.4426950408889634))); // infinity is one of them
    Real far = c.fma(c.real(-2), c.reciprocal(c.add(power, c.real(1))), c.real(1));
    far = c.select(c.less(x, c.real(0)), c.neg(far), far);
    Real square = c.mul(x, x);
    Real terms = c.fma(square, c.real(1.7256951865e-2), c.real(-5.3052930929e-2));
    terms = c.fma(square, c.fma(square, terms, c.real(1.3325986990e-1)), c.real(-3.3333148364e-1));
    Real near = c.fma(c.mul(x, square), terms, x);
    return c.select(c.less(size, c.real(0.5)), near, far);
  }

private:
  Code c;
};

} // namespace recur
