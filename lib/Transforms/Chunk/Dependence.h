// Which ops of a program depend on a value.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {

/// The ops of the block that depend on any of the values, by operands or by what their regions capture; in order.
llvm::SetVector<mlir::Operation *> findDependents(mlir::Block &block, mlir::ValueRange values);

/// The states that any of the ops needs, at once or by way of what other states become.
llvm::SetVector<StateOp> findNeededStates(llvm::ArrayRef<mlir::Operation *> ops);

/// The values from outside of the op that it or its regions use; each once.
llvm::SetVector<mlir::Value> findUsedValues(mlir::Operation *op);

/// Erases the ops of the block whose results nothing takes, and such declarations of these kinds.
template <typename... Declaration> void eraseUnused(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op) || ((mlir::isa<Declaration>(op) || ...) && op.use_empty()))
      op.erase();
}

} // namespace recur::chunk
