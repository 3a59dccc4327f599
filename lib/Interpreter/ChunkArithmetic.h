// How the interpreter of chunk programs rounds: not at all, or as a target would.
#pragma once
#include "Interpreter/Disturbance.h"

namespace recur::interpreter {

/// `exact` computes in float64. The others round every value to float32, the operands of products to the named format
/// first, and accumulate products in float32.
enum class Rounding { exact, f32, tf32, bf16, f16 };

class Arithmetic {
public:
  /// `disturbance`: the relative size of random errors of the operands of products, where nothing is rounded.
  explicit Arithmetic(Rounding rounding, double disturbance = 0) : rounding(rounding), disturbance(disturbance) {}

  bool isExact() const { return rounding == Rounding::exact; }

  /// A value as it is kept between ops.
  double store(double x) const { return isExact() ? x : double(float(x)); }

  /// A value as a product takes it.
  double operand(double x) const;

  /// sum + a * b, as an accumulator does it.
  double multiplyAdd(double sum, double a, double b) const { return store(sum + a * b); }

private:
  Rounding rounding;
  double disturbance;
  mutable Noise noise;
};

} // namespace recur::interpreter
