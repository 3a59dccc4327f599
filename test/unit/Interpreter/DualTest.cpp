// Derivatives by dual numbers: of every op and of whole recurrences against differences of values, and at corners.
#include "RunDGPS.h"
#include <random>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using ::testing::ElementsAre;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class DualTest : public DGPSTest {
protected:
  DualTest() : DGPSTest("Dual.mlir") {}

  Derivative runAlong(dgps::RecurrenceOp recurrence, const Data &data, const Data &direction) {
    llvm::Expected<Derivative> results = interpretAlong(recurrence, data, direction);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return std::move(*results);
  }

  /// The slopes of an output of @corners, for one token, where `a` and `b` change as said.
  std::vector<double> slopes(const std::string &output, const std::vector<double> &a, const std::vector<double> &slopeA,
                             const std::vector<double> &b = {0, 0, 0}, const std::vector<double> &slopeB = {0, 0, 0}) {
    auto array = [](const std::vector<double> &values) { return Array{{1, 1, 1, 3}, values}; };
    Data data{{1, 1, 1, 1}, {{"a", array(a)}, {"b", array(b)}}, {}, {}};
    Data direction{{1, 1, 1, 1}, {{"a", array(slopeA)}, {"b", array(slopeB)}}, {}, {}};
    Derivative along = runAlong(find("corners"), data, direction);
    EXPECT_EQ(run("corners", data).outputs.at(output).values, along.values.outputs.at(output).values);
    return along.slopes.outputs.at(output).values;
  }

  /// Random numbers for everything that the recurrence takes.
  static Data draw(dgps::RecurrenceOp recurrence, const Sizes &sizes, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(0.2, 1.2);
    Data data;
    data.sizes = sizes;
    auto make = [&](Role role, mlir::Value value) {
      auto shape = getFullShape(role, sizes, dgps::shapeOf(value));
      Array array{{shape.begin(), shape.end()}, std::vector<double>(*countElements(shape))};
      for (double &x : array.values)
        x = number(random);
      return array;
    };
    for (dgps::InputOp input : recurrence.getInputs())
      data.inputs[input.getName().str()] = make(input.getShared() ? Role::SharedInput : Role::Input, input);
    for (dgps::ParamOp param : recurrence.getParams())
      data.params[param.getName().str()] = make(Role::Param, param);
    for (dgps::StateOp state : recurrence.getStates())
      data.initial[state.getName().str()] = make(Role::Initial, state);
    return data;
  }

  static Data shift(Data data, const Data &direction, double length) {
    auto each = [&](NamedArrays Data::*arrays) {
      for (auto &[name, array] : data.*arrays)
        for (auto [x, slope] : llvm::zip(array.values, (direction.*arrays).at(name).values))
          x += length * slope;
    };
    each(&Data::inputs);
    each(&Data::params);
    each(&Data::initial);
    return data;
  }

  /// The slopes of everything that the recurrence gives, against a difference of its values.
  void expectSlopesOfDifferences(llvm::StringRef name, const Sizes &sizes) {
    dgps::RecurrenceOp recurrence = find(name);
    Data data = draw(recurrence, sizes, 1), direction = draw(recurrence, sizes, 2);
    Derivative along = runAlong(recurrence, data, direction);
    constexpr double length = 1e-5;
    Results above = run(name, shift(data, direction, length)), below = run(name, shift(data, direction, -length));
    auto compare = [&](NamedArrays Results::*arrays) {
      for (const auto &[name, slope] : along.slopes.*arrays) {
        std::vector<double> difference;
        for (auto [a, b] : llvm::zip((above.*arrays).at(name).values, (below.*arrays).at(name).values))
          difference.push_back((a - b) / (2 * length));
        EXPECT_LT(relativeRms(slope, {slope.shape, difference}), 1e-8) << name;
      }
    };
    compare(&Results::outputs);
    compare(&Results::final);
  }
};

TEST_F(DualTest, EveryFunctionHasTheSlopeOfADifference) { expectSlopesOfDifferences("functions", {1, 3, 1, 1}); }

TEST_F(DualTest, EveryOpOfTwoOperandsHasTheSlopeOfADifference) { expectSlopesOfDifferences("operands", {2, 2, 1, 1}); }

TEST_F(DualTest, SlopesGoFromTokenToToken) { expectSlopesOfDifferences("delta", {2, 7, 4, 2}); }

TEST_F(DualTest, CornersHaveTheUsualSubgradient) {
  EXPECT_THAT(slopes("abs", {0, 2, -2}, {1, 1, 1}), ElementsAre(0, 1, -1));
  EXPECT_THAT(slopes("sqrt", {0, 4, infinity}, {1, 1, 1}), ElementsAre(0, 0.25, 0));
  EXPECT_THAT(slopes("softplus", {0, 800, -800}, {1, 1, 1}), ElementsAre(0.5, 1, 0));
  EXPECT_THAT(slopes("exp", {0, -2000, -infinity}, {1, 1, 1}), ElementsAre(1, 0, 0));
  EXPECT_THAT(slopes("tanh", {0, 800, -infinity}, {1, 1, 1}), ElementsAre(1, 0, 0));
  EXPECT_THAT(slopes("stop", {0, 800, -1}, {1, 1, 1}), ElementsAre(0, 0, 0));
  // Equal operands share; a constant takes all, so that relu's slope at zero is zero, however it is written.
  EXPECT_THAT(slopes("max", {1, 0, 2}, {4, 4, 4}, {1, 1, 1}, {8, 8, 8}), ElementsAre(6, 8, 4));
  EXPECT_THAT(slopes("min", {1, 0, 2}, {4, 4, 4}, {1, 1, 1}, {8, 8, 8}), ElementsAre(6, 4, 8));
  for (const char *relu : {"relu", "relu_swapped"})
    EXPECT_THAT(slopes(relu, {0, 1, -1}, {1, 1, 1}), ElementsAre(0, 1, 0));
}

TEST_F(DualTest, WhatDoesNotMoveAddsNothingBesideAnInfinity) {
  EXPECT_THAT(slopes("exp_again", {0, -infinity, -infinity}, {1, 1, 0}), ElementsAre(1, 0, 0));
}

TEST_F(DualTest, ASolveOfASingularSystemIsNoNaN) {
  EXPECT_THAT(slopes("solved", {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}), ElementsAre(0, 0, 0));
}

TEST_F(DualTest, ADirectionMustFit) {
  Data data{{1, 2, 1, 1}, {{"x", {{1, 2, 1}, {1, 2}}}}, {}, {}};
  auto toError = [&](const Data &direction) {
    llvm::Expected<Derivative> results = interpretAlong(find("copy"), data, direction);
    return results ? "no error" : llvm::toString(results.takeError());
  };
  EXPECT_EQ(toError({{}, {{"x", {{1, 1, 1}, {1}}}}, {}, {}}),
            "the direction: input 'x' has shape [1, 1, 1], and [1, 2, 1] is expected");
  EXPECT_EQ(toError({{}, {}, {}, {{"S", {{1, 1}, {1}}}}}),
            "the direction changes the initial state 'S', but the data have none");
  EXPECT_EQ(toError({}), "no error");
}

} // namespace
