// The UT transform: solves as products with an explicit inverse, and back.
#include "Transforms/Chunk/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace recur::chunk {
#define GEN_PASS_DEF_SOLVEFORMPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct SolveFormPass : recur::chunk::impl::SolveFormPassBase<SolveFormPass> {
  using SolveFormPassBase::SolveFormPassBase;
  void runOnOperation() override;

private:
  void makeInverses(unsigned fewestUses);
  void makeSolves();
};
} // namespace

void SolveFormPass::makeInverses(unsigned fewestUses) {
  llvm::MapVector<Value, SmallVector<Operation *>> solvesOf; // there and back
  getOperation().walk([&](Operation *op) {
    if (auto solve = dyn_cast<SolveOp>(op); solve && !solve.getDecay())
      solvesOf[solve.getMatrix()].push_back(solve);
    else if (auto solve = dyn_cast<SolveTransposedOp>(op); solve && !solve.getDecay())
      solvesOf[solve.getMatrix()].push_back(solve);
  });
  for (auto &[matrix, solves] : solvesOf) {
    if (solves.size() < fewestUses)
      continue;
    OpBuilder builder(matrix.getContext());
    builder.setInsertionPointAfterValue(matrix);
    Value inverse = InverseOp::create(builder, solves[0]->getLoc(), matrix);
    for (Operation *solve : solves) {
      builder.setInsertionPoint(solve);
      Value values = solve->getOperand(1), product;
      if (isa<SolveOp>(solve))
        product = ApplyOp::create(builder, solve->getLoc(), inverse, values, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                  Value(), false);
      else
        product = ApplyTransposedOp::create(builder, solve->getLoc(), inverse, values, DenseI64ArrayAttr(),
                                            DenseI64ArrayAttr(), Value(), false);
      solve->getResult(0).replaceAllUsesWith(product);
      solve->erase();
    }
  }
}

void SolveFormPass::makeSolves() {
  SmallVector<ApplyOp> products;
  getOperation().walk([&](ApplyOp apply) {
    if (apply.getMatrix().getDefiningOp<InverseOp>() && !apply.getDecay())
      products.push_back(apply);
  });
  for (ApplyOp product : products) {
    OpBuilder builder(product);
    auto inverse = product.getMatrix().getDefiningOp<InverseOp>();
    Value values = product.getValues();
    if (inverse.getGain())
      values = MapOp::create(builder, product.getLoc(), Function::Mul, ValueRange{inverse.getGain(), values});
    auto solve = SolveOp::create(builder, product.getLoc(), inverse.getMatrix(), values, DenseI64ArrayAttr(),
                                 DenseI64ArrayAttr(), Value(), false);
    product.getResult().replaceAllUsesWith(solve.getResult());
    product.erase();
    if (inverse.getResult().use_empty())
      inverse.erase();
  }
}

void SolveFormPass::runOnOperation() {
  if (form == "inverse")
    return makeInverses(1);
  if (form == "auto")
    return makeInverses(2);
  if (form == "solve")
    return makeSolves();
  getOperation().emitError() << "the option 'form' is 'auto', 'solve' or 'inverse', but here it is '" << form.getValue()
                             << "'";
  signalPassFailure();
}
