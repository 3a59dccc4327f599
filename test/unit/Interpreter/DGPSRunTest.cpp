// How the interpreter goes over sequences, tokens, heads, groups and states.
#include "RunDGPS.h"

using namespace recur;
using namespace recur::interpreter;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

using DGPSRun = DGPSTest;

// o = the sum of x so far, times the head's p.
const char *const runningSum = R"(
  dgps.recurrence @running_sum {} {
    %x = dgps.input "x" : <scalar>
    %p = dgps.param "p" : <scalar>
    %A = dgps.state "A" : <scalar>
    %A1 = dgps.add %A, %x : <scalar>, <scalar>
    %o = dgps.mul %p, %A1 : <scalar>, <scalar>
    dgps.output "o" %o : <scalar>
    dgps.next %A, %A1 : <scalar>
  })";

const char *const sharedCopy = R"(
  dgps.recurrence @shared_copy {} {
    %q = dgps.input "q" shared : <scalar>
    dgps.output "o" %q : <scalar>
  })";

TEST_F(DGPSRun, EachSequenceAndHeadHasItsOwnState) {
  Data data;
  data.sizes = {2, 2, 2, 2};
  data.inputs["x"] = {{2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40}};
  data.params["p"] = {{2}, {1, -1}};
  Results results = run(runningSum, data);
  EXPECT_THAT(results.outputs["o"].values, ElementsAre(1, -10, 3, -30, 3, -30, 7, -70));
  EXPECT_THAT(results.outputs["o"].shape, ElementsAre(2, 2, 2));
  EXPECT_THAT(results.final["A"].values, ElementsAre(3, 30, 7, 70));
  EXPECT_THAT(results.final["A"].shape, ElementsAre(2, 2));
}

TEST_F(DGPSRun, AnInitialStateIsWhereItStarts) {
  Data data;
  data.sizes = {1, 1, 2, 2};
  data.inputs["x"] = {{1, 1, 2}, {1, 10}};
  data.params["p"] = {{2}, {1, 1}};
  data.initial["A"] = {{1, 2}, {100, 1000}};
  EXPECT_THAT(run(runningSum, data).final["A"].values, ElementsAre(101, 1010));
}

TEST_F(DGPSRun, WithoutTokensTheFinalStateIsTheInitialOne) {
  Data data;
  data.sizes = {1, 0, 2, 2};
  data.inputs["x"] = {{1, 0, 2}, {}};
  data.params["p"] = {{2}, {1, 1}};
  data.initial["A"] = {{1, 2}, {100, 1000}};
  Results results = run(runningSum, data);
  EXPECT_THAT(results.outputs["o"].shape, ElementsAre(1, 0, 2));
  EXPECT_THAT(results.outputs["o"].values, IsEmpty());
  EXPECT_THAT(results.final["A"].values, ElementsAre(100, 1000));
}

TEST_F(DGPSRun, NoSequencesAndNoHeads) {
  Data data;
  data.sizes = {0, 3, 0, 0};
  data.inputs["x"] = {{0, 3, 0}, {}};
  data.params["p"] = {{0}, {}};
  Results results = run(runningSum, data);
  EXPECT_THAT(results.outputs["o"].shape, ElementsAre(0, 3, 0));
  EXPECT_THAT(results.final["A"].shape, ElementsAre(0, 0));
}

TEST_F(DGPSRun, HeadsOfAGroupShareItsInput) {
  Data data;
  data.sizes = {1, 2, 4, 2};
  data.inputs["q"] = {{1, 2, 2}, {1, 2, 3, 4}};
  EXPECT_THAT(run(sharedCopy, data).outputs["o"].values, ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
}

TEST_F(DGPSRun, StatesChangeAtOnce) {
  Data data;
  data.sizes = {1, 3, 1, 1};
  data.inputs["x"] = {{1, 3, 1}, {0, 0, 0}};
  data.initial["A"] = {{1, 1}, {1}};
  data.initial["B"] = {{1, 1}, {2}};
  Results results = run(R"(
    dgps.recurrence @swap {} {
      %x = dgps.input "x" : <scalar>
      %A = dgps.state "A" : <scalar>
      %B = dgps.state "B" : <scalar>
      dgps.output "a" %A : <scalar>
      dgps.output "b" %B : <scalar>
      dgps.next %A, %B : <scalar>
      dgps.next %B, %A : <scalar>
    })",
                        data);
  EXPECT_THAT(results.outputs["a"].values, ElementsAre(1, 2, 1));
  EXPECT_THAT(results.outputs["b"].values, ElementsAre(2, 1, 2));
  EXPECT_THAT(results.final["A"].values, ElementsAre(2));
}

TEST_F(DGPSRun, AnOutputBeforeTheUpdateReadsTheStateAsItWas) {
  Data data;
  data.sizes = {1, 2, 1, 1};
  data.inputs["v"] = {{1, 2, 1, 2}, {1, 2, 3, 4}};
  data.inputs["k"] = {{1, 2, 1, 3}, {1, 0, 0, 0, 1, 0}};
  Results results = run(R"(
    dgps.recurrence @attention {K = 3 : i64, V = 2 : i64} {
      %v = dgps.input "v" : <2>
      %k = dgps.input "k" : <3>
      %S = dgps.state "S" : <2x3>
      %before = dgps.matvec %S, %k : <2x3>, <3>
      dgps.output "before" %before : <2>
      %w = dgps.outer %v, %k : <2>, <3>
      %S1 = dgps.add %S, %w : <2x3>, <2x3>
      %ones = dgps.constant 1.0 : <3>
      %after = dgps.matvec %S1, %ones : <2x3>, <3>
      dgps.output "after" %after : <2>
      dgps.next %S, %S1 : <2x3>
    })",
                        data);
  EXPECT_THAT(results.outputs["before"].values, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(results.outputs["after"].values, ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(results.final["S"].values, ElementsAre(1, 3, 0, 2, 4, 0));
  EXPECT_THAT(results.final["S"].shape, ElementsAre(1, 1, 2, 3));
}

TEST_F(DGPSRun, ErrorsSayWhatDoesNotFit) {
  Data data;
  data.sizes = {1, 2, 1, 1};
  EXPECT_EQ(runToError(runningSum, data), "input 'x' is missing");
  data.inputs["x"] = {{1, 2, 1}, {1, 2}};
  EXPECT_EQ(runToError(runningSum, data), "param 'p' is missing");
  data.params["p"] = {{2}, {1, 2}};
  EXPECT_EQ(runToError(runningSum, data), "param 'p' has shape [2], and [1] is expected");
  data.params["p"] = {{1}, {1, 2}};
  EXPECT_EQ(runToError(runningSum, data), "param 'p' has 2 values, which is not what its shape [1] holds");
  data.params["p"] = {{1}, {1}};
  data.initial["S"] = {{1}, {1}};
  EXPECT_EQ(runToError(runningSum, data), "initial 'S' belongs to nothing in recurrence 'running_sum'");
  data.initial.clear();
  data.sizes.groups = 0;
  EXPECT_EQ(runToError(runningSum, data), "Hq, which is 0, does not divide H, which is 1");
  data.sizes = {-1, 2, 1, 1};
  EXPECT_EQ(runToError(runningSum, data), "the sizes B, T, H and Hq cannot be negative");
}

TEST_F(DGPSRun, WhatCannotFitInMemoryIsRefused) {
  Data data;
  data.sizes = {1, 0, 1, 1};
  EXPECT_EQ(runToError("dgps.recurrence @big {} { %a = dgps.constant 1.0 : <1000000x1000000> }", data),
            "the values of one token need more than 8 GiB; give smaller dims");
  data.sizes = {1 << 30, 1 << 30, 1 << 30, 1};
  EXPECT_EQ(
      runToError("dgps.recurrence @big {} { %a = dgps.constant 1.0 : <scalar>\n dgps.output \"o\" %a : <scalar> }",
                 data),
      "output 'o' of shape [1073741824, 1073741824, 1073741824] needs more than 8 GiB");
}

// The verifier refuses such IR, so it only comes from a compiler that is wrong: an error, not a crash.
TEST_F(DGPSRun, AnOpWithoutAMeaningIsAnError) {
  module = mlir::parseSourceString<mlir::ModuleOp>(
      "dgps.recurrence @outside {} { dgps.recurrence @inside {} { %a = dgps.constant 1.0 : <scalar> } }",
      mlir::ParserConfig(&context, /*verifyAfterParse=*/false));
  llvm::Expected<Results> results = interpret(*module->getOps<dgps::RecurrenceOp>().begin(), Data());
  EXPECT_EQ(llvm::toString(results.takeError()), "op 'dgps.recurrence' has no meaning for one token");
}

} // namespace
