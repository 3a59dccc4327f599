// A number and its derivative along one direction: arithmetic on these carries the derivative through any formula, one
// operation after the other. This is the forward mode, which judges the reverse mode and shares nothing with it.
//
// Where a function has no derivative it has the usual subgradient: zero for abs at zero, half of each for the larger of
// two equal numbers. Where its slope is infinite though its value is finite (sqrt at zero), the derivative is zero.
#pragma once
#include <cmath>

namespace recur::interpreter {

struct Dual {
  Dual(double value = 0, double slope = 0) : value(value), slope(slope) {}
  double value;
  double slope;
};

//===----------------------------------------------------------------------===//
// What a formula on numbers of either kind needs, beside arithmetic
//===----------------------------------------------------------------------===//

inline double valueOf(double x) { return x; }
inline double valueOf(const Dual &x) { return x.value; }
inline double slopeOf(double) { return 0; }
inline double slopeOf(const Dual &x) { return x.slope; }
inline void setNumber(double &number, double value, double) { number = value; }
inline void setNumber(Dual &number, double value, double slope) { number = {value, slope}; }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

inline Dual operator+(const Dual &a, const Dual &b) { return {a.value + b.value, a.slope + b.slope}; }
inline Dual operator-(const Dual &a, const Dual &b) { return {a.value - b.value, a.slope - b.slope}; }
inline Dual operator-(const Dual &a) { return {-a.value, -a.slope}; }
/// A slope of zero stays zero whatever scales it, even an infinity: a constant may scale a gate of minus infinity.
inline double scaleSlope(double slope, double factor) { return slope == 0 ? 0 : slope * factor; }
inline Dual operator*(const Dual &a, const Dual &b) {
  return {a.value * b.value, scaleSlope(a.slope, b.value) + scaleSlope(b.slope, a.value)};
}
inline Dual operator/(const Dual &a, const Dual &b) {
  double quotient = a.value / b.value;
  return {quotient, (a.slope - scaleSlope(b.slope, quotient)) / b.value};
}
inline Dual &operator+=(Dual &a, const Dual &b) { return a = a + b; }
inline Dual &operator-=(Dual &a, const Dual &b) { return a = a - b; }
inline Dual &operator/=(Dual &a, const Dual &b) { return a = a / b; }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// exp is only taken of numbers that are not positive, so it cannot overflow.
inline double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
// max(x, 0) as x > 0 ? x : 0 would lose a NaN, which log1p(exp(-|x|)) keeps.
inline double softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
inline double elu(double x) { return x > 0 ? x : std::expm1(x); }

/// f(x), from f at the value and the derivative there.
inline Dual follow(const Dual &x, double value, double derivative) {
  return {value, std::isfinite(derivative) ? derivative * x.slope : 0};
}
inline Dual exp(const Dual &x) { return follow(x, std::exp(x.value), std::exp(x.value)); }
inline Dual expm1(const Dual &x) { return follow(x, std::expm1(x.value), std::exp(x.value)); }
inline Dual log(const Dual &x) { return follow(x, std::log(x.value), 1 / x.value); }
inline Dual sqrt(const Dual &x) { return follow(x, std::sqrt(x.value), 0.5 / std::sqrt(x.value)); }
inline Dual fabs(const Dual &x) { return follow(x, std::fabs(x.value), double(x.value > 0) - double(x.value < 0)); }
inline Dual sin(const Dual &x) { return follow(x, std::sin(x.value), std::cos(x.value)); }
inline Dual cos(const Dual &x) { return follow(x, std::cos(x.value), -std::sin(x.value)); }
inline Dual tanh(const Dual &x) {
  // 1 - tanh(x)^2 would lose the digits of a small slope.
  return follow(x, std::tanh(x.value), 1 / (std::cosh(x.value) * std::cosh(x.value)));
}
inline Dual sigmoid(const Dual &x) { return follow(x, sigmoid(x.value), sigmoid(x.value) * sigmoid(-x.value)); }
inline Dual softplus(const Dual &x) { return follow(x, softplus(x.value), sigmoid(x.value)); }
inline Dual elu(const Dual &x) { return follow(x, elu(x.value), x.value > 0 ? 1 : std::exp(x.value)); }

inline Dual erf(const Dual &x) {
  return follow(x, std::erf(x.value), 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x.value * x.value));
}
inline Dual floor(const Dual &x) { return {std::floor(x.value), 0}; }

/// The larger of two numbers, a NaN if one is. Equal ones share the slope: `shareOfA` is what the first gets.
inline double larger(double a, double b, double = 0.5) { return std::isnan(a) || a > b ? a : b; }
inline Dual larger(const Dual &a, const Dual &b, double shareOfA = 0.5) {
  double share = a.value == b.value ? shareOfA : a.value > b.value ? 1 : 0;
  return {larger(a.value, b.value), (share ? share * a.slope : 0) + (share < 1 ? (1 - share) * b.slope : 0)};
}
inline double smaller(double a, double b, double = 0.5) { return std::isnan(a) || a < b ? a : b; }
inline Dual smaller(const Dual &a, const Dual &b, double shareOfA = 0.5) { return -larger(-a, -b, shareOfA); }

} // namespace recur::interpreter
