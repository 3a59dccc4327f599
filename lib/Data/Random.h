// Random numbers that are the same on every machine, so that a seed names a recurrence, or its data, for good: the
// standard's distributions differ from library to library.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace recur::data {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}

  /// SplitMix64.
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// 0 .. count-1.
  unsigned below(unsigned count) { return next() % count; }
  bool chance(double probability) { return uniform() < probability; }
  /// In [0, 1).
  double uniform() { return (next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  template <typename T> const T &pick(const std::vector<T> &choices) { return choices[below(choices.size())]; }
  template <typename T> void shuffle(std::vector<T> &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace recur::data
