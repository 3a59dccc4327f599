// Products under a running scale of each channel: what the ways to make them share.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// The point of a row that its own index's scale does not reach.
constexpr int64_t pointBeforeScale = -1;

/// The pairs within a block of 16 indices of these rows and columns of each index, by halves of 1 to 8 indices: right
/// for any scales. A warp does this. A lane of row r stores what is wanted of indices 2 r and 2 r + 1.
void emitPairsByHalves(TeamCode &t, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                       const Place &result, mlir::Value block, llvm::ArrayRef<int64_t> slots,
                       llvm::ArrayRef<int64_t> writes, const std::array<mlir::Value, 2> &isWanted);

/// What a warp does for rows that are not steady, unless all lanes' rows are. Steady rows are stored before that, so
/// that the halves have the registers of their sums.
void unlessSteady(TeamCode &t, const std::array<mlir::Value, 2> &isSteady, llvm::function_ref<void()> makeHalves);

/// The rows of an op, and where their dots go.
struct DotsOfRows {
  tile::ScaledDotsOp op;
  Place rows, result;
};

/// Rounded dots where the scales come as logarithms: their sums are products with triangles of ones. All have the same
/// columns, and so many of their rows.
void emitDotsOfSums(TeamCode &t, llvm::ArrayRef<DotsOfRows> all, const Place &right, const Place &scales,
                    std::optional<Place> work, mlir::Value rows);

} // namespace recur::conversion::nvvm
