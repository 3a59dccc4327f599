// Views give a tile another shape, or name a part of it.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// The tile whose memory this one lies in.
inline mlir::Value getWholeTile(mlir::Value tile) {
  while (auto view = tile.getDefiningOp<tile::ViewOp>())
    tile = view.getSource();
  return tile;
}

} // namespace recur::analysis
