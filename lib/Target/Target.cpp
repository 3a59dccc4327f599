#include "Target/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace recur;

// The features that decide how a kernel is compiled, by LLVM's names.
static constexpr StringRef x86Features[] = {"avx2",       "fma",        "f16c",     "bmi",      "bmi2",     "lzcnt",
                                            "movbe",      "avx512f",    "avx512bw", "avx512cd", "avx512dq", "avx512vl",
                                            "avx512bf16", "avx512fp16", "amx-tile", "amx-bf16"};
static constexpr StringRef v3Features[] = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"};
static constexpr StringRef v4Features[] = {"avx2",  "fma",     "f16c",     "bmi",      "bmi2",     "lzcnt",
                                           "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
static constexpr StringRef amxFeatures[] = {"avx2",     "fma",      "f16c",       "bmi",      "bmi2",
                                            "lzcnt",    "movbe",    "avx512f",    "avx512bw", "avx512cd",
                                            "avx512dq", "avx512vl", "avx512bf16", "amx-tile", "amx-bf16"};
static constexpr StringRef x86Triple = "x86_64-unknown-linux-gnu";

StringRef recur::getName(TargetKind kind) { return kind == TargetKind::CPU ? "cpu" : "gpu"; }

ArrayRef<StringRef> recur::getTargetNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all{"host", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-amx"};
    for (const GPUProfile &profile : getGPUProfiles())
      all.push_back(profile.name);
    return all;
  }();
  return names;
}

/// Whether the CPU multiplies pairs of bf16 by vectors (`vdpbf16ps`) at half the speed of f32: one of 32 products takes
/// two cycles, in which there are four FMAs of 16. Measured on Emerald Rapids; its kin are taken to be the same.
static bool hasSlowPairs(StringRef cpu) {
  static constexpr StringRef slow[] = {"cooperlake", "sapphirerapids", "emeraldrapids", "graniterapids",
                                       "graniterapids-d"};
  return is_contained(slow, cpu);
}

/// Intel's processors with AVX-512: register tiles of 6 x 4 vectors, which load less for each FMA than those of 8 x 2,
/// and lines asked for one at a time are 1.2 times as fast on Emerald Rapids. Others were not measured.
static bool isWideIntel(StringRef cpu) {
  static constexpr StringRef wide[] = {"skylake-avx512", "cascadelake",   "cannonlake",    "icelake-client",
                                       "icelake-server", "tigerlake",     "rocketlake",    "cooperlake",
                                       "sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"};
  return is_contained(wide, cpu);
}

static VectorUnit makeVectorUnit(StringRef cpu, const StringMap<bool> &features) {
  VectorUnit vectors;
  if (features.lookup("avx2") && features.lookup("fma"))
    vectors.lanes = 8;
  if (vectors.lanes < 8 || !features.lookup("avx512f") || !features.lookup("avx512vl") || !features.lookup("avx512dq"))
    return vectors;
  vectors.lanes = 16;
  vectors.registers = 32;
  vectors.hasBF16 = features.lookup("avx512bf16");
  vectors.hasAMX = vectors.hasBF16 && features.lookup("amx-tile") && features.lookup("amx-bf16");
  vectors.hasPairs = vectors.hasAMX || (vectors.hasBF16 && !hasSlowPairs(cpu));
  vectors.fetchesEvenly = vectors.hasAMX || isWideIntel(cpu); // what has AMX is Intel's
  if (vectors.fetchesEvenly)
    vectors.productRows = 6;
  return vectors;
}

Target recur::makeHostTarget(StringRef cpu, const StringMap<bool> &features, StringRef tuning) {
  Target target;
  target.name = "host";
  target.triple = sys::getProcessTriple();
  target.cpu = cpu.str();
  target.tuning = tuning.str();
  target.runsHere = true;
  for (StringRef feature : x86Features)
    if (features.lookup(feature))
      target.features.push_back(feature.str());
  SmallVector<StringRef> sorted(features.keys());
  llvm::sort(sorted);
  for (StringRef feature : sorted)
    target.codeFeatures +=
        (target.codeFeatures.empty() ? "" : ",") + std::string(features.lookup(feature) ? "+" : "-") + feature.str();
  target.vectors = makeVectorUnit(tuning.empty() ? cpu : tuning, features);
  return target;
}

const Target &recur::getHostTarget() {
  static const Target host = makeHostTarget(sys::getHostCPUName(), sys::getHostCPUFeatures());
  return host;
}

static Target makeX86Level(StringRef name, ArrayRef<StringRef> features, const StringMap<bool> &machine) {
  Target target;
  target.name = target.cpu = name.str();
  target.triple = x86Triple;
  target.runsHere = true;
  StringMap<bool> has;
  for (StringRef feature : features) {
    target.features.push_back(feature.str());
    target.runsHere &= machine.lookup(feature);
    has[feature] = true;
  }
  target.vectors = makeVectorUnit(name, has);
  return target;
}

static Target makeAMX(const StringMap<bool> &machine) {
  Target target = makeX86Level("x86-64-v4-amx", amxFeatures, machine);
  target.cpu = "x86-64-v4";
  target.tuning = "sapphirerapids"; // the first that had it
  target.codeFeatures = "+avx512bf16,+amx-tile,+amx-bf16";
  return target;
}

static Target makeGPU(const GPUProfile &profile) {
  Target target;
  target.name = profile.name.str();
  target.cpu = profile.architecture.str();
  target.kind = TargetKind::GPU;
  target.triple = "nvptx64-nvidia-cuda";
  target.codeFeatures = profile.features.str();
  target.gpu = &profile;
  return target;
}

std::vector<Target> recur::getTargets() {
  StringMap<bool> machine = sys::getHostCPUFeatures();
  std::vector<Target> targets{getHostTarget(), makeX86Level("x86-64", {}, machine),
                              makeX86Level("x86-64-v3", v3Features, machine),
                              makeX86Level("x86-64-v4", v4Features, machine), makeAMX(machine)};
  for (const GPUProfile &profile : getGPUProfiles())
    targets.push_back(makeGPU(profile));
  return targets;
}

std::optional<Target> recur::findTarget(StringRef name) {
  if (name == "host")
    return getHostTarget();
  for (const Target &target : getTargets())
    if (target.name == name)
      return target;
  return std::nullopt;
}

std::optional<std::string> recur::explainNoVectorKernels(const Target &target) {
  if (target.vectors.lanes >= 8)
    return std::nullopt;
  std::string who = target.isHost() ? "this processor, " + target.cpu + "," : "'" + target.name + "'";
  return who + " has no AVX2 and FMA, which kernels that take a chunk of tokens at a time need";
}
