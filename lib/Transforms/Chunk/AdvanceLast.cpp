// States change after all that reads them.
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
  auto isOne = [](Value value) {
    ArrayRef<int64_t> shape = tensorOf(value).getShape();
    return shape.size() == 2 || (shape.size() == 3 && shape[0] == 1);
  };
  if (auto reshape = dyn_cast<ReshapeStateOp>(op))
    return isOne(reshape) && isOne(reshape.getState());
  auto map = dyn_cast<MapOp>(op);
  return map && isElementwise(map.getFunction()) && tensorOf(map).getRank() == 3 && isOne(map);
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
