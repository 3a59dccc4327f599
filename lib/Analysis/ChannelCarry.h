// Kernels that go from chunk to chunk with numbers of channels, or of a whole state, that nothing joins.
#pragma once
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace recur::analysis {

/// What a thread can do by itself for a channel of its own: loads, stores and passes of one row a chunk. Its numbers
/// can stay in registers, and loads of many chunks can be on their way at once.
struct ChannelCarry {
  mlir::scf::ForOp loop;
  int64_t channels = 1;
  llvm::SmallVector<tile::LoadOp> loads;  // of each chunk
  llvm::SmallVector<mlir::Value> carried; // tiles that a chunk takes over from the one before
  /// Chunks whose loads are on their way together.
  int64_t depth = 1;
};

/// Null where some op joins channels, tokens follow one another within a chunk, or there are more channels than
/// threads.
std::optional<ChannelCarry> findChannelCarry(tile::KernelOp kernel);

/// How many channels such a kernel has, whatever its threads; 0 where it is none.
int64_t countCarriedChannels(tile::KernelOp kernel);

} // namespace recur::analysis
