// What is changed in a chunk program, or decided of it as a whole, before its ops become tile ops.
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

/// States change after all that reads them, and so in place.
void Planner::moveAdvancesDown() {
  Block &block = program.getBody().front();
  auto moveToEnd = [&](Operation *op) { op->moveBefore(&block, block.end()); };
  for (auto advance : llvm::to_vector(block.getOps<chunk::AdvanceOp>()))
    if (llvm::all_of(advance->getUsers(), [](Operation *user) { return isa<chunk::NextOp>(user); }))
      moveToEnd(advance);
  for (auto next : llvm::to_vector(block.getOps<chunk::NextOp>()))
    moveToEnd(next);
}

/// Rows of which each is scaled by its decay before they read a state: the decay moves to what was read, where the pass
/// that takes the result further computes it on the way. The rows as they are may serve other products as well.
void Planner::moveDecaysOut() {
  program.walk([&](chunk::ReadOp read) {
    auto scaled = read.getRows().getDefiningOp<chunk::MapOp>();
    if (!scaled || scaled.getFunction() != chunk::Function::Mul || !read->hasOneUse())
      return;
    auto reader = dyn_cast<chunk::MapOp>(*read->user_begin());
    if (!reader || !chunk::isElementwise(reader.getFunction()) ||
        reader.getResult().getType() != read.getResult().getType())
      return;
    for (auto [decay, rows] : {std::pair(0, 1), {1, 0}}) {
      Value factor = scaled.getOperands()[decay], unscaled = scaled.getOperands()[rows];
      if (!factor.getDefiningOp<chunk::CumulativeDecayOp>() || chunk::tensorOf(factor).getRank() != 1 ||
          unscaled.getType() != scaled.getResult().getType())
        continue;
      read.getRowsMutable().assign(unscaled);
      OpBuilder after(read->getContext());
      after.setInsertionPointAfter(read);
      auto moved =
          chunk::MapOp::create(after, read.getLoc(), chunk::Function::Mul, ValueRange{factor, read.getResult()});
      read.getResult().replaceAllUsesExcept(moved.getResult(), moved);
      if (scaled->use_empty())
        scaled->erase();
      return;
    }
  });
}
