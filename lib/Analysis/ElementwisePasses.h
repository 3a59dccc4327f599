// Which elementwise functions of a chunk program are computed in one pass over their elements.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/DenseMap.h"

namespace recur::analysis {

class ElementwisePasses {
public:
  /// `isMadeElsewhere` says of which maps a machine computes the elements while it does something else with them.
  /// `ofCore`: a pass over matrices takes an outer product of vectors, or a matrix that a vector scales, element by
  /// element, as a CTA does with what states become between chunks; a product sums the elements of one matrix in the
  /// pass that computes them; and what a token hands to the next is computed as it is handed over.
  explicit ElementwisePasses(std::function<bool(chunk::MapOp)> isMadeElsewhere, bool ofCore)
      : isMadeElsewhere(std::move(isMadeElsewhere)), ofCore(ofCore) {}

  /// The op in whose pass over elements a map is computed, which may be itself: where all of its readers are computed
  /// in one pass over as many elements, be it a map's or that of a scan or product that takes it, it is that pass.
  mlir::Operation *of(chunk::MapOp map);
  /// Has the map computed in the pass of this op, unless another pass has been given out.
  bool assign(chunk::MapOp map, mlir::Operation *pass);

private:
  bool mayBeTaken(chunk::MapOp map) const;

  std::function<bool(chunk::MapOp)> isMadeElsewhere;
  bool ofCore;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> passes;
};

} // namespace recur::analysis
