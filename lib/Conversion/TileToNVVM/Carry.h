// Kernels whose channels are carried from chunk to chunk by a thread each.
#pragma once
#include "Analysis/ChannelCarry.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/IR/IRMapping.h"
#include <functional>
#include <optional>

namespace recur::conversion::nvvm {

/// Where a state goes that is stored before each token: if the condition holds, to an array of its own.
struct KeptPlace {
  mlir::Value isElsewhere;
  std::function<CallerArray()> find;
};

/// Emits the kernel's ops for the running thread's channel; `values` are the scalars around the ops. `findKept` is
/// asked of each store in a loop, with the number of tokens before it.
void emitChannelCarry(TeamCode &team, tile::KernelOp kernel, const analysis::ChannelCarry &carry,
                      const llvm::DenseMap<mlir::Value, CallerArray> &arrays, const mlir::IRMapping &values,
                      llvm::function_ref<std::optional<KeptPlace>(tile::StoreOp, mlir::Value)> findKept);

} // namespace recur::conversion::nvvm
