// What random inputs look like: drawn by how the equations use them.
#include "Driver/RandomData.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace recur;
using namespace recur::driver;
using interpreter::Data;
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
  auto demands = findSignDemands(parse(R"(
    %g = dgps.input "g" : <4>
    %h = dgps.input "h" : <scalar>
    %free = dgps.input "free" : <scalar>
    %m = dgps.neg %h : <scalar>
    %a = dgps.exp %g : <4>
    %b = dgps.exp %m : <scalar>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("g", SignDemand::Negative), Pair("h", SignDemand::Positive)));
}

TEST_F(RandomDataTest, ADemandGoesThroughProductsOfKnownSign) {
  // -exp(l) * softplus(x) is negative as it is; softplus(x) * A is negative if A is.
  auto demands = findSignDemands(parse(R"(
    %x = dgps.input "x" : <scalar>
    %A = dgps.input "A" : <scalar>
    %s = dgps.softplus %x : <scalar>
    %p = dgps.mul %s, %A : <scalar>, <scalar>
    %a = dgps.exp %p : <scalar>
    %n = dgps.neg %s : <scalar>
    %b = dgps.exp %n : <scalar>)"));
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", SignDemand::Negative)));
}

TEST_F(RandomDataTest, ADivisorIsPositiveThroughItsState) {
  auto demands = findSignDemands(parse(R"(
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
  EXPECT_THAT(demands, UnorderedElementsAre(Pair("A", SignDemand::Positive), Pair("b", SignDemand::Positive),
                                            Pair("ridge", SignDemand::Positive)));
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
  EXPECT_THAT(findSignDemands(recurrence),
              UnorderedElementsAre(Pair("G", SignDemand::PositiveDefinite), Pair("b", SignDemand::Positive),
                                   Pair("ridge", SignDemand::Positive)));
  Array G = makeRandomData(recurrence, {1, 4, 1, 1}, 0).initial["G"];
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(G.values[4 * i], 0);
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(G.values[3 * i + j], G.values[3 * j + i]);
  }
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

TEST_F(RandomDataTest, TheSeedDecides) {
  dgps::RecurrenceOp recurrence = parse("%x = dgps.input \"x\" : <4>");
  auto draw = [&](uint64_t seed) { return makeRandomData(recurrence, {1, 8, 1, 1}, seed).inputs["x"].values; };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
  EXPECT_THAT(makeRandomData(recurrence, {1, 0, 1, 1}, 1).inputs["x"].values, IsEmpty());
}

} // namespace
