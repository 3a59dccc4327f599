// Rows that are each multiplied by a number of their own.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// What a product of rows with a number each is made of; null where the value is none.
struct ScaledRows {
  mlir::Value factor, rows;
  explicit operator bool() const { return bool(factor); }
};

/// Matches a product, in either order, of a matrix of rows with a vector that has a number for each, or one for all.
inline ScaledRows matchScaledRows(mlir::Value value) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map || map.getFunction() != Function::Mul || tensorOf(value).getRank() != 2)
    return {};
  for (auto [a, b] : {std::pair(0, 1), {1, 0}})
    if (mlir::Value factor = map.getOperands()[a], rows = map.getOperands()[b];
        tensorOf(factor).getRank() == 1 && rows.getType() == value.getType())
      return {factor, rows};
  return {};
}

/// Whether the rows of the tokens are in an array: the caller's, or one that an earlier phase left.
inline bool areInArray(mlir::Value rows) {
  auto take = rows.getDefiningOp<TakeOp>();
  return rows.getDefiningOp<InputOp>() || (take && !take.getWhole() && tensorOf(rows).getDimSize(0) > 1);
}

} // namespace recur::chunk
