// Rows of inputs that read or are written stay as they came.
#include "Transforms/Chunk/Passes.h"

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

/// Rows of an input, and the number of each of them that scales it.
struct ScaledInput {
  Value rows, scale;
};
} // namespace

static std::optional<ScaledInput> matchScaledInput(Value value) {
  auto scaled = value.getDefiningOp<MapOp>();
  if (!scaled || scaled.getFunction() != Function::Mul)
    return std::nullopt;
  for (auto [own, other] : {std::pair(0, 1), {1, 0}}) {
    Value rows = scaled.getOperands()[own], scale = scaled.getOperands()[other];
    if (rows.getDefiningOp<InputOp>() && rows.getType() == value.getType() && tensorOf(rows).getRank() == 2 &&
        tensorOf(scale).getRank() == 1)
      return ScaledInput{rows, scale};
  }
  return std::nullopt;
}

void UnscaledInputsPass::unscale(ReadOp read) {
  std::optional<ScaledInput> input = matchScaledInput(read.getRows());
  if (!input)
    return;
  read.getRowsMutable().assign(input->rows);
  OpBuilder builder(read->getContext());
  builder.setInsertionPointAfter(read);
  auto scaled = MapOp::create(builder, read.getLoc(), Function::Mul, ValueRange{input->scale, read.getResult()});
  read.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
}

void UnscaledInputsPass::unscale(AdvanceOp advance) {
  std::optional<ScaledInput> input = matchScaledInput(advance.getKeys());
  if (!input || tensorOf(advance.getValues()).getRank() != 2)
    return;
  OpBuilder builder(advance);
  Value scaled = MapOp::create(builder, advance.getLoc(), Function::Mul, ValueRange{input->scale, advance.getValues()});
  advance.getKeysMutable().assign(input->rows);
  advance.getValuesMutable().assign(scaled);
}
