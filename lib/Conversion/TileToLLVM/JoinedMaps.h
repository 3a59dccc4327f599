// Maps that stand side by side and go over the same rows and columns are one pass: each element is computed by all of
// them while it is in a register. So is a product's result that the maps behind it take: it goes through them before it
// is stored. What nothing else looks at is not stored at all.
#pragma once
#include "Conversion/TileToLLVM/Emitter.h"

namespace recur::conversion {

struct JoinedPass {
  /// A map, and for each of its inputs where the element comes from: an earlier map, or as JoinedMap says.
  struct Step {
    tile::MapOp map;
    llvm::SmallVector<int64_t> sources;
    bool isStored = true;
  };
  tile::ProductOp product; // whose result the maps begin with, if any
  bool storesProduct = true;
  llvm::SmallVector<Step> steps;
  /// What stands between the ops and gives them operands: it has no effect and comes before the pass.
  llvm::SmallVector<mlir::Operation *> between;
};

/// The pass that begins with this op and takes at least one map behind it along.
std::optional<JoinedPass> findJoinedPass(Emitter &emitter, mlir::Operation *first);

} // namespace recur::conversion
