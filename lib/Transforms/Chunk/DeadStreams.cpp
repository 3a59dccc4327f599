// Results, streams and ops that nothing needs.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_DEADSTREAMSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct DeadStreamsPass : recur::chunk::impl::DeadStreamsPassBase<DeadStreamsPass> {
  void runOnOperation() override;

private:
  bool dropIn(Block &block);
  bool dropResults(TokenLoopOp op);
  bool dropStreams(TokenLoopOp op);
};
} // namespace

/// Replaces the loop by one without the results that nobody uses, and their yielded values.
bool DeadStreamsPass::dropResults(TokenLoopOp op) {
  llvm::SmallBitVector keep(op->getNumResults(), true);
  for (OpResult result : op.getStreamResults())
    if (result.use_empty())
      keep.reset(result.getResultNumber());
  if (keep.all())
    return false;
  SmallVector<Type> types;
  SmallVector<Value> yielded;
  Operation *yield = op.getBody().front().getTerminator();
  for (unsigned i : keep.set_bits()) {
    types.push_back(op->getResult(i).getType());
    yielded.push_back(yield->getOperand(i));
  }
  yield->setOperands(yielded);
  OpBuilder builder(op);
  auto now = TokenLoopOp::create(builder, op.getLoc(), types, op.getStreams(), op.getStates(), op.getReverse());
  now.getBody().takeBody(op.getBody());
  for (auto [position, i] : llvm::enumerate(keep.set_bits()))
    op->getResult(i).replaceAllUsesWith(now->getResult(position));
  op->erase();
  return true;
}

bool DeadStreamsPass::dropStreams(TokenLoopOp op) {
  Block &block = op.getBody().front();
  bool changed = false;
  for (unsigned i = op.getStreams().size(); i-- > 0;)
    if (block.getArgument(i).use_empty()) {
      block.eraseArgument(i);
      op.getStreamsMutable().erase(i);
      changed = true;
    }
  return changed;
}

bool DeadStreamsPass::dropIn(Block &block) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      changed = true;
      continue;
    }
    for (Region &region : op.getRegions())
      changed |= dropIn(region.front());
    if (auto loop = dyn_cast<TokenLoopOp>(op)) {
      changed |= dropStreams(loop);
      changed |= dropResults(loop);
    }
  }
  return changed;
}

void DeadStreamsPass::runOnOperation() {
  while (dropIn(getOperation().getBody().front()))
    ;
}
