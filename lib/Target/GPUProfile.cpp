#include "Target/OtherGPUs.h"
#include "recur/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <list>

using namespace llvm;
using namespace recur;

// Multiplications in a cycle follow from the peak of bf16 or f16 with sums of f32, without sparsity: of two operations
// each, of all multiprocessors, at the boosted clock.
static constexpr GPUModel models[] = {
    {"A100", 80, 108, 1.41, 1024, 40, 2039},
    {"RTX 3090", 86, 82, 1.695, 256, 6, 936},
    {"RTX 4090", 89, 128, 2.52, 256, 72, 1008},
    {"L40S", 89, 142, 2.52, 512, 96, 864},
    {"H100", 90, 132, 1.83, 2048, 50, 3350},
    {"H200", 90, 132, 1.83, 2048, 50, 4800},
    {"H20", 90, 78, 1.83, 512, 60, 4000},
    {"B200", 100, 148, 1.85, 4096, 126, 8000},
    {"B300", 103, 148, 1.85, 4096, 126, 8000},
    {"RTX 5090", 120, 170, 2.407, 256, 96, 1792},
    {"RTX PRO 6000", 120, 188, 2.617, 512, 128, 1792},
    {"GB10", 121, 48, 2.42, 512, 24, 273},
};

ArrayRef<GPUModel> recur::getGPUModels() { return models; }

static constexpr int64_t KiB = 1024;

static GPUProfile makeAmpere(StringLiteral name, int64_t capability, StringLiteral typical) {
  GPUProfile profile{name,
                     capability,
                     /*architecture=*/name,
                     /*features=*/"+ptx81",
                     typical,
                     99 * KiB,
                     100 * KiB,
                     /*threadsOfMultiprocessor=*/1536,
                     /*arithmetic=*/128};
  profile.spilledBytes = 256; // plans are made for Hopper's assembler, and another plan costs more than some loads
  return profile;
}

/// Of data centers: more of everything but arithmetic.
static GPUProfile makeA100() {
  GPUProfile profile = makeAmpere("sm_80", 80, "A100");
  profile.sharedBytes = 163 * KiB;
  profile.sharedOfMultiprocessor = 164 * KiB;
  profile.threadsOfMultiprocessor = 2048;
  profile.arithmetic = 64;
  profile.bounds16 = false;
  return profile;
}

/// The least of all that there is from sm_80 on.
static GPUProfile makePortable() {
  GPUProfile profile = makeAmpere("sm_80+", 80, "RTX 3090");
  profile.architecture = "sm_80";
  profile.isPortable = true;
  profile.bounds16 = false;
  return profile;
}

/// What all have from Hopper on.
static GPUProfile makeLater(StringLiteral name, int64_t capability, StringLiteral features, StringLiteral typical) {
  GPUProfile profile = makeAmpere(name, capability, typical);
  profile.features = features;
  profile.hasCopyUnit = profile.storesMatrices = profile.waitsAtBarriers = profile.startsEarly = true;
  return profile;
}

/// The same of data centers.
static GPUProfile makeLarge(StringLiteral name, int64_t capability, StringLiteral features, StringLiteral typical) {
  GPUProfile profile = makeLater(name, capability, features, typical);
  profile.sharedBytes = 227 * KiB;
  profile.sharedOfMultiprocessor = 228 * KiB;
  profile.threadsOfMultiprocessor = 2048;
  return profile;
}

static GPUProfile makeHopper() {
  GPUProfile profile = makeLarge("sm_90a", 90, "+ptx85", "H200"); // which drivers from 555 on take
  profile.isExact = true;
  profile.spilledBytes = 0;
  profile.hasWarpgroupProducts = true;
  return profile;
}

ArrayRef<GPUProfile> recur::getGPUProfiles() {
  static const GPUProfile profiles[] = {
      makePortable(),
      makeA100(),
      makeAmpere("sm_86", 86, "RTX 3090"),
      makeAmpere("sm_89", 89, "RTX 4090"),
      makeLarge("sm_90", 90, "+ptx81", "H200"),
      makeHopper(),
      makeLarge("sm_100", 100, "+ptx86", "B200"),
      makeLarge("sm_103", 103, "+ptx88", "B300"),
      makeLater("sm_120", 120, "+ptx87", "RTX 5090"),
      makeLater("sm_121", 121, "+ptx88", "GB10"),
  };
  return profiles;
}

/// Their places stay what they are.
static std::list<GPUProfile> &getOtherProfiles() {
  static std::list<GPUProfile> others;
  return others;
}

void recur::addGPUProfile(const GPUProfile &profile) { getOtherProfiles().push_back(profile); }

const GPUProfile *recur::findGPUProfile(StringRef target) {
  auto isMeant = [&](const GPUProfile &one) { return one.name == target; };
  if (const GPUProfile *found = find_if(getGPUProfiles(), isMeant); found != getGPUProfiles().end())
    return found;
  auto other = find_if(getOtherProfiles(), isMeant);
  return other == getOtherProfiles().end() ? nullptr : &*other;
}

const GPUProfile &recur::getDefaultGPUProfile() { return *findGPUProfile("sm_90a"); }

std::optional<std::string> GPUProfile::explainNoRoom(int64_t bytes) const {
  if (bytes <= sharedBytes)
    return std::nullopt;
  return "it takes " + std::to_string(bytes) + " bytes of shared memory, and a CTA of '" + name.str() + "' has " +
         std::to_string(sharedBytes);
}

uint32_t GPUProfile::getFeatures() const { return uint32_t(capability) | (isExact ? RECUR_EXACT_CAPABILITY : 0); }

const GPUModel &GPUProfile::getModel() const {
  return *find_if(models, [&](const GPUModel &model) { return model.name == typical; });
}

MultiprocessorRates GPUProfile::getRates() const {
  MultiprocessorRates rates; // those of Hopper were measured
  if (hasWarpgroupProducts)
    return rates;
  const GPUModel &model = getModel();
  constexpr double mostOfWarps = 1024; // mma.sync: each fragment of the right factor comes from shared memory
  rates.products16 = std::min(mostOfWarps, model.products16);
  rates.products32 = rates.products16 / 6; // tf32 takes twice as long, three times
  rates.arithmetic = double(arithmetic);
  // Of the bandwidth, what measured kernels of Hopper had of theirs.
  const GPUModel &measured = getDefaultGPUProfile().getModel();
  auto share = [](const GPUModel &one) { return one.bandwidth / (double(one.multiprocessors) * one.clock); };
  double ratio = share(model) / share(measured);
  rates.globalBytes *= ratio;
  rates.chainBytes *= ratio;
  return rates;
}
