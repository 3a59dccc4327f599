// Rows of inputs that read or are written stay as they came.
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"

namespace recur::chunk {
#define GEN_PASS_DEF_UNSCALEDINPUTSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct UnscaledInputsPass : recur::chunk::impl::UnscaledInputsPassBase<UnscaledInputsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (Operation &op : getOperation().getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (auto read = dyn_cast<ReadOp>(op))
        unscale(read);
      else if (auto advance = dyn_cast<AdvanceOp>(op))
        unscale(advance);
  }

private:
  static void unscale(ReadOp read);
  static void unscale(AdvanceOp advance);
};
} // namespace

/// Rows of an input that are scaled by a number each.
static ScaledRows matchScaledInput(Value value) {
  ScaledRows scaled = matchScaledRows(value);
  return scaled && scaled.rows.getDefiningOp<InputOp>() ? scaled : ScaledRows();
}

void UnscaledInputsPass::unscale(ReadOp read) {
  ScaledRows input = matchScaledInput(read.getRows());
  if (!input)
    return;
  read.getRowsMutable().assign(input.rows);
  OpBuilder builder(read->getContext());
  builder.setInsertionPointAfter(read);
  auto scaled = MapOp::create(builder, read.getLoc(), Function::Mul, ValueRange{input.factor, read.getResult()});
  read.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
}

void UnscaledInputsPass::unscale(AdvanceOp advance) {
  ScaledRows input = matchScaledInput(advance.getKeys());
  if (!input || tensorOf(advance.getValues()).getRank() != 2)
    return;
  OpBuilder builder(advance);
  Value scaled = MapOp::create(builder, advance.getLoc(), Function::Mul, ValueRange{input.factor, advance.getValues()});
  advance.getKeysMutable().assign(input.rows);
  advance.getValuesMutable().assign(scaled);
}
