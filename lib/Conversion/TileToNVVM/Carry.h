// Kernels whose channels are carried from chunk to chunk by a thread each.
#pragma once
#include "Analysis/ChannelCarry.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/IR/IRMapping.h"

namespace recur::conversion::nvvm {

/// Emits the kernel's ops for the running thread's channel; `values` are the scalars around the ops.
void emitChannelCarry(TeamCode &team, tile::KernelOp kernel, const analysis::ChannelCarry &carry,
                      const llvm::DenseMap<mlir::Value, CallerArray> &arrays, const mlir::IRMapping &values);

} // namespace recur::conversion::nvvm
