// States change after all that reads them.
#include "Analysis/ChunkStructure.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_ADVANCELASTPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

/// An op that makes a matrix without tokens of such: one that a state, or what others add to it, becomes.
static bool isOfMatrices(Operation *op) {
  if (isa<AdvanceOp>(op))
    return true;
  if (auto reshape = dyn_cast<ReshapeStateOp>(op))
    return recur::analysis::isOneMatrix(reshape) && recur::analysis::isOneMatrix(reshape.getState());
  auto map = dyn_cast<MapOp>(op);
  return map && recur::analysis::makesOneMatrix(map);
}

namespace {
struct AdvanceLastPass : recur::chunk::impl::AdvanceLastPassBase<AdvanceLastPass> {
  using AdvanceLastPassBase::AdvanceLastPassBase;
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    auto moveToEnd = [&](Operation *op) { op->moveBefore(&block, block.end()); };
    llvm::SetVector<Operation *> late; // the last one first
    for (Operation &op : llvm::reverse(block))
      if ((isa<AdvanceOp>(op) || (chains && isOfMatrices(&op))) && llvm::all_of(op.getUsers(), [&](Operation *user) {
            return isa<NextOp>(user) || (chains && late.contains(user));
          }))
        late.insert(&op);
    for (Operation *op : llvm::reverse(late))
      moveToEnd(op);
    for (auto next : llvm::to_vector(block.getOps<NextOp>()))
      moveToEnd(next);
  }
};
} // namespace
