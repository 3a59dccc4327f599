// How what has decayed on its way moves with the decay.
#pragma once

#include "dialects/Chunk/ChunkTangents.h"

namespace recur::chunk {

/// The decay of an op, and its tangent.
struct MovedDecay {
  mlir::Value steps, moved;
  bool linear;
};

/// The tangents of `chunk.interaction` and of `chunk.apply` where only the decay moves.
mlir::Value moveInteraction(ValueBuilder &build, mlir::Value rows, mlir::Value columns, llvm::ArrayRef<int64_t> points,
                            llvm::ArrayRef<int64_t> steps, MovedDecay decay);
mlir::Value moveApply(ValueBuilder &build, mlir::Value matrix, mlir::Value values, llvm::ArrayRef<int64_t> points,
                      llvm::ArrayRef<int64_t> steps, MovedDecay decay);

} // namespace recur::chunk
