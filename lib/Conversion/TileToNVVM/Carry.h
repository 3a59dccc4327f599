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

/// What becomes of a state before a token of a tree: whether it is kept, and whether another one is taken in its place,
/// with where these lie.
struct CarriedFork {
  mlir::Value isKept, isElsewhere;
  std::function<CallerArray()> findKept, findOther;
};

/// What of a kernel the code of its channels does not know itself.
struct CarryKernel {
  const llvm::DenseMap<mlir::Value, CallerArray> &arrays;
  const mlir::IRMapping &values; // the scalars around the ops
  /// Of a store in a loop, with the number of tokens before it.
  llvm::function_ref<std::optional<KeptPlace>(tile::StoreOp, mlir::Value)> findKept;
  /// The first token of the loop, which by the loop itself is this one.
  llvm::function_ref<mlir::Value(mlir::scf::ForOp loop, mlir::Value begin)> findBegin;
  /// Has final states stored where the first so many tokens, of all, end at a multiple at which the call keeps states.
  llvm::function_ref<void(mlir::Value tokens, mlir::Value allTokens,
                          llvm::function_ref<void(tile::StoreOp, const CallerArray &)> store)>
      atMultiple;
  /// The row that a load in the loop takes at a token, and whether a store stores there, null where it always does.
  llvm::function_ref<mlir::Value(tile::LoadOp, mlir::Value token)> findLoaded;
  llvm::function_ref<void(mlir::Value token)> findToken; // what all loads ask for, before the first of them
  llvm::function_ref<mlir::Value(tile::StoreOp, mlir::Value token)> isStored;
  /// Of a kernel that goes over trees, before each of their tokens.
  llvm::function_ref<std::optional<CarriedFork>(tile::StoreOp kept, mlir::Value token)> findFork;
};

/// Emits the kernel's ops for the running thread's channel.
void emitChannelCarry(TeamCode &team, tile::KernelOp kernel, const analysis::ChannelCarry &carry,
                      const CarryKernel &known);

} // namespace recur::conversion::nvvm
