// The rows of all micro-steps of a token, as they lie in a value that has a row for each step.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// The value of which the interleaved steps are all rows, in their order; null where they are not.
inline mlir::Value findInterleaved(InterleaveOp op) {
  mlir::Value whole;
  for (auto [number, step] : llvm::enumerate(op.getOperands())) {
    auto part = step.getDefiningOp<ExtractOp>();
    if (!part || uint64_t(part.getIndex()) != number || (whole && part.getOperand() != whole))
      return {};
    whole = part.getOperand();
  }
  return tensorOf(whole).getDimSize(1) == int64_t(op.getNumOperands()) ? whole : mlir::Value();
}

} // namespace recur::chunk
