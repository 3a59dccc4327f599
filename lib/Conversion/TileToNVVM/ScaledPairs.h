// Products under a running scale of each channel: what the ways to make them share.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// The point of a row that its own index's scale does not reach.
constexpr int64_t pointBeforeScale = -1;

/// The pairs within a block of 16 indices of these rows and columns of each index, by halves of 1 to 8 indices: right
/// for any scales. A warp does this.
void emitPairsByHalves(TeamCode &t, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                       const Place &result, mlir::Value block, llvm::ArrayRef<int64_t> slots,
                       llvm::ArrayRef<int64_t> writes);

/// `emitRoundedDots` where the scales come as logarithms: their sums are products with triangles of ones.
void emitDotsOfSums(TeamCode &t, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                    std::optional<Place> work, const Place &result, mlir::Value rows);

} // namespace recur::conversion::nvvm
