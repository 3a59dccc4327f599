// Every dgps op on numbers whose result is known by hand.
#include "RunDGPS.h"
#include "fmt/format.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace recur;
using namespace recur::interpreter;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

struct Operand {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
Operand scalar(double value) { return {{}, {value}}; }
Operand vector(std::vector<double> values) { return {{int64_t(values.size())}, values}; }
Operand matrix(int64_t rows, int64_t cols, std::vector<double> values) { return {{rows, cols}, values}; }

std::string printType(const std::vector<int64_t> &shape) {
  std::string text = "<";
  for (int64_t size : shape)
    text += (text.size() > 1 ? "x" : "") + std::to_string(size);
  return (shape.empty() ? "<scalar" : text) + ">";
}

class DGPSOps : public DGPSTest {
protected:
  /// Runs one op, written with operands %a, %b, %c, on one token of one head.
  std::vector<double> apply(const std::string &op, const std::vector<Operand> &operands, const std::string &type) {
    std::string text = "dgps.recurrence @op {} {\n";
    Data data;
    data.sizes = {1, 1, 1, 1};
    for (size_t i = 0; i < operands.size(); ++i) {
      std::string name(1, char('a' + i));
      text += fmt::format("%{0} = dgps.input \"{0}\" : {1}\n", name, printType(operands[i].shape));
      std::vector<int64_t> shape = {1, 1, 1};
      shape.insert(shape.end(), operands[i].shape.begin(), operands[i].shape.end());
      data.inputs[name] = {shape, operands[i].values};
    }
    text += "%r = " + op + "\n" + "dgps.output \"r\" %r : " + type + "\n}";
    return run(text, data).outputs["r"].values;
  }

  void expectUnary(const std::string &op, std::vector<double> values, std::vector<double> results) {
    std::string type = "<" + std::to_string(values.size()) + ">";
    EXPECT_THAT(apply("dgps." + op + " %a : " + type, {vector(values)}, type),
                Pointwise(NanSensitiveDoubleEq(), results))
        << op;
  }

  void expectBinary(const std::string &op, std::vector<double> a, std::vector<double> b, std::vector<double> results) {
    std::string type = "<" + std::to_string(a.size()) + ">";
    EXPECT_THAT(apply("dgps." + op + " %a, %b : " + type + ", " + type, {vector(a), vector(b)}, type),
                Pointwise(NanSensitiveDoubleEq(), results))
        << op;
  }
};

TEST_F(DGPSOps, Unary) {
  const double e = std::exp(1.0);
  expectUnary("neg", {0, 2, -3, infinity}, {-0.0, -2, 3, -infinity});
  expectUnary("exp", {0, 1, -infinity, 710, nan}, {1, e, 0, infinity, nan});
  expectUnary("expm1", {0, 1, 1e-20, -infinity}, {0, e - 1, 1e-20, -1});
  expectUnary("log", {1, e, 0, -1}, {0, 1, -infinity, nan});
  expectUnary("sqrt", {0, 4, 2.25, -1}, {0, 2, 1.5, nan});
  expectUnary("abs", {0, -4, 2, -infinity}, {0, 4, 2, infinity});
  expectUnary("tanh", {0, std::log(2.0), -1000, 1000}, {0, 0.6, -1, 1});
}

TEST_F(DGPSOps, UnaryWithoutOverflow) {
  expectUnary("sigmoid", {0, std::log(3.0), -std::log(3.0), 1000, -1000, -infinity, infinity, nan},
              {0.5, 0.75, 0.25, 1, 0, 0, 1, nan});
  expectUnary("softplus", {0, std::log(3.0), 1000, -1000, infinity, -infinity, nan},
              {std::log(2.0), std::log(4.0), 1000, 0, infinity, 0, nan});
  // Where 1 + exp(-x) rounds to 1, the tail is still there.
  expectUnary("softplus", {-50}, {std::exp(-50.0)});
  expectUnary("sigmoid", {-700}, {std::exp(-700.0)});
  expectUnary("elu", {2, 0, -std::log(2.0), -1e-20, -infinity}, {2, 0, -0.5, -1e-20, -1});
}

TEST_F(DGPSOps, Binary) {
  expectBinary("add", {1, 2, infinity}, {10, -2, 1}, {11, 0, infinity});
  expectBinary("sub", {1, 2, infinity}, {10, -2, infinity}, {-9, 4, nan});
  expectBinary("mul", {3, -2, 0}, {5, 0.5, infinity}, {15, -1, nan});
  expectBinary("div", {3, -2, 0}, {4, 0, 0}, {0.75, -infinity, nan});
  expectBinary("max", {1, 2, nan, 1}, {2, -3, 1, nan}, {2, 2, nan, nan});
  expectBinary("min", {1, 2, nan, 1}, {2, -3, 1, nan}, {1, -3, nan, nan});
}

TEST_F(DGPSOps, AScalarGoesWithAnyShape) {
  EXPECT_THAT(apply("dgps.sub %a, %b : <scalar>, <3>", {scalar(1), vector({1, 2, 3})}, "<3>"), ElementsAre(0, -1, -2));
  EXPECT_THAT(apply("dgps.div %a, %b : <2x2>, <scalar>", {matrix(2, 2, {1, 2, 3, 4}), scalar(2)}, "<2x2>"),
              ElementsAre(0.5, 1, 1.5, 2));
  EXPECT_THAT(apply("dgps.mul %a, %b : <scalar>, <scalar>", {scalar(3), scalar(4)}, "<scalar>"), ElementsAre(12));
  EXPECT_THAT(apply("dgps.exp %a : <2x2>", {matrix(2, 2, {0, 0, 0, 0})}, "<2x2>"), ElementsAre(1, 1, 1, 1));
}

TEST_F(DGPSOps, ConstantsAndBroadcasts) {
  EXPECT_THAT(apply("dgps.constant 2.500000e+00 : <2x2>", {}, "<2x2>"), ElementsAre(2.5, 2.5, 2.5, 2.5));
  EXPECT_THAT(apply("dgps.broadcast %a : <3>", {scalar(7)}, "<3>"), ElementsAre(7, 7, 7));
}

TEST_F(DGPSOps, Extract) {
  EXPECT_THAT(apply("dgps.extract %a[2] : <3>", {vector({5, 6, 7})}, "<scalar>"), ElementsAre(7));
  EXPECT_THAT(apply("dgps.extract %a[1] : <2x3>", {matrix(2, 3, {1, 2, 3, 4, 5, 6})}, "<3>"), ElementsAre(4, 5, 6));
}

TEST_F(DGPSOps, Products) {
  Operand m = matrix(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(apply("dgps.outer %a, %b : <2>, <3>", {vector({2, 3}), vector({1, 10, 100})}, "<2x3>"),
              ElementsAre(2, 20, 200, 3, 30, 300));
  EXPECT_THAT(apply("dgps.dot %a, %b : <3>", {vector({1, 2, 3}), vector({4, 5, 6})}, "<scalar>"), ElementsAre(32));
  EXPECT_THAT(apply("dgps.matvec %a, %b : <2x3>, <3>", {m, vector({1, 10, 100})}, "<2>"), ElementsAre(321, 654));
  EXPECT_THAT(apply("dgps.vecmat %a, %b : <2>, <2x3>", {vector({1, 10}), m}, "<3>"), ElementsAre(41, 52, 63));
  EXPECT_THAT(apply("dgps.scale_cols %a, %b : <2x3>, <3>", {m, vector({1, 10, 100})}, "<2x3>"),
              ElementsAre(1, 20, 300, 4, 50, 600));
  EXPECT_THAT(apply("dgps.scale_rows %a, %b : <2>, <2x3>", {vector({1, 10}), m}, "<2x3>"),
              ElementsAre(1, 2, 3, 40, 50, 60));
}

TEST_F(DGPSOps, Sum) {
  EXPECT_THAT(apply("dgps.sum %a : <3>", {vector({1, 2, 4})}, "<scalar>"), ElementsAre(7));
  EXPECT_THAT(apply("dgps.sum %a : <2x2>", {matrix(2, 2, {1, 2, 4, 8})}, "<scalar>"), ElementsAre(15));
  EXPECT_THAT(apply("dgps.sum %a : <scalar>", {scalar(3)}, "<scalar>"), ElementsAre(3));
}

TEST_F(DGPSOps, Softmax) {
  std::vector<double> quarters = {0.25, 0.25, 0.5};
  double log2 = std::log(2.0);
  EXPECT_THAT(apply("dgps.softmax %a : <3>", {vector({0, 0, log2})}, "<3>"),
              Pointwise(::testing::DoubleEq(), quarters));
  EXPECT_THAT(apply("dgps.softmax %a : <2>", {vector({1000, 1000})}, "<2>"), ElementsAre(0.5, 0.5));
  EXPECT_THAT(apply("dgps.softmax %a : <2>", {vector({-1000, -infinity})}, "<2>"), ElementsAre(1, 0));
}

TEST_F(DGPSOps, ConjugateGradients) {
  // [[3, 1], [1, 2]] + diag(1, 0) = [[4, 1], [1, 2]]: two steps solve it exactly, up to rounding.
  std::vector<double> exact = {1.0 / 7, 3.0 / 7};
  std::string two = "dgps.cg %a, %b ridge %c iterations 2 : <2x2>, <2>, <2>";
  EXPECT_THAT(apply(two, {matrix(2, 2, {3, 1, 1, 2}), vector({1, 1}), vector({1, 0})}, "<2>"),
              Pointwise(::testing::DoubleNear(1e-15), exact));
  // The first step alone goes along x by x.x / x.Gx = 2 / 8.
  std::string one = "dgps.cg %a, %b ridge %c iterations 1 : <2x2>, <2>, <scalar>";
  EXPECT_THAT(apply(one, {matrix(2, 2, {3, 1, 1, 1}), vector({1, 1}), scalar(1)}, "<2>"), ElementsAre(0.25, 0.25));
}

TEST_F(DGPSOps, ConjugateGradientsStandStillAtZero) {
  std::string op = "dgps.cg %a, %b ridge %c iterations 5 : <2x2>, <2>, <scalar>";
  // No residual from the start, none after an exact first step, and no curvature.
  EXPECT_THAT(apply(op, {matrix(2, 2, {3, 1, 1, 2}), vector({0, 0}), scalar(1)}, "<2>"), ElementsAre(0, 0));
  EXPECT_THAT(apply(op, {matrix(2, 2, {1, 0, 0, 1}), vector({2, 4}), scalar(1)}, "<2>"), ElementsAre(1, 2));
  EXPECT_THAT(apply(op, {matrix(2, 2, {0, 0, 0, 0}), vector({2, 4}), scalar(0)}, "<2>"), ElementsAre(0, 0));
}

} // namespace
