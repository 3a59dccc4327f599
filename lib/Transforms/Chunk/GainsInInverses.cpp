// An inverse has the gain of all that it multiplies.
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/ScaledRows.h"

namespace recur::chunk {
#define GEN_PASS_DEF_GAINSININVERSESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct GainsInInversesPass : recur::chunk::impl::GainsInInversesPassBase<GainsInInversesPass> {
  void runOnOperation() override {
    SmallVector<InverseOp> inverses;
    getOperation().walk([&](InverseOp inverse) { inverses.push_back(inverse); });
    for (InverseOp inverse : inverses)
      if (!inverse.getGain())
        takeGain(inverse);
  }

private:
  static void takeGain(InverseOp inverse);
};
} // namespace

/// Values that are scaled by a number of each token that is not the same for all.
static ScaledRows matchGain(Value values) {
  ScaledRows scaled = matchScaledRows(values);
  bool isOfTokens = scaled && !constantNumber(scaled.factor) &&
                    tensorOf(scaled.factor).getDimSize(0) == tensorOf(values).getDimSize(0);
  return isOfTokens ? scaled : ScaledRows();
}

/// Numbers of the tokens that are factors of the values.
static void findFactors(Value values, SmallVectorImpl<Value> &factors) {
  auto map = values.getDefiningOp<MapOp>();
  if (!map)
    return;
  auto [factor, rows] = matchGain(values);
  if (factor)
    factors.push_back(factor);
  if (factor || map.getFunction() == Function::Neg)
    findFactors(factor ? rows : map.getOperands()[0], factors);
}

/// The values without the factor; null if it is none of theirs.
static Value withoutFactor(OpBuilder &builder, Value values, Value factor) {
  auto map = values.getDefiningOp<MapOp>();
  if (!map)
    return {};
  auto [own, rows] = matchGain(values);
  if (own == factor && own)
    return rows;
  if (!own && map.getFunction() != Function::Neg)
    return {};
  Value rest = withoutFactor(builder, own ? rows : map.getOperands()[0], factor);
  if (!rest)
    return {};
  SmallVector<Value> operands{rest};
  if (own)
    operands.insert(operands.begin(), own);
  return MapOp::create(builder, map.getLoc(), map.getFunction(), operands);
}

void GainsInInversesPass::takeGain(InverseOp inverse) {
  SmallVector<ApplyOp> applied;
  for (OpOperand &use : inverse.getResult().getUses()) {
    auto apply = dyn_cast<ApplyOp>(use.getOwner());
    if (!apply || use.getOperandNumber() != 0 || apply.getDecay())
      return;
    applied.push_back(apply);
  }
  SmallVector<Value> factors, values;
  if (!applied.empty())
    findFactors(applied.front().getValues(), factors);
  OpBuilder builder(inverse);
  for (Value factor : factors) {
    for (ApplyOp apply : applied) {
      builder.setInsertionPoint(apply);
      values.push_back(withoutFactor(builder, apply.getValues(), factor));
    }
    Operation *maker = factor.getDefiningOp();
    bool isEarlier = maker->getBlock() == inverse->getBlock() && maker->isBeforeInBlock(inverse);
    if (isEarlier && !llvm::is_contained(values, Value())) {
      inverse.getGainMutable().assign(factor);
      for (auto [apply, rest] : llvm::zip(applied, values))
        apply.getValuesMutable().assign(rest);
      return;
    }
    values.clear();
  }
}
