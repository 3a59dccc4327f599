// Kernels that work on each row by itself.
#pragma once
#include "Analysis/RowPass.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// Says where an array begins: to all lanes of all warps together, or to those that ask.
using FindArray = llvm::function_ref<CallerArray(mlir::Value array, bool asksEveryLane)>;

/// Emits what the kernel does with a chunk, of whose tokens the first one and the number are given.
void emitRowPass(TeamCode &team, const analysis::RowPass &pass, mlir::Value first, mlir::Value rows,
                 FindArray findArray);

} // namespace recur::conversion::nvvm
