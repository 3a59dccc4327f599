// What the hardware's approximations leave of log1p and tanh, over all of float32.
#include "Support/HardwareMath.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace {

/// Plain floats, with approximations that are off by as much as the hardware's may be, to the side that `sign` says.
struct RoughCode {
  using Real = float;
  float sign;

  float real(double x) { return float(x); }
  float fma(float a, float b, float c) { return std::fma(a, b, c); }
  float mul(float a, float b) { return a * b; }
  float add(float a, float b) { return a + b; }
  float neg(float a) { return -a; }
  float abs(float a) { return std::fabs(a); }
  bool less(float a, float b) { return a < b; }
  float select(bool mask, float a, float b) { return mask ? a : b; }
  float exp2(float x) { return float(std::exp2(double(x)) * (1 + off())); }
  float reciprocal(float x) { return float(1 / double(x) * (1 - off())); }
  float log2(float x) {
    double exact = std::log2(double(x));
    return float(exact + off() * (x > 0.5f && x < 2 ? 1 : exact));
  }

private:
  double off() const { return std::ldexp(sign, -22); }
};

using Function = std::function<float(recur::HardwareMath<RoughCode> &, float)>;

/// The largest error of the result, of the floats that a stride through all bit patterns meets from `from` on.
double measure(const Function &function, double (*exactOf)(double), float from) {
  double largest = 0;
  for (float sign : {-1.0f, 1.0f}) {
    recur::HardwareMath<RoughCode> math({sign});
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
      float x = std::bit_cast<float>(uint32_t(bits));
      double exact = exactOf(x);
      if (!(x >= from) || std::fpclassify(float(exact)) == FP_SUBNORMAL)
        continue;
      float got = function(math, x);
      double error = double(got) == exact || got == float(exact) ? 0 : std::fabs((got - exact) / exact);
      largest = std::max(largest, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
  }
  return largest;
}

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(HardwareMath, LogarithmsNearOneKeepTheirDigits) {
  auto log1p = [](auto &math, float x) { return math.log1p(x); };
  double error = measure(log1p, std::log1p, std::nextafter(-1.0f, 0.0f));
  EXPECT_LE(error, std::ldexp(1, -19));
  EXPECT_GE(error, std::ldexp(1, -23)) << "nothing was measured";
  recur::HardwareMath<RoughCode> math({1});
  EXPECT_EQ(math.log1p(-1), -infinity);
  EXPECT_EQ(math.log1p(0), 0);
  EXPECT_EQ(math.log1p(infinity), infinity);
  EXPECT_TRUE(std::isnan(math.log1p(std::nanf(""))));
}

TEST(HardwareMath, TangentsNearZeroKeepTheirDigits) {
  auto tanh = [](auto &math, float x) { return math.tanh(x); };
  double error = measure(tanh, std::tanh, -infinity);
  EXPECT_LE(error, std::ldexp(1, -20));
  EXPECT_GE(error, std::ldexp(1, -23)) << "nothing was measured";
  recur::HardwareMath<RoughCode> math({1});
  EXPECT_EQ(math.tanh(infinity), 1);
  EXPECT_EQ(math.tanh(-infinity), -1);
  EXPECT_TRUE(std::isnan(math.tanh(std::nanf(""))));
}

} // namespace
