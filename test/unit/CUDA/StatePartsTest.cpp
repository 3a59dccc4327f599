// Which kernels that go from token to token have several CTAs for a head.
#include "../Codegen/Judging.h"
#include "Compile/CUDAKernelMaker.h"
#include "gmock/gmock.h"

using namespace recur;

namespace {

/// The launch of the plan `step`.
codegen::InterfaceLaunch planStep(const std::string &path, Dims dims, bool trees = false) {
  auto specification = openExample(path, dims);
  EXPECT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
  PipelineOptions pipeline;
  pipeline.target = *findTarget("sm_90a");
  pipeline.dataTypes = DataType::BF16;
  pipeline.trees = trees;
  compile::Listings listings;
  compile::CUDAKernelMaker maker(pipeline, "", listings);
  auto step = maker.addStep((*specification)->getRecurrences().front(), "step");
  EXPECT_TRUE(bool(step)) << llvm::toString(step.takeError());
  return trees ? *step->trees : step->launches.front();
}

codegen::InterfaceLaunch planExample(const std::string &name, Dims dims = {128, 128}, bool trees = false) {
  return planStep(RECUR_SOURCE_DIR "/examples/" + name + ".recur", dims, trees);
}

/// A state of values by keys, two writes of which read it, and what becomes of its reads.
codegen::InterfaceLaunch planReads(const std::string &output) {
  std::string path = testing::TempDir() + "/reads.recur";
  std::ofstream(path)
      << "recurrence reads {\n  dim K, V\n  input q: [K], k: [K], v: [V], g: scalar\n  state S: [V, K]\n"
         "  S = exp(g) * S\n  S = S + outer(v - S @ k, k)\n"
      << output << "}\n";
  return planStep(path, {128, 128});
}

TEST(StateParts, ArePlannedWhereValuesNeedNothingOfEachOther) {
  for (const std::string name : {"gated_delta_net", "kda", "mamba2", "delta_net", "retnet", "gated_delta_product"}) {
    codegen::InterfaceLaunch launch = planExample(name);
    EXPECT_EQ(launch.stateParts, 2) << name;
    EXPECT_EQ(launch.threads, 128) << name;
    EXPECT_EQ(launch.parts, 0) << name << " is no phase";
  }
  EXPECT_EQ(planExample("gated_delta_net", {128, 128}, /*trees=*/true).stateParts, 2);
  EXPECT_EQ(planReads("  output o: [V] = S @ q\n").stateParts, 2);
  EXPECT_EQ(planReads("  output o: [V] = relu(S @ q) * v\n").stateParts, 2);
}

/// A CTA has the heads whose outputs sum over the values, or whose other states each CTA would write.
TEST(StateParts, AreNotPlannedElsewhere) {
  EXPECT_EQ(planReads("  output o: scalar = dot(S @ q, v)\n").stateParts, 0);
  EXPECT_EQ(planReads("  output o: [V] = (S @ q) / sqrt(dot(S @ q, S @ q) + 1)\n").stateParts, 0);
  EXPECT_EQ(planReads("  output o: [V] = S @ q\n  output m: [K] = sigmoid(k)\n").stateParts, 0);
  for (const std::string name : {"pgdn", "mlstm", "mamba2_layer", "kalman"})
    EXPECT_EQ(planExample(name, {64, 64}).stateParts, 0) << name;
}

} // namespace
