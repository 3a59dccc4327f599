// Summaries of segments, by warpgroups that have a state in their registers.
//
// Each thread leaves its numbers of a segment's state in its own places, side by side with those of other threads, for
// the thread that has the same ones in the next launch. A map is a matrix of two numbers of bf16 each, whose sum has 16
// bits: a state passes through as many maps as there are segments, and one rounding of each is too much.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// Where a launch's summaries of segments lie, in device memory: of the unit's first segment, and how far those of the
/// next are behind.
struct SegmentSummaries {
  bool isMade = false;  // by this launch, for the next
  bool hasMaps = false; // matrices; else there is a factor for each column
  mlir::Value segment;  // that the CTA has
  mlir::Value stride;   // in bytes, of 64 bits
  mlir::Value maps, states;
  mlir::Value mapsState, rowBlock; // whether a CTA that makes maps is one, and of which rows; null where there are none
  int64_t forgottenOffset = 0;     // of the word that says whether a segment forgets what was before; 0: there is none
  mlir::Value isForgotten;         // by the segment for which the CTA makes a summary; null where none is
};

/// What the CTA's segment begins with: what `load` gives in the first one, and in others what follows from the
/// summaries of those before. Where matrices are multiplied, they pass through the shared memory from `base` on.
llvm::SmallVector<mlir::Value> emitStart(TeamCode &team, const analysis::StateChain &chain,
                                         const SegmentSummaries &summaries, mlir::Value base,
                                         llvm::function_ref<llvm::SmallVector<mlir::Value>()> load);

/// The same for a launch that makes summaries: CTAs that make maps begin with an identity.
llvm::SmallVector<mlir::Value> emitOwnStart(TeamCode &team, const analysis::StateChain &chain,
                                            const SegmentSummaries &summaries,
                                            llvm::function_ref<llvm::SmallVector<mlir::Value>()> load);
/// Leaves what became of that.
void emitSummary(TeamCode &team, const analysis::StateChain &chain, const SegmentSummaries &summaries,
                 mlir::ValueRange state);

/// Factors of the state's columns, for which one warp is enough: a lane has every 32nd.
class ColumnFactors {
public:
  ColumnFactors(TeamCode &team, const analysis::StateChain &chain) : t(team), chain(chain) {}
  /// Whether the state is scaled at all.
  static bool isScaled(const analysis::StateChain &chain);
  llvm::SmallVector<mlir::Value> begin();
  /// Takes those of a chunk, whose numbers lie in a stage.
  llvm::SmallVector<mlir::Value> take(mlir::ValueRange factors, mlir::Value numbers);
  void store(mlir::ValueRange factors, const SegmentSummaries &summaries);

private:
  mlir::Value column(int64_t part) { return t.add(t.lane, part * 32); }

  TeamCode &t;
  const analysis::StateChain &chain;
};

} // namespace recur::conversion::nvvm
