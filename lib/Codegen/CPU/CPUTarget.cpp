#include "Codegen/CPU/CPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace recur;

static constexpr StringRef names[] = {"x86-64-v3", "x86-64-v4", "host"};

ArrayRef<StringRef> recur::getCPUTargetNames() { return names; }

static Expected<CPUTarget> lookUpHost() {
  StringMap<bool> features = sys::getHostCPUFeatures();
  if (!features.lookup("avx2") || !features.lookup("fma"))
    return createStringError("this CPU, " + sys::getHostCPUName() + ", has no AVX2 and FMA, which kernels need");
  std::string list;
  SmallVector<StringRef> sorted(features.keys());
  llvm::sort(sorted);
  for (StringRef feature : sorted)
    list += (list.empty() ? "" : ",") + std::string(features.lookup(feature) ? "+" : "-") + feature.str();
  bool wide = features.lookup("avx512f") && features.lookup("avx512vl") && features.lookup("avx512dq");
  return CPUTarget{"host",         sys::getHostCPUName().str(),
                   list,           wide ? 16 : 8,
                   wide ? 32 : 16, features.lookup("avx512bf16") && features.lookup("avx512vl")};
}

Expected<CPUTarget> recur::lookUpCPUTarget(StringRef name) {
  if (name == "host")
    return lookUpHost();
  if (name == "x86-64-v3")
    return CPUTarget{"x86-64-v3", "x86-64-v3", "", 8, 16};
  if (name == "x86-64-v4")
    return CPUTarget{"x86-64-v4", "x86-64-v4", "", 16, 32};
  return createStringError("there is no CPU target '" + name + "'; there are " + join(ArrayRef(names), ", "));
}
