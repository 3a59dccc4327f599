#include "Analysis/StateParts.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

int64_t recur::analysis::getStateParts(KernelOp kernel) {
  auto parts = kernel->getAttrOfType<IntegerAttr>(statePartsAttribute);
  return parts ? parts.getInt() : 1;
}

namespace {
class PartFinder {
public:
  explicit PartFinder(const HeldStates &held) : held(held) {}
  /// What an op of the loop makes of parts is one.
  bool takesParts(Operation *op);
  size_t countParts() const { return parts.size(); }

private:
  bool isState(Value tile) const { return held.states.contains(getWholeTile(tile)); }
  bool isPart(Value tile) const { return tile && parts.contains(getWholeTile(tile)); }
  bool addPart(Value tile) {
    parts.insert(getWholeTile(tile));
    return true;
  }
  bool takesHeld(Operation *op);
  bool changesState(MapOp op) const;
  bool changesState(ProductOp op) const;
  bool keepsColumns(MapOp op);
  bool keepsColumns(ProductOp op);
  bool keepsColumns(SolveOp op) const { return !isPart(op.getMatrix()); }

  const HeldStates &held;
  llvm::DenseSet<Value> parts; // of tiles, what some indices of the states give
};
} // namespace

/// A vector that goes along is read by the threads that have its indices of the state.
bool PartFinder::changesState(MapOp op) const {
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    if (isState(input) || !isPart(input))
      continue;
    auto dims = cast<DenseI64ArrayAttr>(op.getDims()[unsigned(number)]).asArrayRef();
    for (auto [dim, nestDim] : llvm::enumerate(dims))
      if (tileOf(input).getSize(int64_t(dim)) > 1 &&
          held.getForm(getWholeTile(op.getResult()), nestDim) != HeldForm::Along)
        return false;
  }
  return true;
}

bool PartFinder::changesState(ProductOp op) const {
  Value state = getWholeTile(op.getResult());
  auto isAlong = [&](Value factor, int64_t dim) {
    return !isPart(factor) || held.getForm(state, dim) == HeldForm::Along;
  };
  return isAlong(op.getLeft(), 0) && isAlong(op.getRowScale(), 0) && isAlong(op.getRight(), 1) &&
         isAlong(op.getColumnScale(), 1);
}

bool PartFinder::takesHeld(Operation *op) {
  if (isa<StoreOp>(op)) // of a vector along
    return true;
  Value result = isa<MapOp>(op)       ? cast<MapOp>(op).getResult()
                 : isa<ProductOp>(op) ? cast<ProductOp>(op).getResult()
                                      : cast<ReduceOp>(op).getResult();
  if (isState(result))
    return isa<MapOp>(op) ? changesState(cast<MapOp>(op)) : changesState(cast<ProductOp>(op));
  if (auto product = dyn_cast<ProductOp>(op); product && isState(product.getRight()))
    return !isPart(product.getLeft()) && addPart(result);
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return operand != result && isPart(operand); }))
    return true;
  auto form = held.numbers.find(getWholeTile(result));
  return form != held.numbers.end() && form->second == HeldForm::Along && addPart(result);
}

/// Other columns than the CTA's are computed from what lies there, for nobody.
bool PartFinder::keepsColumns(MapOp op) {
  int64_t rank = tileOf(op.getResult()).getRank(), columns = tileOf(op.getResult()).getShape().back();
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    auto dims = cast<DenseI64ArrayAttr>(op.getDims()[unsigned(number)]).asArrayRef();
    if (isPart(input) && (dims.empty() || dims.back() != rank - 1 || tileOf(input).getShape().back() != columns))
      return false;
  }
  return !op.getBlocks() && addPart(op.getResult());
}

bool PartFinder::keepsColumns(ProductOp op) {
  return !op.getTransposed() && !op.getRightTransposed() && !isPart(op.getLeft()) && !isPart(op.getRowScale()) &&
         !isPart(op.getColumnScale()) && addPart(op.getResult());
}

bool PartFinder::takesParts(Operation *op) {
  if (held.ops.contains(op))
    return takesHeld(op);
  if (auto store = dyn_cast<StoreOp>(op)) // all CTAs of the head would store the same
    return isState(store.getTile());
  if (isa<ViewOp, LoadOp, scf::YieldOp>(op) || isa<arith::ArithDialect>(op->getDialect()) ||
      llvm::none_of(op->getOperands(), [&](Value operand) { return isPart(operand); }))
    return op->getNumRegions() == 0 || isa<TileDialect>(op->getDialect());
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MapOp, ProductOp, SolveOp>([&](auto own) { return keepsColumns(own); })
      .Default(false);
}

bool recur::analysis::haveParts(KernelOp kernel, const HeldStates &held) {
  scf::ForOp loop = held.loop;
  if (kernel.getWorkspace()) // of which each CTA would need its own
    return false;
  for (Operation &op : kernel.getBody().front())
    if (auto store = dyn_cast<StoreOp>(op)) { // a state in place, which another CTA may not have read yet
      if (!held.states.contains(getWholeTile(store.getTile())))
        return false;
    } else if (!isa<AllocOp, ViewOp, LoadOp>(op) && &op != loop.getOperation() &&
               !isa<arith::ArithDialect>(op.getDialect())) {
      return false;
    }
  PartFinder finder(held);
  size_t known = 0;
  do { // a token may take what the one before made
    known = finder.countParts();
    for (Operation &op : *loop.getBody())
      if (!finder.takesParts(&op))
        return false;
  } while (finder.countParts() > known);
  return true;
}
