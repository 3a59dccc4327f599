// What random inputs look like: drawn by how the equations use them.
#include "Check/RandomData.h"
#include "../IRFile.h"
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
  dgps::RecurrenceOp find(llvm::StringRef name) const { return file.find<dgps::RecurrenceOp>(name); }

private:
  const test::IRFile<dgps::DGPSDialect> file{"Check/RandomData.mlir"};
};

TEST_F(RandomDataTest, ALogDecayIsNegative) {
  auto demands = findDemands(find("log_decays"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("g", Fill::Negative), Pair("h", Fill::Positive)));
}

TEST_F(RandomDataTest, ADemandGoesThroughProductsOfKnownSign) {
  auto demands = findDemands(find("signs"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", Fill::Negative), Pair("x", Fill::Logit)));
}

TEST_F(RandomDataTest, ADivisorIsPositiveThroughItsState) {
  auto demands = findDemands(find("divisor"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", Fill::Positive), Pair("b", Fill::Positive),
                                            Pair("ridge", Fill::Positive)));
}

TEST_F(RandomDataTest, WhatConjugateGradientsSolveWithIsPositiveDefinite) {
  dgps::RecurrenceOp recurrence = find("conjugate_gradients");
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
  auto demands = findDemands(find("quadratic_form"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("P", Fill::PositiveDefinite)));
}

TEST_F(RandomDataTest, WhatADeltaStateErasesWithIsAGain) {
  EXPECT_THAT(findDemands(find("gated_delta_rule")),
              UnorderedElementsAre(Pair("a", Fill::Gain), Pair("b", Fill::Gain), Pair("k", Fill::Key)));
}

TEST_F(RandomDataTest, KeysHaveUnitLengthAndGainsTheirRange) {
  dgps::RecurrenceOp recurrence = find("gated_delta_rule");
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
  dgps::RecurrenceOp recurrence = find("wild");
  auto drawn = makeJudgedData(recurrence, {1, 50, 1, 1}, 1, {.largest = 4});
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  EXPECT_GT(drawn->redraws, 0u);
  EXPECT_LE(drawn->largest, 4);
  EXPECT_LE(drawn->condition, tameCondition);
  EXPECT_EQ(drawn->scaleLimit(1e-5), 1e-5);
}

TEST_F(RandomDataTest, NumbersThatCannotBeTamedSayHowWildTheyAre) {
  dgps::RecurrenceOp recurrence = find("untamable");
  auto drawn = makeJudgedData(recurrence, {1, 2000, 1, 1}, 1);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  EXPECT_TRUE(std::isinf(drawn->largest));
}

TEST_F(RandomDataTest, NumbersKeepTheirSigns) {
  dgps::RecurrenceOp recurrence = find("shared_values");
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
  dgps::RecurrenceOp recurrence = find("one_input");
  auto draw = [&](uint64_t seed) { return makeRandomData(recurrence, {1, 8, 1, 1}, seed).inputs["x"].values; };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_THAT(makeRandomData(recurrence, {1, 0, 1, 1}, 1).inputs["x"].values, IsEmpty());
}

} // namespace
