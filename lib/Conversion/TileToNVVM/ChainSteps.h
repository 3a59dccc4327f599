// What the warpgroup that has a chain's state does in a chunk.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// What of a chunk the steps do not know themselves.
struct ChainSurroundings {
  mlir::Value base, stage, numbers; // addresses in shared memory: of all, of the chunk's tiles, and of its numbers
  /// Stops until the stage has been filled.
  llvm::function_ref<void()> waitForLoads;
  /// A number of the kernel's loop, of 32 bits.
  llvm::function_ref<mlir::Value(mlir::Value)> narrow;
  /// Fills a tile from which others store: the state's, which is the first, or that of a value. `fill` runs once they
  /// have stored what was there.
  llvm::function_ref<void(int64_t tile, llvm::function_ref<void()> fill)> leave;
};

/// Emits the steps in their order. The state is a thread's numbers of it, as the matrix units leave sums: channels are
/// rows. Gives what it becomes.
llvm::SmallVector<mlir::Value> emitChainSteps(TeamCode &team, const analysis::StateChain &chain,
                                              const ChainSurroundings &around, mlir::ValueRange state);

} // namespace recur::conversion::nvvm
