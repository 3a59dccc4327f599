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
