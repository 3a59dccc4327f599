// Random errors of the size of rounding errors: how far they move the results says what rounding may do to them.
#pragma once
#include <cmath>
#include <cstdint>

namespace recur::interpreter {

/// Relative errors; zero for none.
struct Disturbance {
  double values = 0;   ///< of what every op gives
  double operands = 0; ///< of what products of vectors and matrices take
  bool isNone() const { return values == 0 && operands == 0; }
  bool operator==(const Disturbance &) const = default;
};

/// Signs that look random, the same in every run.
class Noise {
public:
  /// `x` with an error of the relative size, up or down. Rounding leaves whole numbers alone, as far as they have few
  /// digits: counts, what comparisons give, and what is chosen by them.
  double disturb(double x, double size) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    if (std::abs(x) * size <= 0.5 && x == std::trunc(x))
      return x;
    return bits & 1 ? x + x * size : x - x * size;
  }

private:
  uint64_t bits = 0x9e3779b97f4a7c15;
};

} // namespace recur::interpreter
