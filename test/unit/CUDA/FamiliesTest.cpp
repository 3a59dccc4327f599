// Specifications of examples/ become kernels of every GPU, which the assembler takes. Where it finds fault with a plan
// another takes its place, as notes say. RECUR_EVERY_GPU: all examples, and of each the kernels of all GPUs, not of
// one.
#include "../Codegen/Judging.h"
#include "../GPUFamilies.h"
#include "Compile/Kernels.h"
#include "gmock/gmock.h"

using namespace recur;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

class GPUFamilies : public ::testing::TestWithParam<test::NumberedExample> {
protected:
  void expectAssembled(DataType type, Dims dims, bool backward) {
    auto specification = openExample(GetParam().path, dims);
    ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
    for (const GPUProfile *gpu : test::listFamilies(GetParam())) {
      PipelineOptions pipeline;
      pipeline.target = *findTarget(gpu->name);
      pipeline.dataTypes = type;
      pipeline.backward = backward;
      if (backward)
        pipeline.plan = Plan::Step;
      pipeline.trees = !backward && test::takesTurn(GetParam(), 0, 3);
      compile::Listings listings;
      auto kernels = compile::compileKernels((*specification)->getRecurrences().front(), pipeline, {}, listings);
      ASSERT_TRUE(bool(kernels)) << gpu->name.str() << ": " << llvm::toString(kernels.takeError());
      EXPECT_GT(listings.registers, 0) << "no assembler for " << gpu->name.str();
      EXPECT_THAT(listings.ptx, HasSubstr(".target " + gpu->architecture.str() + "\n"));
      for (const char *instruction : {"wgmma", "setmaxnreg"})
        EXPECT_THAT(listings.ptx, Not(HasSubstr(instruction))) << gpu->name.str();
      if (!gpu->startsEarly)
        for (const char *instruction : {"griddepcontrol", "cp.async.bulk", "stmatrix", "try_wait", "fence.proxy"})
          EXPECT_THAT(listings.ptx, Not(HasSubstr(instruction))) << gpu->name.str();
      const codegen::KernelInterface &interface = kernels->interfaces.front();
      ASSERT_FALSE(interface.kernels.empty());
      for (const codegen::InterfaceKernel &kernel : interface.kernels)
        for (const codegen::InterfaceLaunch &launch : kernel.launches)
          EXPECT_LE(launch.sharedBytes * std::max<int64_t>(1, launch.teams), gpu->sharedBytes) << launch.symbol;
      for (const std::string &note : kernels->notes)
        RecordProperty("note", note);
    }
  }
};

/// In an ordinary run each of these has one of the kinds.
TEST_P(GPUFamilies, AreAssembled) {
  if (test::takesTurn(GetParam(), 0, 3))
    expectAssembled(DataType::BF16, {128, 128}, /*backward=*/false);
  if (test::takesTurn(GetParam(), 1, 3))
    expectAssembled(DataType::F32, {16, 10}, /*backward=*/false);
  if (test::takesTurn(GetParam(), 2, 3))
    expectAssembled(DataType::BF16, {32, 32}, /*backward=*/true);
}

/// An ordinary run takes every fourth example. Their types go by turns of three, so that every type is among them.
std::vector<test::NumberedExample> listAssembled() {
  std::vector<test::NumberedExample> all = test::listNumberedExamples();
  llvm::erase_if(all, [](const test::NumberedExample &example) { return !test::takesTurn(example, 1, 4); });
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, GPUFamilies, ::testing::ValuesIn(listAssembled()), test::nameOfNumbered);

} // namespace
