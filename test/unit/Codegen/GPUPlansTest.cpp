// The plans of every GPU that is not Hopper's own, with its limits, run by the tile interpreter against the
// token-by-token one.
#include "../GPUFamilies.h"
#include "Check/RecurrenceCheck.h"
#include "Compile/CUDAKernel.h"
#include "Judging.h"

using namespace recur;

namespace {

class GPUPlans : public ::testing::TestWithParam<test::NumberedExample> {
protected:
  void expectWhatTheInterpreterSays(DataType type, Dims dims, std::vector<std::string> stages) {
    auto specification = openExample(GetParam().path, dims);
    ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
    for (const GPUProfile *gpu : test::listFamilies(GetParam())) {
      PipelineOptions pipeline;
      pipeline.target = *findTarget(gpu->name);
      pipeline.dataTypes = type;
      check::CheckOptions options;
      options.tokens = {0, 1, 70};
      options.compiles = true;
      options.only = stages;
      auto report =
          check::checkRecurrence((*specification)->getRecurrences().front(), options, pipeline, [](auto &) {});
      ASSERT_TRUE(bool(report)) << gpu->name.str() << ": " << llvm::toString(report.takeError());
      EXPECT_FALSE(report->stages.empty()) << gpu->name.str();
      for (const check::StageReport &stage : report->stages)
        EXPECT_TRUE(stage.passes()) << gpu->name.str() << ", " << stage.name.str() << ": " << stage.error << " above "
                                    << stage.limit << " at T = " << stage.worstTokens << " in " << stage.worstArray;
    }
  }
};

/// In an ordinary run each example has one type of data: of 16 bits, whose chains have their states in registers where
/// there is room, or float32.
TEST_P(GPUPlans, AreWhatTheInterpreterSays) {
  if (test::takesTurn(GetParam(), 0, 2))
    expectWhatTheInterpreterSays(DataType::BF16, {64, 64}, {"tile", "tile step", "tile segments"});
  if (test::takesTurn(GetParam(), 1, 2))
    expectWhatTheInterpreterSays(DataType::F32, {20, 12}, {"tile", "tile plain"});
}

/// Interactions of 32 tokens leave room for more CTAs than those of 64; mamba2's are in its chain. On Hopper they are
/// for gates of float32, of each channel.
TEST(GPUChunks, AreSmallerWhereWarpsMultiplyAndMoreHaveRoom) {
  auto findChunk = [](llvm::StringRef example, llvm::StringRef target, bool hasFloatGates = false) -> int64_t {
    for (const std::string &path : test::listExamples()) {
      if (!llvm::StringRef(path).ends_with(("/" + example + ".recur").str()))
        continue;
      auto specification = openExample(path, {128, 128});
      EXPECT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
      PipelineOptions pipeline;
      pipeline.target = *findTarget(target);
      pipeline.dataTypes = DataType::BF16;
      if (hasFloatGates)
        pipeline.dataTypes.named["g"] = DataType::F32;
      auto choice = compile::chooseChunk((*specification)->getRecurrences().front(), pipeline);
      EXPECT_TRUE(bool(choice)) << llvm::toString(choice.takeError());
      return choice->chunk;
    }
    return 0;
  };
  EXPECT_EQ(findChunk("kda", "sm_80"), 32);
  EXPECT_EQ(findChunk("kda", "sm_90a"), 64);
  EXPECT_EQ(findChunk("delta_net", "sm_80"), 32);
  EXPECT_EQ(findChunk("mamba2", "sm_80"), 64);
  EXPECT_EQ(findChunk("gla", "sm_90a"), 64);
  EXPECT_EQ(findChunk("gla", "sm_90a", /*hasFloatGates=*/true), 32);
  EXPECT_EQ(findChunk("comba", "sm_90a", /*hasFloatGates=*/true), 64);
}

INSTANTIATE_TEST_SUITE_P(All, GPUPlans, ::testing::ValuesIn(test::listNumberedExamples()), test::nameOfNumbered);

} // namespace
