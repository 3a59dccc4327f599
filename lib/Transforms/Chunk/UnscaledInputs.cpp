// Rows that read or are written stay as they came, or as interactions take them.
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
      else if (auto apply = dyn_cast<ApplyTransposedOp>(op))
        unscale(apply);
  }

private:
  static void unscale(ReadOp read);
  static void unscale(AdvanceOp advance);
  static void unscale(ApplyTransposedOp apply);
};
} // namespace

/// Whether the rows are there without their scale: those of an array, or what an interaction has as a factor.
static bool areThere(Value rows) {
  return areInArray(rows) || llvm::any_of(rows.getUsers(), [](Operation *user) {
           auto interaction = dyn_cast<InteractionOp>(user);
           return interaction && !(interaction.getDecay() && tensorOf(interaction.getDecay()).getRank() > 1);
         });
}

/// Such rows that are scaled by a number each.
static ScaledRows matchScaledInput(Value value) {
  ScaledRows scaled = matchScaledRows(value);
  return scaled && areThere(scaled.rows) ? scaled : ScaledRows();
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
  Value factor = input.factor, values = advance.getValues();
  // Of a cotangent that comes in scaled one number takes care of both, so that it too stays as it came.
  if (ScaledRows own = matchScaledRows(values);
      own && own.rows.getDefiningOp<InputOp>() && cast<ProgramOp>(advance->getParentOp()).getBackward()) {
    factor = MapOp::create(builder, advance.getLoc(), Function::Mul, ValueRange{factor, own.factor});
    values = own.rows;
  }
  Value scaled = MapOp::create(builder, advance.getLoc(), Function::Mul, ValueRange{factor, values});
  advance.getKeysMutable().assign(input.rows);
  advance.getValuesMutable().assign(scaled);
}

/// A constant that all rows are scaled by goes to a matrix of the tokens that is applied to nothing else.
void UnscaledInputsPass::unscale(ApplyTransposedOp apply) {
  ScaledRows input = matchScaledRows(apply.getValues());
  Value matrix = apply.getMatrix();
  if (!input || !constantNumber(input.factor) || !areInArray(input.rows) || !matrix.hasOneUse() ||
      !matrix.getDefiningOp<InteractionOp>())
    return;
  OpBuilder builder(apply);
  Value scaled = MapOp::create(builder, apply.getLoc(), Function::Mul, ValueRange{input.factor, matrix});
  apply.getMatrixMutable().assign(scaled);
  apply.getValuesMutable().assign(input.rows);
}
