// The functions of kernels over all of float32, against the C library's in double precision.
#include "Support/VectorMath.h"
#include "gmock/gmock.h"
#include <bit>
#include <cmath>

using recur::VectorMath;

namespace {

/// Plain floats. Whether `fma` rounds once or twice, and whether an instruction scales by powers of two, depends on the
/// processor that kernels are made for.
template <bool RoundsOnce, bool Scales = false> struct FloatCode {
  using Real = float;
  using Integer = int32_t;
  using Mask = bool;

  Real real(double x) { return float(x); }
  Integer integer(int32_t x) { return x; }
  Real fma(Real a, Real b, Real c) {
    if (RoundsOnce)
      return std::fma(a, b, c);
    volatile float product = a * b; // the compiler is not to fuse them
    return product + c;
  }
  Real mul(Real a, Real b) { return a * b; }
  Real div(Real a, Real b) { return a / b; }
  Real neg(Real a) { return -a; }
  Real abs(Real a) { return std::fabs(a); }
  Real add(Real a, Real b) { return a + b; }
  Real sub(Real a, Real b) { return a - b; }
  Integer add(Integer a, Integer b) { return Integer(uint32_t(a) + uint32_t(b)); } // wraps, as in vectors
  Integer sub(Integer a, Integer b) { return Integer(uint32_t(a) - uint32_t(b)); }
  bool scalesByPowers() const { return Scales; }
  Real scaleByPower(Real x, Real n) {
    EXPECT_TRUE(Scales);
    return std::isnan(n) ? n : std::ldexp(x, int(std::clamp(n, -1000.0f, 1000.0f)));
  }
  Integer shiftLeft(Integer a, int by) { return Integer(uint32_t(a) << by); }
  Integer shiftRight(Integer a, int by) { return a >> by; }
  Integer bitAnd(Integer a, Integer b) { return a & b; }
  Integer bitOr(Integer a, Integer b) { return a | b; }
  Integer bits(Real a) { return std::bit_cast<Integer>(a); }
  Real fromBits(Integer a) { return std::bit_cast<Real>(a); }
  Real toReal(Integer a) { return Real(a); }
  Mask less(Real a, Real b) { return a < b; }
  Mask equal(Real a, Real b) { return a == b; }
  Mask isNaN(Real a) { return a != a; }
  template <typename T> T select(Mask mask, T a, T b) { return mask ? a : b; }
};

/// The distance of floats where `exact` lies.
double ulpAt(double exact) {
  int exponent;
  std::frexp(exact, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr uint32_t stride = 4099; // a prime: every exponent is met with a million of its numbers in all

struct Row {
  const char *name;
  std::function<float(float)> once, twice, scaled;
  double (*exact)(double);
  float from, to;
  double ulps; // as VectorMath.h says
};

template <typename Function>
Row makeRow(const char *name, Function function, double (*exact)(double), float from, float to, double ulps) {
  return {name,
          [=](float x) { return function(VectorMath<FloatCode<true>>({}), x); },
          [=](float x) { return function(VectorMath<FloatCode<false>>({}), x); },
          [=](float x) { return function(VectorMath<FloatCode<true, true>>({}), x); },
          exact,
          from,
          to,
          ulps};
}

double exactSigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double exactSoftplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

std::vector<Row> makeRows() {
  auto exp = [](auto math, float x) { return math.exp(x); };
  auto expm1 = [](auto math, float x) { return math.expm1(x); };
  auto log = [](auto math, float x) { return math.log(x); };
  auto log1p = [](auto math, float x) { return math.log1p(x); };
  auto tanh = [](auto math, float x) { return math.tanh(x); };
  auto erf = [](auto math, float x) { return math.erf(x); };
  auto sigmoid = [](auto math, float x) { return math.sigmoid(x); };
  auto softplus = [](auto math, float x) { return math.softplus(x); };
  float largest = 88.7228f;
  return {makeRow("exp", exp, std::exp, -86.6f, largest, 1.1),
          makeRow("expm1", expm1, std::expm1, -infinity, largest, 1.8),
          makeRow("log", log, std::log, std::numeric_limits<float>::denorm_min(), infinity, 0.8),
          makeRow("log1p", log1p, std::log1p, 0, infinity, 1.2),
          makeRow("tanh", tanh, std::tanh, -infinity, infinity, 2.5),
          makeRow("erf", erf, std::erf, -infinity, infinity, 2.0),
          makeRow("sigmoid", sigmoid, exactSigmoid, -86.6f, infinity, 2.5),
          makeRow("softplus", softplus, exactSoftplus, -86.6f, infinity, 2.0)};
}

class VectorFunction : public ::testing::TestWithParam<Row> {
protected:
  /// The largest error, in ulps, of the floats that a stride through all bit patterns meets within the row's range, and
  /// of those near 0, 1 and the ends.
  double measure(const std::function<float(float)> &function) {
    const Row &row = GetParam();
    double largest = 0;
    auto look = [&](float x) {
      if (!(x >= row.from && x <= row.to))
        return;
      double exact = row.exact(x);
      float got = function(x);
      double error = double(got) == exact || got == float(exact) ? 0 : std::fabs(got - exact) / ulpAt(exact);
      if (std::isnan(error))
        error = infinity;
      if (error > largest) {
        largest = error;
        worst = x;
      }
    };
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
      look(std::bit_cast<float>(uint32_t(bits)));
    for (float center : {0.0f, 1.0f, -1.0f, row.from, row.to}) {
      float up = center, down = center;
      for (int i = 0; i < 1000; ++i) {
        look(up = std::nextafter(up, infinity));
        look(down = std::nextafter(down, -infinity));
      }
      look(center);
    }
    return largest;
  }
  float worst = 0;
};

TEST_P(VectorFunction, IsAsExactAsStatedWhereSumsOfProductsRoundOnce) {
  double error = measure(GetParam().once);
  RecordProperty("ulps", std::to_string(error));
  EXPECT_LE(error, GetParam().ulps) << GetParam().name << " at " << worst;
  EXPECT_GE(error, 0.5) << "nothing was measured";
}

TEST_P(VectorFunction, IsAsExactWhereTheyRoundTwice) {
  double error = measure(GetParam().twice);
  RecordProperty("ulps", std::to_string(error));
  EXPECT_LE(error, GetParam().ulps) << GetParam().name << " at " << worst;
}

TEST_P(VectorFunction, IsAsExactWhereAnInstructionScalesByPowers) {
  double error = measure(GetParam().scaled);
  RecordProperty("ulps", std::to_string(error));
  EXPECT_LE(error, GetParam().ulps) << GetParam().name << " at " << worst;
  EXPECT_GE(error, 0.5) << "nothing was measured";
}

TEST_P(VectorFunction, KeepsNaNs) {
  EXPECT_TRUE(std::isnan(GetParam().once(std::nanf(""))));
  EXPECT_TRUE(std::isnan(GetParam().scaled(std::nanf(""))));
}

INSTANTIATE_TEST_SUITE_P(All, VectorFunction, ::testing::ValuesIn(makeRows()),
                         [](const auto &info) { return std::string(info.param.name); });

/// The largest error of sine and cosine, from the smallest floats to the largest angle, with multiples of a quarter of
/// a turn, where all digits of the angle cancel.
template <bool Once> double measureWaves() {
  VectorMath<FloatCode<Once>> math({});
  double largest = 0;
  auto look = [&](float x) {
    largest =
        std::max({largest, std::fabs(math.sin(x) - std::sin(double(x))), std::fabs(math.cos(x) - std::cos(double(x)))});
  };
  for (uint64_t bits = 0; bits <= std::bit_cast<uint32_t>(4194304.0f); bits += 4999)
    for (float sign : {1.0f, -1.0f})
      look(sign * std::bit_cast<float>(uint32_t(bits)));
  for (int turns = 0; turns < 2670176; turns += 61)
    for (float x : {float(turns * 1.5707963267948966), -float(turns * 1.5707963267948966)}) {
      look(x);
      look(std::nextafter(x, infinity));
    }
  return largest;
}

TEST(VectorMath, FloorIsExact) {
  VectorMath<FloatCode<true>> math({});
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
    if (float x = std::bit_cast<float>(uint32_t(bits)); !std::isnan(x)) {
      ASSERT_EQ(math.floor(x), std::floor(x)) << x;
    }
  for (float x : {8388607.5f, -8388607.5f, 4194304.5f, -4194304.5f, 0.99999994f, -0.0f, infinity, -infinity})
    EXPECT_EQ(math.floor(x), std::floor(x)) << x;
  EXPECT_TRUE(std::isnan(math.floor(std::nanf(""))));
}

TEST(VectorMath, SineAndCosineAreAsExactAsStated) {
  for (double error : {measureWaves<true>(), measureWaves<false>()}) {
    EXPECT_LE(error, 1.7e-7);
    EXPECT_GE(error, 2e-8) << "nothing was measured";
  }
  VectorMath<FloatCode<true>> math({});
  EXPECT_EQ(math.sin(0.0f), 0);
  EXPECT_EQ(math.cos(0.0f), 1);
  for (float x : {4194305.0f, -4194305.0f, infinity, -infinity, std::nanf("")}) {
    EXPECT_TRUE(std::isnan(math.sin(x))) << x;
    EXPECT_TRUE(std::isnan(math.cos(x))) << x;
  }
}

TEST(VectorMath, ExponentialsThatAreScaledByAnInstruction) {
  VectorMath<FloatCode<true, true>> scaled({});
  VectorMath<FloatCode<true>> math({});
  float huge = std::numeric_limits<float>::max();
  for (int i = -2731; i < 2798; ++i) { // from -86.6 to 88.7
    float x = 0.0317f * float(i);
    EXPECT_EQ(scaled.exp(x), math.exp(x)) << x;
  }
  for (float x : {-huge, -infinity, -104.0f})
    EXPECT_EQ(scaled.exp(x), 0) << x;
  for (float x : {huge, infinity, 88.73f, 89.0f})
    EXPECT_EQ(scaled.exp(x), infinity) << x;
  EXPECT_NEAR(scaled.exp(-87.25f) / std::exp(-87.25), 1, 1e-6);
  EXPECT_EQ(scaled.exp(0.0f), 1);
}

TEST(VectorMath, AtTheEndsOfTheRange) {
  VectorMath<FloatCode<true>> math({});
  float subnormal = std::numeric_limits<float>::denorm_min(), huge = std::numeric_limits<float>::max();
  EXPECT_EQ(math.exp(0.0f), 1);
  EXPECT_EQ(math.exp(subnormal), 1);
  EXPECT_EQ(math.exp(-infinity), 0);
  EXPECT_EQ(math.exp(-huge), 0);
  EXPECT_EQ(math.exp(-90.0f), 0);
  EXPECT_EQ(math.exp(infinity), infinity);
  EXPECT_EQ(math.exp(88.73f), infinity);
  EXPECT_EQ(math.expm1(-infinity), -1);
  EXPECT_EQ(math.expm1(infinity), infinity);
  EXPECT_EQ(math.expm1(std::numeric_limits<float>::min()), std::numeric_limits<float>::min());
  EXPECT_EQ(math.log(1.0f), 0);
  EXPECT_EQ(math.log(0.0f), -infinity);
  EXPECT_EQ(math.log(-0.0f), -infinity);
  EXPECT_EQ(math.log(infinity), infinity);
  EXPECT_TRUE(std::isnan(math.log(-subnormal)));
  EXPECT_TRUE(std::isnan(math.log(-1.0f)));
  EXPECT_TRUE(std::isnan(math.log(-infinity)));
  EXPECT_EQ(math.log1p(infinity), infinity);
  EXPECT_EQ(math.tanh(infinity), 1);
  EXPECT_EQ(math.tanh(-infinity), -1);
  EXPECT_EQ(math.tanh(0.0f), 0);
  EXPECT_EQ(math.sigmoid(-infinity), 0);
  EXPECT_EQ(math.sigmoid(-huge), 0);
  EXPECT_EQ(math.sigmoid(infinity), 1);
  EXPECT_EQ(math.softplus(-infinity), 0);
  EXPECT_EQ(math.softplus(-100.0f), 0);
  EXPECT_EQ(math.softplus(infinity), infinity);
}

} // namespace
