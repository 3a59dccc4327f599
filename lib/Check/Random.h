// Random numbers that are the same on every machine.
#pragma once
#include <cmath>
#include <cstdint>
#include <random>

namespace recur::check {

/// The standard's distributions differ from library to library; its generators do not.
class Random {
public:
  explicit Random(uint64_t seed) : generator(seed) {}

  /// In (0, 1].
  double uniform() { return (double(generator() >> 11) + 1) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

private:
  std::mt19937_64 generator;
};

} // namespace recur::check
