// States whose rows decay by themselves while tokens erase along the columns, or the other way round.
//
// A segment takes such a state to `diag(L) S A + B`, L being the decay of the rows over the whole segment, where what
// is erased is read after the decay: `diag(l) S (I - b k k^T)` of each token then lets all l be taken to the front.
// Where it is read before the decay, `diag(l) S - b S k k^T` does to each row what no matrix does to all of them.
//
// In the program of a chunk that shows in what the rows' decay multiplies: a row of tokens that is read of the state is
// scaled by the decay up to and with its own token, sums of such rows keep to that, and what is written is scaled by
// the decay to the chunk's end. Then every scale can be left out, and what remains is the map.
#pragma once

#include "Transforms/Chunk/StatePath.h"
#include "mlir/IR/IRMapping.h"

namespace recur::chunk {

/// The decay that scales rows for a map from the right, columns for one from the left.
class SideDecay {
public:
  /// None where the path is not the product of such scales and of a map from `side`.
  static std::optional<SideDecay> find(const StatePath &path, SummaryKind side);

  /// The number of each row, or column, over the whole chunk: as the value of one token.
  mlir::Value buildTotal(mlir::OpBuilder &builder, mlir::Location loc) const {
    return CumulativeDecayOp::create(builder, loc, DecayRange::Total, steps, linear);
  }
  /// Copies the path without the decay, and gives the copies.
  llvm::SmallVector<mlir::Operation *> copyWithout(mlir::OpBuilder &builder, const StatePath &path,
                                                   mlir::IRMapping &copies) const;

private:
  explicit SideDecay(SummaryKind side) : side(side) {}

  SummaryKind side;  ///< of the map
  mlir::Value steps; ///< of each token and each row, or column
  bool linear = false;
  llvm::SmallPtrSet<mlir::Operation *, 4> scalings; ///< products by which rows get their scales
};

} // namespace recur::chunk
