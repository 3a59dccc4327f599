// Kernels that do nothing from chunk to chunk but read and advance one state, with what loads bring: their state can
// stay in the registers of a warpgroup.
#pragma once

#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// What such a kernel does in a chunk, and where its tiles lie in shared memory when it is done by four roles: a
/// warpgroup that has the state, warps that load, one that says what has come, and warps that store. Chunks go through
/// stages; those ahead are on their way while one is computed.
struct StateChain {
  /// A tile that each chunk brings: rows in panels of 64 columns, whose pieces of 16 bytes are permuted as `swizzle
  /// 128` says, or numbers side by side.
  struct Load {
    tile::LoadOp op;
    int64_t offset = 0; // in the stage, in bytes
    tile::TileType type() const { return tile::LoadOp(op).getTile().getType(); }
    bool isRows() const { return type().getElementBytes() == 2; }
  };
  /// rows S^T, and rows added to that, rounded; `sums` is what the caller is left, if anything.
  struct Read {
    unsigned rows;
    std::optional<unsigned> plus;
    int64_t count; // of rows
    tile::StoreOp store = {};
    int64_t offset = 0; // of the sums, for those who store them
  };
  /// S scaled, and values^T keys added. The values are those of a load, or the sums of a read.
  struct Advance {
    bool takesSums;
    unsigned values, keys;
    std::optional<unsigned> scale; // of columns, or of all
  };
  /// Value channels: as many as a product of a warpgroup has rows.
  static constexpr int64_t channels = 64;
  static constexpr int64_t stateThreads = 128, loadThreads = 64, announceThreads = 32, storeThreads = 64;
  static constexpr int64_t threads = stateThreads + loadThreads + announceThreads + storeThreads;

  tile::LoadOp initial;
  tile::StoreOp final, kept; // `kept` is the state rounded, at each chunk's beginning; null if nobody wants it
  mlir::scf::ForOp loop;
  llvm::SmallVector<Load> loads;
  llvm::SmallVector<Read> reads;
  llvm::SmallVector<Advance> advances;
  int64_t keys = 0; // columns of the state
  int64_t stages = 0, stageBytes = 0, keptOffset = 0, barrierOffset = 0, sharedBytes = 0;

  /// A row of the tiles that are stored, in elements: a little longer than the row, so that eight rows lie in different
  /// banks.
  static int64_t paddedRow(int64_t columns) { return columns + 8; }
};

/// What the kernel does, if that is all that it does and registers and shared memory have room for it.
std::optional<StateChain> findStateChain(tile::KernelOp kernel);

} // namespace recur::analysis
