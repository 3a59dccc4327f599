// Rows of an array that lie some tokens before a chunk, where the first chunks of a sequence have others in their
// place.
#pragma once
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace recur::analysis {

/// What an op makes of rows that were loaded where the sequence has fewer: these move by as many as are `missing`,
/// whose places rows of another array take.
struct EarlierRows {
  mlir::scf::IfOp op;
  mlir::Value tile;   // that was loaded
  tile::LoadOp given; // the other array's rows, all of them
  mlir::Value there;  // how many rows were loaded
  mlir::Value missing;
  mlir::Value first; // of the other array's rows
};

std::optional<EarlierRows> matchEarlierRows(mlir::scf::IfOp op);

} // namespace recur::analysis
