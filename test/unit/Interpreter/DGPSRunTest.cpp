// What the interpreter refuses, beyond what test/interpret/dgps-runs.mlir can write down; that has how it goes over
// tokens, sequences, heads and states.
#include "RunDGPS.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using ::testing::ElementsAre;

namespace {

class DGPSRun : public DGPSTest {
protected:
  DGPSRun() : DGPSTest("Runs.mlir") {}
};

TEST_F(DGPSRun, NoSequencesAndNoHeads) {
  Data data;
  data.sizes = {0, 3, 0, 0};
  data.inputs["x"] = {{0, 3, 0}, {}};
  data.params["p"] = {{0}, {}};
  Results results = run("running_sum", data);
  EXPECT_THAT(results.outputs["o"].shape, ElementsAre(0, 3, 0));
  EXPECT_THAT(results.final["A"].shape, ElementsAre(0, 0));
}

TEST_F(DGPSRun, ErrorsSayWhatDoesNotFit) {
  Data data;
  data.sizes = {1, 2, 1, 1};
  EXPECT_EQ(runToError("running_sum", data), "input 'x' is missing");
  data.inputs["x"] = {{1, 2, 1}, {1, 2}};
  EXPECT_EQ(runToError("running_sum", data), "param 'p' is missing");
  data.params["p"] = {{2}, {1, 2}};
  EXPECT_EQ(runToError("running_sum", data), "param 'p' has shape [2], and [1] is expected");
  data.params["p"] = {{1}, {1, 2}};
  EXPECT_EQ(runToError("running_sum", data), "param 'p' has 2 values, which is not what its shape [1] holds");
  data.params["p"] = {{1}, {1}};
  data.initial["S"] = {{1}, {1}};
  EXPECT_EQ(runToError("running_sum", data), "initial 'S' belongs to nothing in recurrence 'running_sum'");
  data.initial.clear();
  data.sizes.groups = 0;
  EXPECT_EQ(runToError("running_sum", data), "Hq, which is 0, does not divide H, which is 1");
  data.sizes = {-1, 2, 1, 1};
  EXPECT_EQ(runToError("running_sum", data), "the sizes B, T, H and Hq cannot be negative");
}

TEST_F(DGPSRun, WhatCannotFitInMemoryIsRefused) {
  Data data;
  data.sizes = {1, 0, 1, 1};
  EXPECT_EQ(runToError("big_value", data), "the values of one token need more than 8 GiB; give smaller dims");
  data.sizes = {1 << 30, 1 << 30, 1 << 30, 1};
  EXPECT_EQ(runToError("many_values", data),
            "output 'o' of shape [1073741824, 1073741824, 1073741824] needs more than 8 GiB");
}

// The verifier refuses such IR, so it only comes from a compiler that is wrong: an error, not a crash.
TEST_F(DGPSRun, AnOpWithoutAMeaningIsAnError) {
  mlir::MLIRContext context;
  context.loadDialect<dgps::DGPSDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "dgps.recurrence @outside {} { dgps.recurrence @inside {} { %a = dgps.constant 1.0 : <scalar> } }",
      mlir::ParserConfig(&context, /*verifyAfterParse=*/false));
  llvm::Expected<Results> results = interpret(*module->getOps<dgps::RecurrenceOp>().begin(), Data());
  EXPECT_EQ(llvm::toString(results.takeError()), "op 'dgps.recurrence' has no meaning for one token");
}

} // namespace
