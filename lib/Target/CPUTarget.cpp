#include "Target/CPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace recur;

static constexpr StringRef names[] = {"x86-64", "x86-64-v3", "x86-64-v4", "host"};

ArrayRef<StringRef> recur::getCPUTargetNames() { return names; }

CPUTarget recur::makeHostTarget(StringRef cpu, const StringMap<bool> &features) {
  std::string list;
  SmallVector<StringRef> sorted(features.keys());
  llvm::sort(sorted);
  for (StringRef feature : sorted)
    list += (list.empty() ? "" : ",") + std::string(features.lookup(feature) ? "+" : "-") + feature.str();
  CPUTarget target{"host", cpu.str(), list, 4, 16};
  if (features.lookup("avx2") && features.lookup("fma"))
    target.lanes = 8;
  if (target.lanes == 8 && features.lookup("avx512f") && features.lookup("avx512vl") && features.lookup("avx512dq")) {
    target.lanes = 16;
    target.registers = 32;
    target.hasBF16 = features.lookup("avx512bf16");
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
