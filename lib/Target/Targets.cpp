#include "Target/Targets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace recur;

// The features that decide how a kernel is compiled, by LLVM's names.
static constexpr StringRef x86Features[] = {"avx2",     "fma",      "f16c",       "bmi",        "bmi2",
                                            "lzcnt",    "movbe",    "avx512f",    "avx512bw",   "avx512cd",
                                            "avx512dq", "avx512vl", "avx512bf16", "avx512fp16", "amx-bf16"};
static constexpr StringRef v3Features[] = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"};
static constexpr StringRef v4Features[] = {"avx2",  "fma",     "f16c",     "bmi",      "bmi2",     "lzcnt",
                                           "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

static constexpr StringRef targetNames[] = {"host", "x86-64", "x86-64-v3", "x86-64-v4", "sm_90a"};

ArrayRef<StringRef> recur::getTargetNames() { return targetNames; }

static Target makeX86Level(StringRef name, ArrayRef<StringRef> features, const StringMap<bool> &machine) {
  Target target{name.str(), "cpu", "x86_64-unknown-linux-gnu", name.str(), {}, true};
  for (StringRef feature : features) {
    target.features.push_back(feature.str());
    target.runsHere &= machine.lookup(feature);
  }
  return target;
}

std::vector<Target> recur::getTargets() {
  StringMap<bool> machine = sys::getHostCPUFeatures();
  Target host{"host", "cpu", sys::getProcessTriple(), sys::getHostCPUName().str(), {}, true};
  for (StringRef feature : x86Features)
    if (machine.lookup(feature))
      host.features.push_back(feature.str());
  return {host, makeX86Level("x86-64", {}, machine), makeX86Level("x86-64-v3", v3Features, machine),
          makeX86Level("x86-64-v4", v4Features, machine),
          Target{"sm_90a", "gpu", "nvptx64-nvidia-cuda", "sm_90a", {}, false}};
}

std::optional<Target> recur::findTarget(StringRef name) {
  for (const Target &target : getTargets())
    if (target.name == name)
      return target;
  return std::nullopt;
}
