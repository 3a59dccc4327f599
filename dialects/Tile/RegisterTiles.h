// How the tiles in registers of one team of threads lie.
//
// Each warp has one block of the matrix, and in it units as the matrix units leave sums (FragmentLayout.h). All tiles
// of one size lie alike, so a pass over their elements moves nothing from thread to thread.
#pragma once
#include "dialects/Tile/FragmentLayout.h"
#include <optional>

namespace recur::tile {

/// What each warp has: so many units of 16 rows and of 8 columns, and so many such blocks side by side.
struct WarpBlock {
  int64_t rowUnits, columnUnits, across;
  int64_t rows() const { return SumsLayout::unitRows * rowUnits; }
  int64_t columns() const { return SumsLayout::unitColumns * columnUnits; }
  int64_t numbersPerThread() const { return SumsLayout::numbersOfUnit * rowUnits * columnUnits; }
  SumsLayout sums() const { return {columnUnits}; }
};

/// As square as can be, for a product reads a warp's rows and columns; none where a matrix cannot be dealt out so that
/// all warps have the same.
inline std::optional<WarpBlock> spreadOverWarps(int64_t rows, int64_t columns, int64_t warps) {
  std::optional<WarpBlock> best;
  for (int64_t across = 1; across <= warps; ++across) {
    int64_t down = warps / across;
    int64_t unitRows = SumsLayout::unitRows * down, unitColumns = SumsLayout::unitColumns * across; // of all warps
    if (down * across != warps || rows % unitRows || columns % unitColumns)
      continue;
    WarpBlock block{rows / unitRows, columns / unitColumns, across};
    if (!best || block.rows() + block.columns() < best->rows() + best->columns())
      best = block;
  }
  return best;
}

/// Whether the team of a CTA has an inverse of so many rows: whole blocks, of which a warp has a row in registers.
constexpr bool isInvertedByBlocks(int64_t rows) { return rows % 16 == 0 && rows <= 128; }

} // namespace recur::tile
