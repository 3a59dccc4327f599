// Kernels whose state stays in the registers of a warpgroup.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/ChainSummaries.h"
#include "Conversion/TileToNVVM/ChunkFlags.h"
#include "mlir/IR/IRMapping.h"
#include <functional>

namespace recur::conversion::nvvm {

/// What the copy unit is told of an array: its tensor map, and what the CTA has of it, beginning with this column, of
/// this head and sequence.
struct ArrayMap {
  mlir::Value address, column, head, sequence;
};

/// Multiples of tokens at which a call may keep the state, in rows of a pool. Numbers of tokens are of 64 bits here.
class ChainMultiples {
public:
  virtual ~ChainMultiples() = default;
  /// How far multiples are apart; 0 where the call keeps no states on the way.
  virtual mlir::Value getInterval() = 0;
  /// The first multiple behind so many tokens of the unit; more than there are tokens if the call keeps none.
  virtual mlir::Value findNext(mlir::Value tokens) = 0;
  /// The row of the unit's multiple of this number; negative where it has none.
  virtual mlir::Value findRow(mlir::Value number) = 0;
  /// Where the state goes in such a row.
  virtual CallerArray findArray(mlir::Value row) = 0;
};

/// What of a kernel its roles do not know themselves.
struct ChainKernel {
  const llvm::DenseMap<mlir::Value, CallerArray> &arrays;
  const mlir::IRMapping &values; // what scalars around the ops have become
  mlir::Value shared;            // where shared memory begins
  ChunkFlags flags;              // of the chunks of the arrays that are awaited, if there are any
  mlir::Value part;              // of the value channels
  llvm::DenseSet<mlir::Value> awaited;
  std::optional<SegmentSummaries> summaries;
  /// Where the final state goes, given where the CTA's tokens end.
  llvm::function_ref<CallerArray(mlir::Value end)> findFinal;
  ChainMultiples *multiples = nullptr; // null where no call keeps states on the way
  mlir::Value areMapped = {};          // whether the copy unit brings rows; null where it never does
  llvm::function_ref<ArrayMap(mlir::Value array)> findMap = nullptr;
  /// Of a CTA that goes over one head of a sequence after another: how many it has; what must be read of one, which is
  /// asked for while another is gone over; and what makes arrays and scalars those of one, which each role does where
  /// it comes to it.
  std::function<mlir::Value()> countUnits = nullptr;
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value round)> findUnit = nullptr;
  std::function<void(mlir::Value round, mlir::ValueRange found)> enterUnit = nullptr;
};

/// Emits the kernel's ops as roles.
void emitStateChain(TeamCode &team, const analysis::StateChain &chain, const ChainKernel &kernel);

} // namespace recur::conversion::nvvm
