// How long the plan of one team takes for a chunk, by what it asks of each unit of a multiprocessor. Ops run one after
// another, so a CTA's chunk takes the sum of what each op waits for: its busiest unit, or the chain of steps of which
// each needs the one before, and the way there and back. What a multiprocessor could do at best, with enough CTAs on
// it, is the busiest unit over all ops.
//
// Exponentials and their like are arithmetic: they are spelled out, and the units for them are left alone.
#pragma once
#include "Analysis/StateChain.h"

namespace recur::analysis {

/// What a multiprocessor of sm_90a does in a cycle, and how many cycles what does next to nothing takes. Those of
/// latencies and of device memory are fitted to measured kernels.
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
};

/// In cycles, for one whole chunk.
struct KernelTime {
  double products = 0, arithmetic = 0, shared = 0, global = 0; // how long each unit is busy
  double stored = 0;                                           // of `global`, which nobody waits for
  double critical = 0;                                         // one op after another
  /// Of the unit that is busy longest.
  double getBound() const;
  /// `products`, `arithmetic`, `shared memory` or `device memory`.
  llvm::StringRef getBusiest() const;
};

KernelTime estimateTime(tile::KernelOp kernel, const MultiprocessorRates &rates = {});

/// A multiprocessor's cycles for a chunk where so many CTAs or teams share it, each with chunks of its own. They hide
/// each other's waits but for those for device memory, of which stores count half, as measured rounds of teams say:
/// 5400 cycles of gated_delta_net and 5100 estimated, of delta_net 5300 and 4100, comba 6400 and 6600, pgdn 7400 and
/// 7400, gated_delta_product 7400 and 7200, kda 14900 and 13100, pkda 9000 and 8500, gla 12300 and 12300, dplr 39800
/// and 38300.
double estimateChunk(const KernelTime &time, int64_t neighbours);
/// A CTA's cycles for a chunk where a warpgroup has the state in registers: what it computes is not hidden by its
/// products, and it waits for each of those that the next chunk waits for. With two stages a chunk's loads begin when
/// the chunk before the last is done, and take a chunk's time at least. Of the same first three 2400 and 2600, 2200 and
/// 2300, 1700 and 1500; kda 3100 and 3000, gla 1600 and 1500, dplr 3700 and 3900, rwkv7 3800 and 3900, pgdn 3200 and
/// 3300.
double estimateChain(const StateChain &chain, const KernelTime &time, const MultiprocessorRates &rates = {});

} // namespace recur::analysis
