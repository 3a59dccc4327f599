// Parts of rows that are computed together and taken apart are computed apart.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "dialects/Chunk/ChunkTangents.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SLICESFIRSTPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

class SliceMover {
public:
  explicit SliceMover(ProgramOp program) : program(program), builder(program.getContext()) {}
  void run();

private:
  Value slice(Value rows, SliceOp like);
  Value moveBefore(SliceOp slice);

  ProgramOp program;
  OpBuilder builder;
  llvm::SetVector<SliceOp> open;
};

struct SlicesFirstPass : recur::chunk::impl::SlicesFirstPassBase<SlicesFirstPass> {
  void runOnOperation() override { SliceMover(getOperation()).run(); }
};

} // namespace

/// The same part of other rows.
Value SliceMover::slice(Value rows, SliceOp like) {
  auto part = SliceOp::create(builder, rows.getLoc(), rows, like.getBegin(), like.getSize());
  open.insert(part);
  return part;
}

/// What makes the part without the rest of the rows; null where that is not known.
Value SliceMover::moveBefore(SliceOp part) {
  Value rows = part.getOperand();
  Operation *maker = rows.getDefiningOp();
  auto begin = int64_t(part.getBegin()), size = int64_t(part.getSize());
  if (!maker || tensorOf(rows).getRank() != 2) // what a loop over tokens carries has no maker
    return {};
  builder.setInsertionPoint(part);
  if (auto concat = dyn_cast<ConcatOp>(maker)) {
    int64_t place = 0;
    for (Value operand : concat.getOperands()) {
      int64_t width = tensorOf(operand).getRank() == 2 ? tensorOf(operand).getDimSize(1) : 1;
      bool isWithin = begin >= place && begin + size <= place + width && tensorOf(operand).getRank() == 2 &&
                      tensorOf(operand).getDimSize(0) == tensorOf(rows).getDimSize(0);
      if (isWithin && size == width)
        return operand;
      if (isWithin) {
        auto inner = SliceOp::create(builder, part.getLoc(), operand, begin - place, size);
        open.insert(inner);
        return inner;
      }
      place += width;
    }
    return {};
  }
  if (!llvm::all_of(rows.getUsers(), llvm::IsaPred<SliceOp>))
    return {};
  if (auto map = dyn_cast<MapOp>(maker); map && isElementwise(map.getFunction())) {
    int64_t width = tensorOf(rows).getDimSize(1);
    auto isOfNumbers = [](Value operand) { return tensorOf(operand).getRank() == 1; };
    if (!llvm::all_of(map.getOperands(), [&](Value operand) {
          return isOfNumbers(operand) || (tensorOf(operand).getRank() == 2 && tensorOf(operand).getDimSize(1) == width);
        }))
      return {};
    SmallVector<Value> operands;
    for (Value operand : map.getOperands())
      operands.push_back(isOfNumbers(operand) ? operand : slice(operand, part));
    return MapOp::create(builder, map.getLoc(), map.getFunction(), operands);
  }
  if (auto previous = dyn_cast<PreviousOp>(maker)) {
    ValueBuilder build(builder, previous.getLoc());
    Value state = build.asState(slice(build.asToken(previous.getState()), part));
    return PreviousOp::create(builder, previous.getLoc(), state, slice(previous.getAll(), part));
  }
  if (auto outer = dyn_cast<ReshapeStateOp>(maker))
    if (auto inner = outer.getOperand().getDefiningOp<ReshapeStateOp>();
        inner && inner.getOperand().getType() == rows.getType())
      return slice(inner.getOperand(), part);
  return {};
}

void SliceMover::run() {
  // A part may stay where the rest is still there, which goes when its own parts have moved.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    program.walk([&](SliceOp part) { open.insert(part); });
    while (!open.empty()) {
      SliceOp part = open.pop_back_val();
      Value own = moveBefore(part);
      if (!own)
        continue;
      part.getResult().replaceAllUsesWith(own);
      part.erase();
      isChanged = true;
    }
    eraseUnused(program.getBody().front());
  }
}
