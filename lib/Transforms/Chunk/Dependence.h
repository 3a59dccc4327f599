// Which ops of a program depend on a value.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {

/// The ops of the block that depend on any of the values, by operands or by what their regions capture; in order.
llvm::SetVector<mlir::Operation *> findDependents(mlir::Block &block, mlir::ValueRange values);

/// The states that any of the ops needs, at once or by way of what other states become.
llvm::SetVector<StateOp> findNeededStates(llvm::ArrayRef<mlir::Operation *> ops);

/// The values from outside of the op that it or its regions use; each once.
llvm::SetVector<mlir::Value> findUsedValues(mlir::Operation *op);

} // namespace recur::chunk
