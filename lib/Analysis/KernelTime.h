// How long the plan of one team takes for a chunk, by what it asks of each unit of a multiprocessor. Ops run one after
// another, so a CTA's chunk takes the sum of what each op waits for: its busiest unit, or the chain of steps of which
// each needs the one before, and the way there and back. What a multiprocessor could do at best, with enough CTAs on
// it, is the busiest unit over all ops.
//
// Exponentials and their like are arithmetic: they are spelled out, and the units for them are left alone.
#pragma once
#include "Analysis/StateChain.h"

namespace recur::analysis {

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

/// How many instructions the body of a pass over elements takes for one element, about: functions are spelled out, and
/// the element is loaded and stored.
int64_t countInstructions(mlir::Region &body);

/// At the rates of the GPU that the kernel is for.
KernelTime estimateTime(tile::KernelOp kernel);

/// A multiprocessor's cycles for a chunk where so many CTAs or teams share it, each with chunks of its own. They hide
/// each other's waits but for those for device memory, of which stores count half, as measured rounds of teams say
/// (test/unit/Plan/measured.txt).
double estimateChunk(const KernelTime &time, int64_t neighbours);
/// A CTA's cycles for a chunk where a warpgroup has the state in registers: what it computes is not hidden by its
/// products, and it waits for each of those that the next chunk waits for. With two stages a chunk's loads begin when
/// the chunk before the last is done, and take a chunk's time at least.
double estimateChain(const StateChain &chain, const KernelTime &time);

} // namespace recur::analysis
