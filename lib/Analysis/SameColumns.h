// Dots of which several ops scale the same columns.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// Whether both ops take rounded dots with the same columns under the same logarithms of scales, in the same work, so
/// that columns are scaled once for the rows of both where one stands right behind the other.
bool haveSameColumns(tile::ScaledDotsOp one, tile::ScaledDotsOp other);

} // namespace recur::analysis
