#include "Analysis/EarlierRows.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

namespace {
/// A loop that copies one row in each step.
struct CopiedRow {
  scf::ForOp loop;
  Value from, fromRow, to, toRow;
};
} // namespace

static std::optional<CopiedRow> matchCopiedRow(scf::ForOp loop) {
  auto maps = loop.getBody()->getOps<MapOp>();
  auto isOther = [](Operation &op) {
    return !isa<MapOp, ViewOp, scf::YieldOp>(op) && !isa<arith::ArithDialect>(op.getDialect());
  };
  if (!llvm::hasSingleElement(maps) || llvm::any_of(*loop.getBody(), isOther) || loop.getNumResults() ||
      !matchPattern(loop.getLowerBound(), m_Zero()) || !matchPattern(loop.getStep(), m_One()))
    return std::nullopt;
  MapOp map = *maps.begin();
  auto yield = cast<YieldOp>(map.getBody().front().getTerminator());
  bool isCopy = map.getInputs().size() == 1 && !map.getBlocks() && yield.getValues()[0] == map.getBody().getArgument(0);
  auto from = isCopy ? map.getInputs()[0].getDefiningOp<ViewOp>() : ViewOp();
  auto to = map.getResult().getDefiningOp<ViewOp>();
  bool areRows = from && to && from.getRow() && to.getRow() && from.getOffset() == 0 && to.getOffset() == 0 &&
                 tileOf(from).getSize(0) == 1 && tileOf(to).getSize(0) == 1;
  if (!areRows)
    return std::nullopt;
  return CopiedRow{loop, getWholeTile(from), from.getRow(), getWholeTile(to), to.getRow()};
}

/// Whether the sum is one of these two, in either order.
static bool isSum(Value sum, Value a, Value b) {
  auto add = sum.getDefiningOp<arith::AddIOp>();
  return add && ((add.getLhs() == a && add.getRhs() == b) || (add.getLhs() == b && add.getRhs() == a));
}

std::optional<EarlierRows> recur::analysis::matchEarlierRows(scf::IfOp op) {
  auto condition = op.getCondition().getDefiningOp<arith::CmpIOp>();
  bool isPlain = !op.getNumResults() && op.getElseRegion().empty() && condition &&
                 condition.getPredicate() == arith::CmpIPredicate::slt && matchPattern(condition.getLhs(), m_Zero());
  if (!isPlain)
    return std::nullopt;
  EarlierRows found;
  found.op = op;
  found.missing = condition.getRhs();
  SmallVector<CopiedRow, 2> copied;
  for (Operation &inner : *op.thenBlock()) {
    auto load = dyn_cast<LoadOp>(inner);
    auto loop = dyn_cast<scf::ForOp>(inner);
    if (load) {
      if (found.given || !matchPattern(load.getFirst(), m_Zero()) || !matchPattern(load.getRows(), m_One()))
        return std::nullopt;
      found.given = load;
    } else if (loop) {
      std::optional<CopiedRow> row = matchCopiedRow(loop);
      if (!row)
        return std::nullopt;
      copied.push_back(*row);
    } else if (!isa<ViewOp, scf::YieldOp>(inner) && !isa<arith::ArithDialect>(inner.getDialect())) {
      return std::nullopt;
    }
  }
  if (copied.size() != 2 || !found.given)
    return std::nullopt;
  auto [moved, put] = std::pair(copied[0], copied[1]);
  scf::ForOp moves = moved.loop, puts = put.loop;
  found.tile = put.to;
  found.there = moves.getUpperBound();
  auto sum = put.fromRow.getDefiningOp<arith::AddIOp>();
  if (!sum || put.toRow != puts.getInductionVar() || puts.getUpperBound() != found.missing ||
      put.from != getWholeTile(found.given.getTile()) || moved.from != found.tile || moved.to != found.tile ||
      !isSum(moved.toRow, moved.fromRow, found.missing))
    return std::nullopt;
  if (sum.getLhs() != puts.getInductionVar() && sum.getRhs() != puts.getInductionVar())
    return std::nullopt;
  found.first = sum.getLhs() == puts.getInductionVar() ? sum.getRhs() : sum.getLhs();
  return found;
}
