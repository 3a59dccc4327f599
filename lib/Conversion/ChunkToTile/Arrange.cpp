// What is decided of a chunk program as a whole, before its ops become tile ops.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;

/// A matrix that is read by rows of tokens lies transposed if reads and advances are all that is done with it: then the
/// products need no transpose.
void Planner::chooseLayouts() {
  SmallVector<Value> matrices;
  program.walk([&](Operation *op) {
    if (auto state = dyn_cast<chunk::StateOp>(op); state && chunk::tensorOf(state).getRank() == 2)
      matrices.push_back(state);
    else if (auto advance = dyn_cast<chunk::AdvanceOp>(op))
      matrices.push_back(advance);
  });
  for (Value matrix : matrices) {
    bool left = false, right = false, other = false;
    for (OpOperand &use : matrix.getUses()) {
      if (auto read = dyn_cast<chunk::ReadOp>(use.getOwner()); read && use.getOperandNumber() == 1)
        (read.getLeft() ? left : right) = true;
      else if (auto advance = dyn_cast<chunk::AdvanceOp>(use.getOwner()); !advance || use.getOperandNumber() != 0)
        other |= !isa<chunk::NextOp>(use.getOwner());
    }
    if (!other && (right || !left))
      transposedMatrices.insert(matrix);
  }
  // What becomes of a matrix lies as it does.
  auto agree = [&](Value a, Value b) {
    if (transposedMatrices.contains(a) == transposedMatrices.contains(b))
      return false;
    transposedMatrices.erase(a);
    transposedMatrices.erase(b);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    program.walk([&](Operation *op) {
      if (auto advance = dyn_cast<chunk::AdvanceOp>(op))
        changed |= agree(advance.getState(), advance.getResult());
      else if (auto next = dyn_cast<chunk::NextOp>(op))
        changed |= agree(next.getState(), next.getValue());
    });
  }
}
