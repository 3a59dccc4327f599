// A constant that scales a sum goes to its terms.
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SPREADSCALESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct SpreadScalesPass : recur::chunk::impl::SpreadScalesPassBase<SpreadScalesPass> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation().walk([&](MapOp map) { maps.push_back(map); });
    for (MapOp map : maps)
      spread(map);
  }

private:
  static void spread(MapOp scaled);
};
} // namespace

/// The interaction applied in a term of which nothing else is read.
static ApplyOp matchApplied(Value term) {
  auto apply = term.getDefiningOp<ApplyOp>();
  return apply && term.hasOneUse() && !apply.getDecay() && apply.getMatrix().hasOneUse() &&
                 apply.getMatrix().getDefiningOp<InteractionOp>()
             ? apply
             : ApplyOp();
}

void SpreadScalesPass::spread(MapOp scaled) {
  if (scaled.getFunction() != Function::Mul)
    return;
  for (auto [a, b] : {std::pair(0, 1), {1, 0}}) {
    Value constant = scaled.getOperands()[a];
    auto sum = scaled.getOperands()[b].getDefiningOp<MapOp>();
    bool isNumber = constantNumber(constant) && tensorOf(constant).getRank() == 1; // not a row of channels
    if (!isNumber || !sum || sum.getFunction() != Function::Add || !sum->hasOneUse() ||
        sum.getResult().getType() != scaled.getResult().getType())
      continue;
    for (auto [first, second] : {std::pair(0, 1), {1, 0}}) {
      ApplyOp apply = matchApplied(sum.getOperands()[first]);
      Value scale, rows = sum.getOperands()[second];
      if (ScaledRows term = matchScaledRows(rows); term && rows.hasOneUse()) // of which nothing else is read
        std::tie(scale, rows) = std::pair(term.factor, term.rows);
      if (!apply || !rows.getDefiningOp<ReadOp>() || !rows.hasOneUse() || rows.getType() != sum.getResult().getType())
        continue;
      OpBuilder builder(scaled);
      auto multiply = [&](Value x, Value y) -> Value {
        return MapOp::create(builder, scaled.getLoc(), Function::Mul, ValueRange{x, y});
      };
      Value factor = scale ? multiply(constant, scale) : constant;
      apply.getMatrixMutable().assign(multiply(constant, apply.getMatrix()));
      apply->moveBefore(scaled);
      Value start = multiply(factor, rows);
      Value spread = MapOp::create(builder, sum.getLoc(), Function::Add, ValueRange{start, apply.getResult()});
      scaled.getResult().replaceAllUsesWith(spread);
      Operation *before = sum.getOperands()[second].getDefiningOp();
      scaled->erase();
      sum->erase();
      if (before->use_empty())
        before->erase();
      return;
    }
  }
}
