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
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    auto moveToEnd = [&](Operation *op) { op->moveBefore(&block, block.end()); };
    for (auto advance : llvm::to_vector(block.getOps<AdvanceOp>()))
      if (llvm::all_of(advance->getUsers(), [](Operation *user) { return isa<NextOp>(user); }))
        moveToEnd(advance);
    for (auto next : llvm::to_vector(block.getOps<NextOp>()))
      moveToEnd(next);
  }
};
} // namespace
