// The part of a program that no state enters, put into an op of its own.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SPLITSTATEFREEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct SplitStateFreePass : recur::chunk::impl::SplitStateFreePassBase<SplitStateFreePass> {
  void runOnOperation() override;
};
} // namespace

void SplitStateFreePass::runOnOperation() {
  Block &block = getOperation().getBody().front();
  SmallVector<Value> states;
  for (StateOp state : getOperation().getStates())
    states.push_back(state);
  llvm::SetVector<Operation *> dependents = findDependents(block, states);
  // Constants, and what is the same for every token, cost nothing on either side and are made where they are used.
  llvm::SetVector<Operation *> free;
  for (Operation &op : block)
    if (!isa<InputOp, ParamOp, StateOp, OutputOp, NextOp, StateFreeOp, ConstantOp, BroadcastOp>(op) &&
        !dependents.contains(&op))
      free.insert(&op);
  if (free.empty())
    return;
  SmallVector<Value> given;
  SmallVector<Type> types;
  for (Operation *op : free)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !free.contains(block.findAncestorOpInBlock(*user)); })) {
        given.push_back(result);
        types.push_back(result.getType());
      }
  // The inputs are known where the first free op stands; broadcasts and constants behind it move in front of it.
  Operation *place = free.front();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isa<InputOp, ParamOp, StateOp>(op) || isa<ConstantOp>(op))
      if (!op.isBeforeInBlock(place))
        op.moveBefore(place);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isa<BroadcastOp>(op) && !dependents.contains(&op) && !op.isBeforeInBlock(place)) {
      Operation *source = op.getOperand(0).getDefiningOp();
      if (source->getBlock() == &block && source->isBeforeInBlock(place))
        op.moveBefore(place);
      else
        free.insert(&op);
    }
  for (Operation *op : free)
    for (Value result : op->getResults())
      if (!llvm::is_contained(given, result) && llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !free.contains(block.findAncestorOpInBlock(*user));
          })) {
        given.push_back(result);
        types.push_back(result.getType());
      }
  OpBuilder builder(place);
  auto split = StateFreeOp::create(builder, getOperation().getLoc(), types);
  Block &body = split.getBody().emplaceBlock();
  SmallVector<Operation *> ordered(free.begin(), free.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    op->moveBefore(&body, body.end());
  for (auto [value, result] : llvm::zip(given, split.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) { return !split->isAncestor(use.getOwner()); });
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, split.getLoc(), given);
}
