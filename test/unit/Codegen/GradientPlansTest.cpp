// The plans of gradients on a GPU, run by the tile interpreter, against dual numbers: in phases where a gradient has
// them, and one CTA for each head of each sequence.
#include "Analysis/Crowd.h"
#include "Check/GradientStages.h"
#include "Compile/CUDAKernel.h"
#include "Compile/GradientPrograms.h"
#include "Compile/Starts.h"
#include "Judging.h"

using namespace recur;

namespace {

class GradientPlans : public ::testing::TestWithParam<std::string> {};

void expectWhatDualNumbersSay(const std::string &example, llvm::StringRef name, DataTypes types, Dims dims,
                              int64_t chunk = 16) {
  auto spec = openExample(example, dims);
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = types;
  pipeline.chunk = chunk;
  auto stage = llvm::find_if(check::getGradientStages(), [&](const auto &stage) { return stage.name == name; });
  auto prepared = stage->prepare(recurrence, pipeline);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  bool shares = llvm::any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); });
  for (int64_t tokens : {0, 1, 37}) {
    auto drawn = check::makeJudgedGradient(recurrence, {1, tokens, 2, shares ? 1 : 2}, tokens + 3,
                                           tokens == 37 ? check::getHardDifficulty() : data::Difficulty(), types);
    ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
    if (drawn->largest > *prepared->largest)
      continue;
    auto gradient = prepared->run(drawn->data, drawn->cotangents);
    ASSERT_TRUE(bool(gradient)) << llvm::toString(gradient.takeError());
    auto comparison = check::compareGradient(recurrence, *prepared, *drawn, *gradient);
    ASSERT_TRUE(bool(comparison)) << llvm::toString(comparison.takeError());
    EXPECT_LE(comparison->error, comparison->limit) << "along " << comparison->array << ", T = " << tokens;
  }
}

TEST_P(GradientPlans, InPhasesAreWhatDualNumbersSay) {
  expectWhatDualNumbersSay(GetParam(), "gradient tile", DataType::F32, {20, 12});
}

/// Whose chains have products of rounded factors, in other forms.
TEST_P(GradientPlans, OfSixteenBitsAreWhatDualNumbersSay) {
  expectWhatDualNumbersSay(GetParam(), "gradient tile", DataType::BF16, {32, 16});
}

TEST_P(GradientPlans, OfOneCTAAreWhatDualNumbersSay) {
  expectWhatDualNumbersSay(GetParam(), "gradient tile plain", DataType::F32, {20, 12});
}

/// Where room is short, a decay of which nothing but the total is taken is loaded late: its scan waits for that.
TEST(GradientRoom, ScansWaitForTheirLoads) {
  expectWhatDualNumbersSay(RECUR_SOURCE_DIR "/examples/pkda.recur", "gradient tile", DataType::F32, {32, 32},
                           /*chunk=*/64);
}

/// Cotangents of decays read rows that other ops read before them or behind them, as room is: a second CTA has some.
TEST(GradientRoom, RowsAreReadInTheOrderThatLeavesRoom) {
  const char *example = RECUR_SOURCE_DIR "/examples/pkda.recur";
  auto spec = openExample(example, {128, 128});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = DataType::BF16;
  pipeline.chunk = 16;
  auto programs = compile::makeKernelGradients(recurrence, compile::completeGradients(recurrence, pipeline));
  ASSERT_TRUE(bool(programs)) << llvm::toString(programs.takeError());
  auto kernels = plan::Search(programs->gradient, pipeline).find();
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  ASSERT_TRUE(kernels->phases);
  EXPECT_EQ(kernels->plan.workspaceBytes, 0);
  for (const tile::Launch &launch : kernels->plan.launches)
    if (launch.chunksAreApart)
      EXPECT_GE(analysis::countCTAs(*pipeline.target.gpu, launch.sharedBytes), 2) << launch.symbol;
  expectWhatDualNumbersSay(example, "gradient tile", DataType::BF16, {128, 128}, /*chunk=*/16);
}

/// How far off each gradient of 16 bits may be: those of rows that come rounded, and of numbers of the tokens.
void expectSmallErrors(llvm::StringRef example, llvm::StringRef types, const data::Difficulty &difficulty) {
  auto spec = openExample((RECUR_SOURCE_DIR "/examples/" + example + ".recur").str(), {128, 128});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = llvm::cantFail(parseDataTypes(types));
  auto run = [&](llvm::StringRef name, const check::JudgedGradient &drawn) {
    auto stage = llvm::find_if(check::getGradientStages(), [&](const auto &stage) { return stage.name == name; });
    auto prepared = llvm::cantFail(stage->prepare(recurrence, pipeline));
    return llvm::cantFail(prepared.run(drawn.data, drawn.cotangents));
  };
  auto drawn = check::makeJudgedGradient(recurrence, {1, 200, 1, 1}, /*seed=*/1, difficulty, pipeline.dataTypes);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  data::Data want = run("chunk gradient", *drawn), got = run("gradient tile rounded", *drawn);
  for (const auto &[name, array] : want.inputs) {
    bool isOfNumbers = array.shape.size() == 3;
    EXPECT_LE(data::relativeRms(got.inputs.at(name), array), isOfNumbers ? 5e-3 : 4e-3) << name;
  }
}

/// Keys that are nearly alike, and nothing that decays: what a gain multiplies is a small difference of large sums.
TEST(GradientErrors, OfKeysThatAreAlike) {
  data::Difficulty difficulty;
  difficulty.correlation = 0.9;
  expectSmallErrors("delta_net", "bf16,beta=f32", difficulty);
}

TEST(GradientErrors, OfLargeGainsUnderWeakGates) {
  data::Difficulty difficulty;
  difficulty.steepestGate = 0.1;
  difficulty.largestGain = 2;
  expectSmallErrors("gated_delta_net", "bf16,beta=f32,g=f32", difficulty);
}

INSTANTIATE_TEST_SUITE_P(All, GradientPlans, ::testing::ValuesIn(test::listExamples()), nameOf);

} // namespace
