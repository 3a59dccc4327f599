#include "Target/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

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
// Of Arm processors, all of which have NEON.
static constexpr StringRef armFeatures[] = {"neon", "bf16"};
static constexpr StringRef armTriple = "aarch64-unknown-linux-gnu";

StringRef recur::getName(TargetKind kind) { return kind == TargetKind::CPU ? "cpu" : "gpu"; }

ArrayRef<StringRef> recur::getTargetNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> all{"host", "x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-amx", "aarch64", "aarch64-bf16"};
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

static VectorUnit makeX86Vectors(StringRef cpu, const StringMap<bool> &features) {
  VectorUnit vectors;
  vectors.hasF16 = features.lookup("f16c");
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

/// NEON's 32 registers of four numbers, in pairs: vectors of eight, of which there is room for as many as with AVX2.
/// Instructions of two registers do not depend on each other, which hides that each takes four cycles.
static VectorUnit makeArmVectors(const StringMap<bool> &features) {
  VectorUnit vectors;
  vectors.lanes = 8;
  vectors.registers = 16;
  vectors.hasF16 = true;
  vectors.hasBF16 = features.lookup("bf16");
  return vectors;
}

/// What the CPU has: what the system says, and for Arm's, of which it says less, what LLVM knows of the CPU besides.
static StringMap<bool> completeFeatures(StringRef cpu, const StringMap<bool> &features) {
  StringMap<bool> all = features;
  all.try_emplace("neon", true);
  if (std::optional<AArch64::CpuInfo> known = AArch64::parseCpu(cpu))
    if (known->getImpliedExtensions().test(AArch64::AEK_BF16))
      all.try_emplace("bf16", true);
  return all;
}

Target recur::makeHostTarget(StringRef cpu, const StringMap<bool> &features, StringRef tuning, StringRef triple) {
  Target target;
  target.name = "host";
  target.triple = triple.empty() ? sys::getProcessTriple() : triple.str();
  target.cpu = cpu.str();
  target.tuning = tuning.str();
  target.runsHere = true;
  bool isArm = Triple(target.triple).isAArch64();
  StringMap<bool> has = isArm ? completeFeatures(cpu, features) : features;
  for (StringRef feature : isArm ? ArrayRef(armFeatures) : ArrayRef(x86Features))
    if (has.lookup(feature))
      target.features.push_back(feature.str());
  SmallVector<StringRef> sorted(has.keys());
  llvm::sort(sorted);
  for (StringRef feature : sorted)
    target.codeFeatures +=
        (target.codeFeatures.empty() ? "" : ",") + std::string(has.lookup(feature) ? "+" : "-") + feature.str();
  target.vectors = isArm ? makeArmVectors(has) : makeX86Vectors(tuning.empty() ? cpu : tuning, has);
  return target;
}

Target recur::makePortableHost(const Target &host, const StringMap<bool> &features) {
  bool isArm = Triple(host.triple).isAArch64();
  return makeHostTarget(isArm ? "generic" : "x86-64", features, /*tuning=*/host.cpu, host.triple);
}

std::string Target::getArchitecture() const { return Triple::getArchTypeName(Triple(triple).getArch()).str(); }

const Target &recur::getHostTarget() {
  static const Target host = makeHostTarget(sys::getHostCPUName(), sys::getHostCPUFeatures());
  return host;
}

/// A target that is no `host`: with these features of those that the processor may have, if it is one like this
/// machine's.
static Target makeLevel(StringRef name, StringRef triple, ArrayRef<StringRef> features,
                        const StringMap<bool> &machine) {
  Target target;
  target.name = target.cpu = name.str();
  target.triple = triple.str();
  target.runsHere = Triple(triple).getArch() == Triple(sys::getProcessTriple()).getArch();
  StringMap<bool> has;
  for (StringRef feature : features) {
    target.features.push_back(feature.str());
    target.runsHere &= machine.lookup(feature);
    has[feature] = true;
  }
  target.vectors = Triple(triple).isAArch64() ? makeArmVectors(has) : makeX86Vectors(name, has);
  return target;
}

static Target makeAMX(const StringMap<bool> &machine) {
  Target target = makeLevel("x86-64-v4-amx", x86Triple, amxFeatures, machine);
  target.cpu = "x86-64-v4";
  target.tuning = "sapphirerapids"; // the first that had it
  target.codeFeatures = "+avx512bf16,+amx-tile,+amx-bf16";
  return target;
}

static Target makeArm(StringRef name, size_t features, StringRef tuning, const StringMap<bool> &machine) {
  Target target = makeLevel(name, armTriple, ArrayRef(armFeatures).take_front(features), machine);
  target.cpu = "generic";
  target.tuning = tuning.str();
  for (StringRef feature : target.features)
    target.codeFeatures += (target.codeFeatures.empty() ? "+" : ",+") + feature.str();
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
  target.beside = Triple(sys::getProcessTriple()).isAArch64() ? "aarch64" : "x86-64";
  return target;
}

std::vector<Target> recur::getTargets() {
  const Target &host = getHostTarget();
  StringMap<bool> machine = sys::getHostCPUFeatures();
  for (StringRef feature : host.features)
    machine[feature] = true;
  std::vector<Target> targets{host,
                              makeLevel("x86-64", x86Triple, {}, machine),
                              makeLevel("x86-64-v3", x86Triple, v3Features, machine),
                              makeLevel("x86-64-v4", x86Triple, v4Features, machine),
                              makeAMX(machine),
                              makeArm("aarch64", 1, "", machine),
                              makeArm("aarch64-bf16", 2, "neoverse-v1", machine)}; // the first that had it
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

std::optional<std::string> recur::joinTargets(MutableArrayRef<Target> targets) {
  const Target *processor = find_if(targets, [](const Target &target) { return target.isCPU(); });
  if (processor == targets.end())
    return std::nullopt;
  for (Target &target : targets) {
    if (!target.isCPU())
      target.beside = Triple(processor->triple).isAArch64() ? "aarch64" : "x86-64";
    else if (target.getArchitecture() != processor->getArchitecture())
      return "'" + processor->name + "' is of " + processor->getArchitecture() + " and '" + target.name + "' of " +
             target.getArchitecture() + ", which no program is at once; build for each by itself";
  }
  return std::nullopt;
}

std::optional<std::string> recur::explainNoVectorKernels(const Target &target) {
  if (target.vectors.lanes >= 8)
    return std::nullopt;
  std::string who = target.isHost() ? "this processor, " + target.cpu + "," : "'" + target.name + "'";
  return who + " has no AVX2 and FMA, which kernels that take a chunk of tokens at a time need";
}
