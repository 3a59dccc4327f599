// Derivatives by dual numbers: of every op and of whole recurrences against differences of values, and at corners.
#include "RunDGPS.h"
#include "fmt/format.h"
#include <random>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using ::testing::ElementsAre;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class DualTest : public DGPSTest {
protected:
  Derivative runAlong(const std::string &text, const Data &data, const Data &direction) {
    llvm::Expected<Derivative> results = interpretAlong(parse(text), data, direction);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return std::move(*results);
  }

  /// One op on vectors %a and %b of one token: the slopes of its result where `a` and `b` change as said.
  std::vector<double> slopes(const std::string &op, std::vector<double> a, std::vector<double> slopeA,
                             std::vector<double> b = {0}, std::vector<double> slopeB = {0}) {
    auto array = [](std::vector<double> values) { return Array{{1, 1, 1, int64_t(values.size())}, values}; };
    std::string text = fmt::format("dgps.recurrence @op {{}} {{\n%a = dgps.input \"a\" : <{}>\n"
                                   "%b = dgps.input \"b\" : <{}>\n{}\n}}",
                                   a.size(), b.size(), op);
    Data data{{1, 1, 1, 1}, {{"a", array(a)}, {"b", array(b)}}, {}, {}};
    Data direction{{1, 1, 1, 1}, {{"a", array(slopeA)}, {"b", array(slopeB)}}, {}, {}};
    Derivative along = runAlong(text, data, direction);
    EXPECT_EQ(run(text, data).outputs.at("r").values, along.values.outputs.at("r").values);
    return along.slopes.outputs.at("r").values;
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
  void expectSlopesOfDifferences(const std::string &text, const Sizes &sizes) {
    dgps::RecurrenceOp recurrence = parse(text);
    Data data = draw(recurrence, sizes, 1), direction = draw(recurrence, sizes, 2);
    Derivative along = runAlong(text, data, direction);
    constexpr double length = 1e-5;
    Results above = run(text, shift(data, direction, length)), below = run(text, shift(data, direction, -length));
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

TEST_F(DualTest, EveryFunctionHasTheSlopeOfADifference) {
  for (const char *function :
       {"neg", "exp", "expm1", "log", "sqrt", "abs", "sigmoid", "sin", "cos", "tanh", "softplus", "elu"}) {
    SCOPED_TRACE(function);
    expectSlopesOfDifferences(
        fmt::format(R"(dgps.recurrence @op {{}} {{
      %a = dgps.input "a" : <5>
      %r = dgps.{0} %a : <5>
      dgps.output "r" %r : <5>
      %half = dgps.constant 5.000000e-01 : <scalar>
      %below = dgps.sub %half, %a : <scalar>, <5>
      %square = dgps.mul %below, %below : <5>, <5>
      %positive = dgps.add %square, %half : <5>, <scalar>
      %s = dgps.{0} %{1} : <5>
      dgps.output "s" %s : <5>
    }})",
                    function, llvm::is_contained({"log", "sqrt"}, llvm::StringRef(function)) ? "positive" : "below"),
        {1, 3, 1, 1});
  }
}

TEST_F(DualTest, EveryOpOfTwoOperandsHasTheSlopeOfADifference) {
  for (const char *op :
       {"add %a, %b : <3>, <3>", "sub %a, %b : <3>, <3>", "mul %c, %b : <scalar>, <3>", "div %a, %c : <3>, <scalar>",
        "max %a, %b : <3>, <3>", "min %a, %b : <3>, <3>", "matvec %M, %a : <3x3>, <3>", "vecmat %a, %M : <3>, <3x3>",
        "softmax %a : <3>", "extract %M[1] : <3x3>", "cg %M, %a ridge %b iterations 40 : <3x3>, <3>, <3>"}) {
    SCOPED_TRACE(op);
    std::string text = fmt::format(R"(dgps.recurrence @op {{}} {{
      %a = dgps.input "a" : <3>
      %b = dgps.input "b" : <3>
      %c = dgps.param "c" : <scalar>
      %aa = dgps.outer %a, %a : <3>, <3>
      %bb = dgps.outer %b, %b : <3>, <3>
      %M = dgps.add %aa, %bb : <3x3>, <3x3>
      %r = dgps.{0}
      %d = dgps.dot %r, %a : <3>
      %s = dgps.sum %M : <3x3>
      %wide = dgps.broadcast %s : <3>
      %cols = dgps.scale_cols %M, %r : <3x3>, <3>
      %rows = dgps.scale_rows %wide, %cols : <3>, <3x3>
      dgps.output "d" %d : <scalar>
      dgps.output "rows" %rows : <3x3>
    }})",
                                   op);
    expectSlopesOfDifferences(text, {2, 2, 1, 1});
  }
}

TEST_F(DualTest, SlopesGoFromTokenToToken) {
  expectSlopesOfDifferences(R"(dgps.recurrence @delta {} {
    %k = dgps.input "k" shared : <4>
    %v = dgps.input "v" : <3>
    %g = dgps.input "g" : <4>
    %mu = dgps.param "mu" : <scalar>
    %S = dgps.state "S" : <3x4>
    %m = dgps.state "m" : <scalar>
    %negative = dgps.neg %g : <4>
    %decay = dgps.exp %negative : <4>
    %Sd = dgps.scale_cols %S, %decay : <3x4>, <4>
    %past = dgps.matvec %Sd, %k : <3x4>, <4>
    %new = dgps.sub %v, %past : <3>, <3>
    %gain = dgps.sigmoid %mu : <scalar>
    %u = dgps.mul %gain, %new : <scalar>, <3>
    %write = dgps.outer %u, %k : <3>, <4>
    %S1 = dgps.add %Sd, %write : <3x4>, <3x4>
    %sum = dgps.sum %v : <3>
    %moved = dgps.sub %m, %mu : <scalar>, <scalar>
    %m1 = dgps.max %moved, %sum : <scalar>, <scalar>
    %o = dgps.matvec %S1, %k : <3x4>, <4>
    %p = dgps.mul %m1, %o : <scalar>, <3>
    dgps.output "p" %p : <3>
    dgps.next %S, %S1 : <3x4>
    dgps.next %m, %m1 : <scalar>
  })",
                            {2, 7, 4, 2});
}

TEST_F(DualTest, CornersHaveTheUsualSubgradient) {
  auto unary = [](const std::string &function) {
    return "%r = dgps." + function + " %a : <3>\ndgps.output \"r\" %r : <3>";
  };
  EXPECT_THAT(slopes(unary("abs"), {0, 2, -2}, {1, 1, 1}), ElementsAre(0, 1, -1));
  EXPECT_THAT(slopes(unary("sqrt"), {0, 4, infinity}, {1, 1, 1}), ElementsAre(0, 0.25, 0));
  EXPECT_THAT(slopes(unary("softplus"), {0, 800, -800}, {1, 1, 1}), ElementsAre(0.5, 1, 0));
  EXPECT_THAT(slopes(unary("exp"), {0, -2000, -infinity}, {1, 1, 1}), ElementsAre(1, 0, 0));
  EXPECT_THAT(slopes(unary("tanh"), {0, 800, -infinity}, {1, 1, 1}), ElementsAre(1, 0, 0));
  EXPECT_THAT(slopes(unary("stop"), {0, 800, -1}, {1, 1, 1}), ElementsAre(0, 0, 0));
  // Equal operands share; a constant takes all, so that relu's slope at zero is zero, however it is written.
  EXPECT_THAT(
      slopes("%r = dgps.max %a, %b : <3>, <3>\ndgps.output \"r\" %r : <3>", {1, 0, 2}, {4, 4, 4}, {1, 1, 1}, {8, 8, 8}),
      ElementsAre(6, 8, 4));
  EXPECT_THAT(
      slopes("%r = dgps.min %a, %b : <3>, <3>\ndgps.output \"r\" %r : <3>", {1, 0, 2}, {4, 4, 4}, {1, 1, 1}, {8, 8, 8}),
      ElementsAre(6, 4, 8));
  for (const char *relu : {"%a, %zero : <3>, <scalar>", "%zero, %a : <scalar>, <3>"})
    EXPECT_THAT(slopes(fmt::format("%one = dgps.constant 1.000000e+00 : <scalar>\n"
                                   "%zero = dgps.sub %one, %one : <scalar>, <scalar>\n"
                                   "%r = dgps.max {}\ndgps.output \"r\" %r : <3>",
                                   relu),
                       {0, 1, -1}, {1, 1, 1}),
                ElementsAre(0, 1, 0));
}

TEST_F(DualTest, WhatDoesNotMoveAddsNothingBesideAnInfinity) {
  EXPECT_THAT(slopes("%two = dgps.constant 2.000000e+00 : <scalar>\n%x = dgps.mul %two, %a : <scalar>, <3>\n"
                     "%y = dgps.div %x, %two : <3>, <scalar>\n%r = dgps.exp %y : <3>\n"
                     "dgps.output \"r\" %r : <3>",
                     {0, -infinity, -infinity}, {1, 1, 0}),
              ElementsAre(1, 0, 0));
}

TEST_F(DualTest, ASolveOfASingularSystemIsNoNaN) {
  EXPECT_THAT(slopes("%zero = dgps.constant 0.000000e+00 : <scalar>\n%M = dgps.outer %b, %b : <2>, <2>\n"
                     "%r = dgps.cg %M, %a ridge %zero iterations 3 : <2x2>, <2>, <scalar>\ndgps.output \"r\" %r : <2>",
                     {0, 0}, {1, 1}, {0, 0}, {1, 1}),
              ElementsAre(0, 0));
}

TEST_F(DualTest, ADirectionMustFit) {
  const char *text = R"(dgps.recurrence @copy {} {
    %x = dgps.input "x" : <scalar>
    %S = dgps.state "S" : <scalar>
    dgps.output "o" %x : <scalar>
    dgps.next %S, %x : <scalar>
  })";
  Data data{{1, 2, 1, 1}, {{"x", {{1, 2, 1}, {1, 2}}}}, {}, {}};
  auto toError = [&](const Data &direction) {
    llvm::Expected<Derivative> results = interpretAlong(parse(text), data, direction);
    return results ? "no error" : llvm::toString(results.takeError());
  };
  EXPECT_EQ(toError({{}, {{"x", {{1, 1, 1}, {1}}}}, {}, {}}),
            "the direction: input 'x' has shape [1, 1, 1], and [1, 2, 1] is expected");
  EXPECT_EQ(toError({{}, {}, {}, {{"S", {{1, 1}, {1}}}}}),
            "the direction changes the initial state 'S', but the data have none");
  EXPECT_EQ(toError({}), "no error");
}

} // namespace
