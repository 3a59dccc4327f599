// Interaction matrices that are equal, or equal where they are looked at.
#include "Transforms/Chunk/Passes.h"
#include "mlir/IR/Dominance.h"

namespace recur::chunk {
#define GEN_PASS_DEF_COMMONINTERACTIONSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct CommonInteractionsPass : recur::chunk::impl::CommonInteractionsPassBase<CommonInteractionsPass> {
  void runOnOperation() override;
};
} // namespace

/// One row and one write a token, and the row sees its token's write or not.
static bool hasMask(InteractionOp op, int64_t point) {
  return op.getPoints() == ArrayRef<int64_t>(point) && op.getSteps() == ArrayRef<int64_t>(0);
}

/// Whether only what lies strictly below the diagonal of `matrix` matters, when rows are scaled on the way.
static bool readBelowDiagonal(Value matrix) {
  return llvm::all_of(matrix.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<SolveOp, SolveTransposedOp, InverseOp>(user))
      return use.getOperandNumber() == 0;
    auto map = dyn_cast<MapOp>(user);
    return map && map.getFunction() == Function::Mul &&
           tensorOf(map.getOperands()[1 - use.getOperandNumber()]).getRank() == 1 && readBelowDiagonal(map);
  });
}

static bool sameProduct(InteractionOp a, InteractionOp b) {
  return a.getRows() == b.getRows() && a.getColumns() == b.getColumns() && a.getDecay() == b.getDecay() &&
         a.getLinear() == b.getLinear();
}

/// Whether `kept` can stand for `other` wherever that is used.
static bool standsFor(InteractionOp kept, InteractionOp other) {
  if (!sameProduct(kept, other))
    return false;
  if (kept.getPoints() == other.getPoints() && kept.getSteps() == other.getSteps())
    return true;
  return hasMask(kept, 1) && hasMask(other, 0) && readBelowDiagonal(other.getResult());
}

void CommonInteractionsPass::runOnOperation() {
  DominanceInfo dominance(getOperation());
  SmallVector<InteractionOp> interactions;
  getOperation().walk([&](InteractionOp op) { interactions.push_back(op); });
  llvm::SmallPtrSet<Operation *, 8> erased;
  for (InteractionOp other : interactions)
    for (InteractionOp kept : interactions) {
      if (kept == other || erased.contains(kept) || !standsFor(kept, other))
        continue;
      // One that comes later may move up to where its operands, which both have, are known; not out of a region.
      if (!dominance.properlyDominates(kept.getOperation(), other.getOperation())) {
        if (kept->getBlock() != other->getBlock())
          continue;
        kept->moveBefore(other);
      }
      other.getResult().replaceAllUsesWith(kept.getResult());
      erased.insert(other);
      other.erase();
      break;
    }
}
