// Loops over tokens that only move the rows of their state.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include <optional>

namespace recur::chunk {

/// A loop whose one state has the last rows of a stream, each token's own behind the others; and what each result is of
/// these rows, as a token finds them.
struct Window {
  struct Result {
    int64_t first, count;       ///< of the rows
    bool isRow = false;         ///< the one row by itself
    mlir::Value weights;        ///< that they are added up with; null where the result is the rows
    int64_t firstWeight = 0;    ///< among those
    bool areOfElements = false; ///< one for each element of each row
  };
  unsigned stream = 0;
  llvm::SmallVector<Result, 2> results;
};

std::optional<Window> findWindow(TokenLoopOp op);

/// Whether the op has the rows of all tokens from so many before the chunk on.
bool isHeldWindow(HeldOp op);

/// What such a loop makes of the state, and nothing else.
mlir::Value buildMovedWindow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value state, mlir::Value rows);

} // namespace recur::chunk
