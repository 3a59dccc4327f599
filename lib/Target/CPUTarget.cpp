#include "Target/CPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace recur;

static constexpr StringRef names[] = {"x86-64", "x86-64-v3", "x86-64-v4", "host"};

ArrayRef<StringRef> recur::getCPUTargetNames() { return names; }

/// Whether the CPU multiplies pairs of bf16 by vectors (`vdpbf16ps`) at half the speed of f32: one of 32 products takes
/// two cycles, in which there are four FMAs of 16. Measured on Emerald Rapids; its kin are taken to be the same.
static bool hasSlowPairs(StringRef cpu) {
  static constexpr StringRef slow[] = {"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids",
                                       "graniterapids-d"};
  return is_contained(slow, cpu);
}

CPUTarget recur::makeHostTarget(StringRef cpu, const StringMap<bool> &features, StringRef tuning) {
  std::string list;
  SmallVector<StringRef> sorted(features.keys());
  llvm::sort(sorted);
  for (StringRef feature : sorted)
    list += (list.empty() ? "" : ",") + std::string(features.lookup(feature) ? "+" : "-") + feature.str();
  CPUTarget target{"host", cpu.str(), list, 4, 16};
  target.tuning = tuning.str();
  if (features.lookup("avx2") && features.lookup("fma"))
    target.lanes = 8;
  if (target.lanes == 8 && features.lookup("avx512f") && features.lookup("avx512vl") && features.lookup("avx512dq")) {
    target.lanes = 16;
    target.registers = 32;
    target.hasBF16 = features.lookup("avx512bf16");
    target.hasPairs = target.hasBF16 && !hasSlowPairs(tuning.empty() ? cpu : tuning);
  }
  return target;
}

Expected<CPUTarget> recur::lookUpCPUTarget(StringRef name) {
  if (name == "host")
    return makeHostTarget(sys::getHostCPUName(), sys::getHostCPUFeatures());
  if (name == "x86-64")
    return CPUTarget{"x86-64", "x86-64", "", 4, 16};
  if (name == "x86-64-v3")
    return CPUTarget{"x86-64-v3", "x86-64-v3", "", 8, 16};
  if (name == "x86-64-v4")
    return CPUTarget{"x86-64-v4", "x86-64-v4", "", 16, 32};
  return createStringError("there is no CPU target '" + name + "'; there are " + join(ArrayRef(names), ", "));
}

std::optional<std::string> recur::explainNoVectorKernels(const CPUTarget &target) {
  if (target.lanes >= 8)
    return std::nullopt;
  std::string who = target.name == "host" ? "this processor, " + target.cpu + "," : "'" + target.name + "'";
  return who + " has no AVX2 and FMA, which kernels that take a chunk of tokens at a time need";
}
