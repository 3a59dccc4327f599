// What the ops of one team's chunk read and write.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::conversion {

/// A tile or an array that an op reads or writes.
struct TileUse {
  mlir::Value memory;
  bool isWrite;
};

/// What an op of one team reads and writes. What it does not write for certain counts as written.
llvm::SmallVector<TileUse> findUses(mlir::Operation *op);

/// Two arrays of the caller's may be the same where one is read, as values and outputs in one place; none is written
/// twice.
bool conflict(const TileUse &one, const TileUse &other);

} // namespace recur::conversion
