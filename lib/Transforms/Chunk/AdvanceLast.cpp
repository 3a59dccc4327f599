// States change after all that reads them.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_ADVANCELASTPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct AdvanceLastPass : recur::chunk::impl::AdvanceLastPassBase<AdvanceLastPass> {
  using AdvanceLastPassBase::AdvanceLastPassBase;
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    auto moveToEnd = [&](Operation *op) { op->moveBefore(&block, block.end()); };
    llvm::SetVector<Operation *> late; // the last one first
    SmallVector<AdvanceOp> advances(block.getOps<AdvanceOp>());
    for (AdvanceOp advance : llvm::reverse(advances))
      if (llvm::all_of(advance->getUsers(),
                       [&](Operation *user) { return isa<NextOp>(user) || (chains && late.contains(user)); }))
        late.insert(advance);
    for (Operation *advance : llvm::reverse(late))
      moveToEnd(advance);
    for (auto next : llvm::to_vector(block.getOps<NextOp>()))
      moveToEnd(next);
  }
};
} // namespace
