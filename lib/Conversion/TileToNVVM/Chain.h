// Kernels whose state stays in the registers of a warpgroup.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/IR/IRMapping.h"

namespace recur::conversion::nvvm {

/// Emits the kernel's ops as three roles. `values` has what scalars around the ops have become, `shared` is where
/// shared memory begins.
void emitStateChain(TeamCode &team, const analysis::StateChain &chain,
                    const llvm::DenseMap<mlir::Value, CallerArray> &arrays, const mlir::IRMapping &values,
                    mlir::Value shared);

} // namespace recur::conversion::nvvm
