#include "Transforms/Chunk/Dependence.h"

using namespace mlir;
using namespace recur::chunk;

llvm::SetVector<Value> recur::chunk::findUsedValues(Operation *op) {
  llvm::SetVector<Value> used;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *owner = operand.getParentBlock()->getParentOp();
      if (!op->isAncestor(owner) || operand.getParentBlock() == op->getBlock())
        used.insert(operand);
    }
  });
  return used;
}

llvm::SetVector<Operation *> recur::chunk::findDependents(Block &block, ValueRange values) {
  llvm::SmallPtrSet<Value, 16> reached(values.begin(), values.end());
  llvm::SetVector<Operation *> dependents;
  for (Operation &op : block)
    if (llvm::any_of(findUsedValues(&op), [&](Value value) { return reached.contains(value); })) {
      dependents.insert(&op);
      reached.insert(op.result_begin(), op.result_end());
    }
  return dependents;
}

llvm::SetVector<StateOp> recur::chunk::findNeededStates(llvm::ArrayRef<Operation *> ops) {
  llvm::SetVector<StateOp> needed;
  llvm::SmallPtrSet<Operation *, 16> seen(ops.begin(), ops.end());
  SmallVector<Operation *> work(ops);
  auto need = [&](Operation *op) {
    if (op && seen.insert(op).second)
      work.push_back(op);
  };
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (auto state = dyn_cast<StateOp>(op)) {
      needed.insert(state);
      need(state.getNext());
    }
    for (Value value : findUsedValues(op))
      need(value.getDefiningOp());
  }
  return needed;
}
