// Sums of rows of one matrix times those of another.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// Whether an op sums over each row the products of two matrices in shared memory, in numbers of 16 bits.
bool areRowDots(tile::ReduceOp op, llvm::ArrayRef<Place> places, const Place &result);
void emitRowDots(TeamCode &team, tile::ReduceOp op, llvm::ArrayRef<Place> places, const Place &result,
                 mlir::Value rows);

} // namespace recur::conversion::nvvm
