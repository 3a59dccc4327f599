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

/// Brings sums into the form in which they can stay in registers: what passes make lies where sums were, and sums go on
/// from each other.
void prepareSums(tile::KernelOp kernel, mlir::Block &chunk);
/// Puts sums into registers; `limited`: as many as have room at once as the ops stand.
void chooseRegisters(tile::KernelOp kernel, mlir::Block &chunk, bool limited);
/// Both, and puts the ops in the order in which all that takes the least room.
void keepInLeastRoom(tile::KernelOp kernel, mlir::Block &chunk);

} // namespace recur::conversion
