// What random inputs look like: drawn by how the equations use them.
#include "Check/RandomData.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace recur;
using namespace recur::check;
using data::Data;
using data::Difficulty;
using data::Fill;
using ::testing::Each;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

namespace {

class RandomDataTest : public ::testing::Test {
protected:
  RandomDataTest() { context.loadDialect<dgps::DGPSDialect>(); }

  dgps::RecurrenceOp parse(const std::string &body) {
    module = mlir::parseSourceString<mlir::ModuleOp>("dgps.recurrence @r {} {\n" + body + "\n}", &context);
    EXPECT_TRUE(module) << body;
    return *module->getOps<dgps::RecurrenceOp>().begin();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_F(RandomDataTest, ALogDecayIsNegative) {
  auto demands = findDemands(parse(R"(
    %g = dgps.input "g" : <4>
    %h = dgps.input "h" : <scalar>
    %free = dgps.input "free" : <scalar>
    %m = dgps.neg %h : <scalar>
    %a = dgps.exp %g : <4>
    %b = dgps.exp %m : <scalar>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("g", Fill::Negative), Pair("h", Fill::Positive)));
}

TEST_F(RandomDataTest, ADemandGoesThroughProductsOfKnownSign) {
  // -exp(l) * softplus(x) is negative as it is; softplus(x) * A is negative if A is.
  auto demands = findDemands(parse(R"(
    %x = dgps.input "x" : <scalar>
    %A = dgps.input "A" : <scalar>
    %s = dgps.softplus %x : <scalar>
    %p = dgps.mul %s, %A : <scalar>, <scalar>
    %a = dgps.exp %p : <scalar>
    %n = dgps.neg %s : <scalar>
    %b = dgps.exp %n : <scalar>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", Fill::Negative), Pair("x", Fill::Logit)));
}

TEST_F(RandomDataTest, ADivisorIsPositiveThroughItsState) {
  auto demands = findDemands(parse(R"(
    %k = dgps.input "k" : <4>
    %b = dgps.input "b" : <scalar>
    %ridge = dgps.param "ridge" : <4>
    %A = dgps.state "A" : <4>
    %kk = dgps.mul %k, %k : <4>, <4>
    %bkk = dgps.mul %b, %kk : <scalar>, <4>
    %A1 = dgps.add %A, %bkk : <4>, <4>
    %d = dgps.add %A1, %ridge : <4>, <4>
    %o = dgps.div %k, %d : <4>, <4>
    dgps.output "o" %o : <4>
    dgps.next %A, %A1 : <4>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", Fill::Positive), Pair("b", Fill::Positive),
                                            Pair("ridge", Fill::Positive)));
}

TEST_F(RandomDataTest, WhatConjugateGradientsSolveWithIsPositiveDefinite) {
  dgps::RecurrenceOp recurrence = parse(R"(
    %k = dgps.input "k" : <3>
    %b = dgps.input "b" : <scalar>
    %ridge = dgps.param "ridge" : <scalar>
    %G = dgps.state "G" : <3x3>
    %bk = dgps.mul %b, %k : <scalar>, <3>
    %kk = dgps.outer %bk, %k : <3>, <3>
    %G1 = dgps.add %G, %kk : <3x3>, <3x3>
    %y = dgps.cg %G1, %k ridge %ridge iterations 3 : <3x3>, <3>, <scalar>
    dgps.output "y" %y : <3>
    dgps.next %G, %G1 : <3x3>)");
  EXPECT_THAT(findDemands(recurrence),
              UnorderedElementsAre(Pair("G", Fill::PositiveDefinite), Pair("b", Fill::Positive), Pair("k", Fill::Key),
                                   Pair("ridge", Fill::Positive)));
  Array G = makeRandomData(recurrence, {1, 4, 1, 1}, 0).initial["G"];
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(G.values[4 * i], 0);
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(G.values[3 * i + j], G.values[3 * j + i]);
  }
}

TEST_F(RandomDataTest, AMatrixWhoseQuadraticFormIsDividedByIsPositiveDefinite) {
  auto demands = findDemands(parse(R"(
    %k = dgps.input "k" : <3>
    %one = dgps.constant 1.0 : <scalar>
    %P = dgps.state "P" : <3x3>
    %u = dgps.matvec %P, %k : <3x3>, <3>
    %ku = dgps.dot %k, %u : <3>
    %d = dgps.add %one, %ku : <scalar>, <scalar>
    %uu = dgps.outer %u, %u : <3>, <3>
    %w = dgps.div %uu, %d : <3x3>, <scalar>
    %P1 = dgps.sub %P, %w : <3x3>, <3x3>
    dgps.output "u" %u : <3>
    dgps.next %P, %P1 : <3x3>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("P", Fill::PositiveDefinite)));
}

static constexpr const char *gatedDeltaRule = R"(
    %k = dgps.input "k" : <4>
    %v = dgps.input "v" : <3>
    %a = dgps.input "a" : <4>
    %b = dgps.input "b" : <scalar>
    %S = dgps.state "S" : <3x4>
    %r = dgps.matvec %S, %k : <3x4>, <4>
    %e = dgps.sub %v, %r : <3>, <3>
    %u = dgps.mul %b, %e : <scalar>, <3>
    %w = dgps.mul %a, %k : <4>, <4>
    %t = dgps.outer %u, %w : <3>, <4>
    %S1 = dgps.add %S, %t : <3x4>, <3x4>
    dgps.output "o" %r : <3>
    dgps.next %S, %S1 : <3x4>)";

TEST_F(RandomDataTest, WhatADeltaStateErasesWithIsAGain) {
  EXPECT_THAT(findDemands(parse(gatedDeltaRule)),
              UnorderedElementsAre(Pair("a", Fill::Gain), Pair("b", Fill::Gain), Pair("k", Fill::Key)));
}

TEST_F(RandomDataTest, KeysHaveUnitLengthAndGainsTheirRange) {
  dgps::RecurrenceOp recurrence = parse(gatedDeltaRule);
  auto meanOfKeys = [&](const Difficulty &difficulty) {
    Data data = makeRandomData(recurrence, {1, 200, 1, 1}, 5, difficulty);
    const std::vector<double> &k = data.inputs["k"].values;
    std::vector<double> mean(4);
    for (size_t row = 0; row < k.size(); row += 4) {
      double square = 0;
      for (int i = 0; i < 4; ++i) {
        square += k[row + i] * k[row + i];
        mean[i] += k[row + i] / 200;
      }
      EXPECT_NEAR(square, 1, 1e-12);
    }
    double largest = *std::max_element(data.inputs["b"].values.begin(), data.inputs["b"].values.end());
    EXPECT_THAT(data.inputs["b"].values, Each(Gt(0)));
    EXPECT_LE(largest, difficulty.largestGain);
    EXPECT_GE(largest, 0.9 * difficulty.largestGain);
    return std::sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2] + mean[3] * mean[3]);
  };
  EXPECT_LE(meanOfKeys({}), 0.2);
  EXPECT_GE(meanOfKeys({.largestGain = 2, .correlation = 0.9}), 0.7);
}

TEST_F(RandomDataTest, WildDrawsAreDrawnAgainTamer) {
  // Drawn as it is, the state doubles or more at every other token.
  dgps::RecurrenceOp recurrence = parse(R"(
    %x = dgps.input "x" : <scalar>
    %S = dgps.state "S" : <scalar>
    %two = dgps.constant 2.0 : <scalar>
    %a = dgps.mul %two, %x : <scalar>, <scalar>
    %S1 = dgps.mul %a, %S : <scalar>, <scalar>
    %S2 = dgps.add %S1, %x : <scalar>, <scalar>
    dgps.output "o" %S2 : <scalar>
    dgps.next %S, %S2 : <scalar>)");
  auto drawn = makeJudgedData(recurrence, {1, 50, 1, 1}, 1, {.largest = 4});
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  EXPECT_GT(drawn->redraws, 0u);
  EXPECT_LE(drawn->largest, 4);
  EXPECT_LE(drawn->condition, tameCondition);
  EXPECT_EQ(drawn->scaleLimit(1e-5), 1e-5);
}

TEST_F(RandomDataTest, NumbersThatCannotBeTamedSayHowWildTheyAre) {
  dgps::RecurrenceOp recurrence = parse(R"(
    %S = dgps.state "S" : <scalar>
    %two = dgps.constant 2.0 : <scalar>
    %S1 = dgps.mul %two, %S : <scalar>, <scalar>
    dgps.output "o" %S1 : <scalar>
    dgps.next %S, %S1 : <scalar>)");
  auto drawn = makeJudgedData(recurrence, {1, 2000, 1, 1}, 1);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  EXPECT_TRUE(std::isinf(drawn->largest));
}

TEST_F(RandomDataTest, NumbersKeepTheirSigns) {
  dgps::RecurrenceOp recurrence = parse(R"(
    %g = dgps.input "g" : <4>
    %r = dgps.input "r" : <scalar>
    %v = dgps.input "v" shared : <4>
    %a = dgps.exp %g : <4>
    %s = dgps.sqrt %r : <scalar>)");
  Data data = makeRandomData(recurrence, {2, 100, 4, 2}, 3);
  EXPECT_THAT(data.inputs["g"].values, Each(Lt(0)));
  EXPECT_THAT(data.inputs["r"].values, Each(Gt(0)));
  EXPECT_THAT(data.inputs["v"].values, ::testing::Contains(Gt(0)));
  EXPECT_THAT(data.inputs["v"].values, ::testing::Contains(Lt(0)));
  EXPECT_THAT(data.inputs["v"].shape, ::testing::ElementsAre(2, 100, 2, 4));
  // A row of a vector has about unit length.
  double square = 0;
  for (double value : data.inputs["v"].values)
    square += value * value;
  EXPECT_NEAR(square / 400, 1, 0.1);
}

TEST_F(RandomDataTest, ExtremesAreHitExactlyAsOftenAsAsked) {
  data::ArrayDrawer drawer(1, {.steepestGate = 20, .largestGain = 2, .extremes = 0.5});
  auto countOf = [&](Fill fill, double extreme) {
    std::vector<double> values = drawer.draw(data::Role::Input, {1, 4000, 1, 1}, {}, fill).values;
    return std::count(values.begin(), values.end(), extreme) / 4000.0;
  };
  for (auto [fill, extreme, share] : {std::tuple(Fill::Negative, 0.0, 0.25),
                                      {Fill::Negative, -20.0, 0.25},
                                      {Fill::Gain, 0.0, 0.25},
                                      {Fill::Gain, 2.0, 0.25},
                                      {Fill::StrongGain, 2.0, 0.25},
                                      {Fill::Decay, 0.0, 1 / 6.0},
                                      {Fill::Decay, -1.0, 1 / 6.0},
                                      {Fill::Normal, 0.0, 0.0},
                                      {Fill::Zero, 0.0, 1.0}})
    EXPECT_NEAR(countOf(fill, extreme), share, 0.03) << int(fill) << " " << extreme;
}

TEST_F(RandomDataTest, TheSeedDecides) {
  dgps::RecurrenceOp recurrence = parse("%x = dgps.input \"x\" : <4>");
  auto draw = [&](uint64_t seed) { return makeRandomData(recurrence, {1, 8, 1, 1}, seed).inputs["x"].values; };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_THAT(makeRandomData(recurrence, {1, 0, 1, 1}, 1).inputs["x"].values, IsEmpty());
}

} // namespace
