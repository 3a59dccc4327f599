#include "Interpreter/ChunkArithmetic.h"
#include <cmath>
#include <limits>

using namespace recur::interpreter;

/// Rounds to `bits` significant bits, to even; below the smallest normal number the spacing stays `smallest`.
static double roundToBits(double x, int bits, double smallest, double largest) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent;
  std::frexp(x, &exponent);
  double spacing = std::max(std::ldexp(1.0, exponent - bits), smallest);
  double rounded = std::nearbyint(x / spacing) * spacing;
  if (std::fabs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return rounded;
}

double Arithmetic::operand(double x) const {
  switch (rounding) {
  case Rounding::exact:
    return disturbance == 0 ? x : noise.disturb(x, disturbance);
  case Rounding::f32:
    return float(x);
  case Rounding::tf32:
    return roundToBits(x, 11, 0x1p-136, 0x1.ffcp127);
  case Rounding::bf16:
    return roundToBits(x, 8, 0x1p-133, 0x1.fep127);
  case Rounding::f16:
    return roundToBits(x, 11, 0x1p-24, 65504);
  }
  return x;
}
