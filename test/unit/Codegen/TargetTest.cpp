// What a machine with some features is as a target.
#include "Target/CPUTarget.h"
#include "gmock/gmock.h"

using namespace recur;
using ::testing::HasSubstr;

namespace {

TEST(HostTarget, HasTheVectorsOfItsFeatures) {
  llvm::StringMap<bool> features{{"avx2", true}, {"fma", true}};
  CPUTarget narrow = makeHostTarget("haswell", features);
  EXPECT_EQ(narrow.lanes, 8);
  EXPECT_EQ(narrow.registers, 16);
  EXPECT_FALSE(narrow.hasBF16);
  EXPECT_EQ(narrow.features, "+avx2,+fma");
  EXPECT_EQ(explainNoVectorKernels(narrow), std::nullopt);
  for (llvm::StringRef feature : {"avx512f", "avx512vl", "avx512dq", "avx512bf16"})
    features[feature] = true;
  CPUTarget wide = makeHostTarget("cooperlake", features);
  EXPECT_EQ(wide.lanes, 16);
  EXPECT_EQ(wide.registers, 32);
  EXPECT_TRUE(wide.hasBF16);
}

/// Rounding to bf16 is a matter of the instruction, multiplying pairs of it one of the processor, whichever
/// instructions are used of it.
TEST(HostTarget, TakesPairsWhereTheProcessorIsFastAtThem) {
  llvm::StringMap<bool> features{{"avx2", true},     {"fma", true},      {"avx512f", true},
                                 {"avx512vl", true}, {"avx512dq", true}, {"avx512bf16", true}};
  for (auto [cpu, isFast] : {std::pair("znver4", true),
                             {"znver5", true},
                             {"sapphirerapids", false},
                             {"emeraldrapids", false},
                             {"graniterapids", false},
                             {"cooperlake", false}}) {
    CPUTarget whole = makeHostTarget(cpu, features), part = makeHostTarget("x86-64", features, cpu);
    EXPECT_TRUE(whole.hasBF16 && part.hasBF16) << cpu;
    EXPECT_EQ(whole.hasPairs, isFast) << cpu;
    EXPECT_EQ(part.hasPairs, isFast) << cpu;
  }
  features["avx512bf16"] = false;
  EXPECT_FALSE(makeHostTarget("znver5", features).hasPairs);
}

TEST(HostTarget, WithoutAVX2OrFMAHasNoVectorKernels) {
  for (llvm::StringRef missing : {"avx2", "fma"}) {
    llvm::StringMap<bool> features{{"sse2", true}, {"avx2", true}, {"fma", true}};
    features[missing] = false;
    CPUTarget target = makeHostTarget("ivybridge", features);
    EXPECT_EQ(target.lanes, 4);
    EXPECT_THAT(explainNoVectorKernels(target).value_or(""),
                HasSubstr("this processor, ivybridge, has no AVX2 and FMA"));
  }
}

TEST(Target, EveryNameIsKnown) {
  for (llvm::StringRef name : getCPUTargetNames()) {
    auto target = lookUpCPUTarget(name);
    ASSERT_TRUE(bool(target)) << name.str();
    EXPECT_EQ(target->name, name);
  }
  EXPECT_THAT(llvm::toString(lookUpCPUTarget("x86-64-v9").takeError()), HasSubstr("there are x86-64, x86-64-v3"));
}

} // namespace
