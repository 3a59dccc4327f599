// What a machine with some features is as a target.
#include "Target/Target.h"
#include "Target/DataType.h"
#include "gmock/gmock.h"

using namespace recur;
using ::testing::HasSubstr;

namespace {

TEST(HostTarget, HasTheVectorsOfItsFeatures) {
  llvm::StringMap<bool> features{{"avx2", true}, {"fma", true}};
  Target narrow = makeHostTarget("haswell", features);
  EXPECT_EQ(narrow.vectors.lanes, 8);
  EXPECT_EQ(narrow.vectors.registers, 16);
  EXPECT_FALSE(narrow.vectors.hasBF16);
  EXPECT_EQ(narrow.codeFeatures, "+avx2,+fma");
  EXPECT_EQ(explainNoVectorKernels(narrow), std::nullopt);
  for (llvm::StringRef feature : {"avx512f", "avx512vl", "avx512dq", "avx512bf16"})
    features[feature] = true;
  Target wide = makeHostTarget("cooperlake", features);
  EXPECT_EQ(wide.vectors.lanes, 16);
  EXPECT_EQ(wide.vectors.registers, 32);
  EXPECT_TRUE(wide.vectors.hasBF16);
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
    Target whole = makeHostTarget(cpu, features), part = makeHostTarget("x86-64", features, cpu);
    EXPECT_TRUE(whole.vectors.hasBF16 && part.vectors.hasBF16) << cpu;
    EXPECT_EQ(whole.vectors.hasPairs, isFast) << cpu;
    EXPECT_EQ(part.vectors.hasPairs, isFast) << cpu;
  }
  features["avx512bf16"] = false;
  EXPECT_FALSE(makeHostTarget("znver5", features).vectors.hasPairs);
}

/// With AMX, pairs are fast everywhere; Intel's processors have register tiles of their own.
TEST(HostTarget, TakesAMXAndTheProcessorsRegisterTiles) {
  llvm::StringMap<bool> features{{"avx2", true},     {"fma", true},        {"avx512f", true},  {"avx512vl", true},
                                 {"avx512dq", true}, {"avx512bf16", true}, {"amx-tile", true}, {"amx-bf16", true}};
  VectorUnit wide = makeHostTarget("sapphirerapids", features).vectors;
  EXPECT_TRUE(wide.hasPairs && wide.hasAMX && wide.fetchesEvenly);
  EXPECT_EQ(wide.productRows, 6);
  VectorUnit named = findTarget("x86-64-v4-amx")->vectors;
  EXPECT_TRUE(named.hasPairs && named.hasAMX && named.hasBF16);
  EXPECT_EQ(named.productRows, 6);
  features["amx-bf16"] = false;
  EXPECT_FALSE(makeHostTarget("sapphirerapids", features).vectors.hasAMX);
  VectorUnit other = makeHostTarget("znver5", features).vectors;
  EXPECT_FALSE(other.hasAMX || other.fetchesEvenly);
  EXPECT_EQ(other.productRows, 8);
}

TEST(HostTarget, WithoutAVX2OrFMAHasNoVectorKernels) {
  for (llvm::StringRef missing : {"avx2", "fma"}) {
    llvm::StringMap<bool> features{{"sse2", true}, {"avx2", true}, {"fma", true}};
    features[missing] = false;
    Target target = makeHostTarget("ivybridge", features);
    EXPECT_EQ(target.vectors.lanes, 4);
    EXPECT_THAT(explainNoVectorKernels(target).value_or(""),
                HasSubstr("this processor, ivybridge, has no AVX2 and FMA"));
  }
}

TEST(HostTarget, IsArrangedForTheProcessorThatItUsesPartOf) {
  Target part = makeHostTarget("x86-64", {{"avx2", true}, {"fma", true}}, "znver5");
  EXPECT_EQ(part.cpu, "x86-64");
  EXPECT_EQ(part.tuning, "znver5");
  EXPECT_TRUE(makeHostTarget("znver5", {}).tuning.empty());
}

TEST(Target, EveryNameIsKnown) {
  std::vector<std::string> names;
  for (const Target &target : getTargets()) {
    names.push_back(target.name);
    std::optional<Target> found = findTarget(target.name);
    ASSERT_TRUE(found) << target.name;
    EXPECT_EQ(found->name, target.name);
  }
  EXPECT_EQ(names, std::vector<std::string>(getTargetNames().begin(), getTargetNames().end()));
  EXPECT_FALSE(findTarget("x86-64-v9"));
}

TEST(Target, SaysWhatItsMachineHas) {
  EXPECT_EQ(findTarget("x86-64")->vectors.lanes, 4);
  EXPECT_EQ(findTarget("x86-64-v3")->vectors.lanes, 8);
  EXPECT_EQ(findTarget("x86-64-v3")->vectors.registers, 16);
  EXPECT_EQ(findTarget("x86-64-v4")->vectors.lanes, 16);
  EXPECT_TRUE(findTarget("x86-64-v4")->vectors.isWide());
  EXPECT_FALSE(findTarget("x86-64-v4")->vectors.hasBF16);
  Target gpu = *findTarget("sm_90a");
  EXPECT_FALSE(gpu.isCPU());
  EXPECT_EQ(gpu.gpu->threads, 1024);
  EXPECT_EQ(gpu.gpu->sharedBytes, 232448);
  EXPECT_EQ(gpu.gpu->capability, 90);
}

/// Shared memory of a CTA as CUDA's programming guide has it.
TEST(GPUProfile, SaysWhatTheGPUsOfATargetHave) {
  for (auto [name, capability, kibibytes, multiply, store] : {std::tuple("sm_80+", 80, 99, false, false),
                                                              {"sm_80", 80, 163, false, false},
                                                              {"sm_86", 86, 99, false, false},
                                                              {"sm_89", 89, 99, false, false},
                                                              {"sm_90", 90, 227, false, true},
                                                              {"sm_90a", 90, 227, true, true},
                                                              {"sm_100", 100, 227, false, true},
                                                              {"sm_103", 103, 227, false, true},
                                                              {"sm_120", 120, 99, false, true},
                                                              {"sm_121", 121, 99, false, true}}) {
    const GPUProfile *gpu = findGPUProfile(name);
    ASSERT_TRUE(gpu) << name;
    EXPECT_EQ(gpu->capability, capability) << name;
    EXPECT_EQ(gpu->sharedBytes, kibibytes * 1024) << name;
    EXPECT_EQ(gpu->sharedOfMultiprocessor, gpu->sharedBytes + gpu->reservedSharedBytes) << name;
    EXPECT_EQ(gpu->hasWarpgroupProducts, multiply) << name;
    EXPECT_EQ(gpu->storesMatrices, store) << name;
    EXPECT_EQ(gpu->isExact, multiply) << name;
  }
  EXPECT_EQ(findGPUProfile("sm_75"), nullptr);
}

/// What runs on every GPU has no more of anything than the one that has least.
TEST(GPUProfile, ThePortableOneHasWhatAllHave) {
  const GPUProfile &portable = *findGPUProfile("sm_80+");
  EXPECT_TRUE(portable.isPortable);
  for (const GPUProfile &gpu : getGPUProfiles()) {
    EXPECT_LE(portable.capability, gpu.capability);
    EXPECT_LE(portable.sharedBytes, gpu.sharedBytes);
    EXPECT_LE(portable.sharedOfMultiprocessor, gpu.sharedOfMultiprocessor);
    EXPECT_LE(portable.threadsOfMultiprocessor, gpu.threadsOfMultiprocessor);
    EXPECT_LE(portable.hasCopyUnit, gpu.hasCopyUnit);
    EXPECT_LE(portable.storesMatrices, gpu.storesMatrices);
    EXPECT_LE(portable.startsEarly, gpu.startsEarly);
  }
}

/// Every model has a target, and every target a model that times are estimated for.
TEST(GPUProfile, ModelsAndTargetsBelongTogether) {
  for (const GPUModel &model : getGPUModels())
    EXPECT_TRUE(llvm::any_of(getGPUProfiles(), [&](const GPUProfile &gpu) {
      return gpu.capability == model.capability;
    })) << model.name.str();
  for (const GPUProfile &gpu : getGPUProfiles()) {
    EXPECT_EQ(gpu.getModel().name, gpu.typical);
    if (!gpu.isPortable)
      EXPECT_EQ(gpu.getModel().capability, gpu.capability) << gpu.name.str();
    EXPECT_GT(gpu.getRates().products16, gpu.getRates().products32);
  }
}

TEST(DataType, HasANameASizeAndItsRounding) {
  for (auto [type, name, size, third] : {std::tuple(DataType::F32, "f32", 4, 0x1.555556p-2),
                                         {DataType::BF16, "bf16", 2, 0x1.56p-2},
                                         {DataType::F16, "f16", 2, 0x1.554p-2},
                                         {DataType::F64, "f64", 8, 1.0 / 3}}) {
    EXPECT_EQ(getName(type), name);
    EXPECT_EQ(parseDataType(name), type);
    EXPECT_EQ(getByteSize(type), size);
    EXPECT_EQ(roundTo(1.0 / 3, type), third) << name;
  }
  EXPECT_EQ(parseDataType("f8"), std::nullopt);
  EXPECT_EQ(roundTo(65520, DataType::F16), std::numeric_limits<double>::infinity());
}

constexpr const char *armTriple = "aarch64-unknown-linux-gnu";

/// Of an Arm machine the system says little: what LLVM knows of its CPU comes to that.
TEST(ArmHost, HasWhatTheSystemAndItsCPUSay) {
  llvm::StringMap<bool> said{{"fp-armv8", true}, {"lse", true}, {"neon", true}};
  Target graviton2 = makeHostTarget("neoverse-n1", said, {}, armTriple);
  EXPECT_EQ(graviton2.features, std::vector<std::string>{"neon"});
  EXPECT_EQ(graviton2.codeFeatures, "+fp-armv8,+lse,+neon");
  EXPECT_EQ(graviton2.getArchitecture(), "aarch64");
  EXPECT_FALSE(graviton2.vectors.hasBF16);
  EXPECT_TRUE(graviton2.vectors.hasF16);
  EXPECT_EQ(explainNoVectorKernels(graviton2), std::nullopt);
  for (const char *cpu : {"neoverse-v1", "neoverse-v2", "neoverse-n2", "apple-m2", "grace"}) {
    Target wide = makeHostTarget(cpu, said, {}, armTriple);
    EXPECT_EQ(wide.features, (std::vector<std::string>{"neon", "bf16"})) << cpu;
    EXPECT_EQ(wide.codeFeatures, "+bf16,+fp-armv8,+lse,+neon") << cpu;
    EXPECT_TRUE(wide.vectors.hasBF16) << cpu;
  }
  said["bf16"] = false; // as an emulator or a guest may say of the same CPU
  EXPECT_FALSE(makeHostTarget("neoverse-v1", said, {}, armTriple).vectors.hasBF16);
  EXPECT_TRUE(makeHostTarget("generic", {{"bf16", true}}, {}, armTriple).vectors.hasBF16);
}

TEST(ArmHost, IsGenericWhereAProgramMayRunElsewhere) {
  Target host = makeHostTarget("neoverse-v2", {{"neon", true}, {"sve", true}}, {}, armTriple);
  Target part = makePortableHost(host, {{"neon", true}, {"bf16", true}});
  EXPECT_EQ(part.triple, armTriple);
  EXPECT_EQ(part.cpu, "generic");
  EXPECT_EQ(part.tuning, "neoverse-v2");
  EXPECT_EQ(part.codeFeatures, "+bf16,+neon");
  EXPECT_EQ(makePortableHost(makeHostTarget("haswell", {}, {}, "x86_64-unknown-linux-gnu"), {}).cpu, "x86-64");
}

TEST(Targets, OfOneProgramAreOfOneArchitecture) {
  std::vector<Target> mixed{*findTarget("aarch64"), *findTarget("x86-64-v3")};
  EXPECT_EQ(joinTargets(mixed), "'aarch64' is of aarch64 and 'x86-64-v3' of x86_64, which no program is at once; build "
                                "for each by itself");
  std::vector<Target> arm{*findTarget("aarch64-bf16"), *findTarget("aarch64"), *findTarget("sm_90a")};
  EXPECT_EQ(joinTargets(arm), std::nullopt);
  EXPECT_EQ(arm[2].beside, "aarch64");
}

} // namespace
