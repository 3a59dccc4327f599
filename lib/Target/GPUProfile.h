// What NVIDIA's GPUs have, as data: how much a CTA and a multiprocessor may take, which instructions there are beyond
// those of every GPU that kernels are made for, and how fast it all is. Whoever plans, lowers or judges a kernel asks
// here, and nowhere else.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace recur {

/// What a multiprocessor does in a cycle, and how many cycles what does next to nothing takes: all that estimates of
/// time know of a GPU. Latencies and device memory are fitted to measured kernels of sm_90a.
struct MultiprocessorRates {
  double products16 = 2048;   // multiplications of factors of 16 bits
  double products32 = 340;    // of f32, by three of tf32
  double arithmetic = 128;    // instructions of a thread
  double sharedBytes = 128;   // to and from shared memory
  double globalBytes = 18;    // through the second-level cache, where all multiprocessors are busy
  double chainBytes = 36;     // the same where half of them are, as with chains of few heads
  double latency = 120;       // of an op: a barrier, and the way from shared memory and back
  double globalLatency = 900; // of the first byte
  double rowLatency = 30;     // of a row that needs the one before
  double stepLatency = 33;    // of 16 inner indices of a warp's product, which need the 16 before
  double unitLatency = 110;   // of a product that others wait for, from its begin to its sums
  double blockLatency = 200;  // of a block of running sums: loads, two products and a power
  double scaledLatency = 250; // of 16 channels of rows that decay by channel: the same, and a third product
  double chainOverhead = 400; // of a chain's chunk: barriers, addresses, and what is stored
};

/// A GPU that one can buy, by NVIDIA's public tables (docs/gpus.md names them).
struct GPUModel {
  llvm::StringLiteral name;
  int64_t capability;      // 90 for compute capability 9.0
  int64_t multiprocessors; //
  double clock;            // GHz, boosted
  double products16;       // multiplications of factors of 16 bits with sums of f32, of a multiprocessor in a cycle
  int64_t cacheMiB;        // of the second level
  double bandwidth;        // of device memory, GB/s
};

llvm::ArrayRef<GPUModel> getGPUModels();

/// The GPUs of one target.
struct GPUProfile {
  llvm::StringLiteral name;         // of the target
  int64_t capability;               // the least that its code runs on, 90 for compute capability 9.0
  llvm::StringLiteral architecture; // for LLVM and the assembler
  llvm::StringLiteral features;     // for LLVM: the version of PTX
  llvm::StringLiteral typical;      // the model that times are estimated for

  int64_t sharedBytes;                // that a CTA may have
  int64_t sharedOfMultiprocessor;     // that all CTAs of a multiprocessor have together
  int64_t threadsOfMultiprocessor;    //
  int64_t arithmetic;                 // instructions of a thread for f32, of a multiprocessor in a cycle
  int64_t threads = 1024;             // that a CTA may have
  int64_t registers = 65536;          // of 32 bits, of a multiprocessor and of a CTA
  int64_t registersPerThread = 255;   // at most
  int64_t reservedSharedBytes = 1024; // of each CTA, beside what it asks for

  int64_t spilledBytes = 0; // that a thread may keep in memory for want of registers before another plan is taken

  bool isExact = false;    // code for this capability runs on no other
  bool isPortable = false; // what is kept is PTX, which the driver of any later GPU compiles

  // Instructions.
  bool hasWarpgroupProducts = false; // wgmma, and setmaxnreg: warpgroups multiply, and warps give registers to others
  bool hasCopyUnit = false;          // bulk copies by tensor maps, which barriers count
  bool storesMatrices = false;       // stmatrix
  bool bounds16 = true;              // min.xorsign.abs of pairs of 16 bits: the smaller size with the first one's sign
  bool waitsAtBarriers = false;      // try_wait: a thread sleeps until a barrier's phase is complete
  bool startsEarly = false;          // a launch may begin while the one before it runs

  /// Why a CTA that takes so many bytes of shared memory has no room; none where it has.
  std::optional<std::string> explainNoRoom(int64_t bytes) const;
  /// As `recur_recurrence.features` has them.
  uint32_t getFeatures() const;
  const GPUModel &getModel() const;
  MultiprocessorRates getRates() const;
};

/// Of all targets, in the order in which they are listed.
llvm::ArrayRef<GPUProfile> getGPUProfiles();
/// The one of a target; null where there is none of this name.
const GPUProfile *findGPUProfile(llvm::StringRef target);
/// That of `sm_90a`, for plans that do not say which GPU they are for.
const GPUProfile &getDefaultGPUProfile();

} // namespace recur
