// Checks of shapes that ops of several families share.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// Rows and writes must come from the same tokens, so many a token as the visibility says, and the decay must have a
/// step for each of these tokens and for each of `channels`.
mlir::LogicalResult checkVisibility(std::optional<mlir::Location> loc, int64_t rows, llvm::ArrayRef<int64_t> points,
                                    int64_t columns, llvm::ArrayRef<int64_t> steps, mlir::Value decay,
                                    int64_t channels);

/// Rows and writes must have equally many channels.
mlir::LogicalResult checkChannels(std::optional<mlir::Location> loc, mlir::RankedTensorType rows,
                                  mlir::RankedTensorType columns);

/// A triangle must be square, with a value for each column.
mlir::LogicalResult checkTriangle(std::optional<mlir::Location> loc, mlir::RankedTensorType matrix,
                                  mlir::RankedTensorType values);

/// What products of a matrix and values have in common: the decay needs to know which rows and writes the matrix is of.
template <typename Adaptor> mlir::LogicalResult checkChannelDecay(std::optional<mlir::Location> loc, Adaptor adaptor) {
  if (!adaptor.getDecay())
    return mlir::success();
  std::optional<llvm::ArrayRef<int64_t>> points = adaptor.getPoints(), steps = adaptor.getSteps();
  if (!points || !steps)
    return mlir::emitOptionalError(loc, "a decay of the channels needs to know what the rows see");
  mlir::RankedTensorType matrix = tensorOf(adaptor.getMatrix()), values = tensorOf(adaptor.getValues());
  return checkVisibility(loc, matrix.getDimSize(0), *points, matrix.getDimSize(1), *steps, adaptor.getDecay(),
                         values.getDimSize(1));
}

/// Fails unless `tokens`, without its token dimension, has the shape of `state`.
mlir::LogicalResult checkPerToken(std::optional<mlir::Location> loc, llvm::StringRef what, mlir::Value tokens,
                                  mlir::Value state);

/// Additions and decay steps must fit the state; the decay may be null.
mlir::LogicalResult checkScan(std::optional<mlir::Location> loc, mlir::Value state, mlir::Value additions,
                              mlir::Value decay);

} // namespace recur::chunk
