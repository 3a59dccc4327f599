// Products in the order that costs least.
#include "Transforms/Chunk/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace recur::chunk {
#define GEN_PASS_DEF_REASSOCIATEPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {

/// A solve or an apply without decay: a matrix that acts on values.
struct Action {
  Operation *op = nullptr;
  Value matrix, values;

  static Action of(Value result) {
    if (auto solve = result.getDefiningOp<SolveOp>(); solve && !solve.getDecay())
      return {solve, solve.getMatrix(), solve.getValues()};
    if (auto apply = result.getDefiningOp<ApplyOp>(); apply && !apply.getDecay())
      return {apply, apply.getMatrix(), apply.getValues()};
    return {};
  }
  Value on(PatternRewriter &rewriter, Value other) const {
    if (isa<SolveOp>(op))
      return SolveOp::create(rewriter, op->getLoc(), matrix, other, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(),
                             false);
    return ApplyOp::create(rewriter, op->getLoc(), matrix, other, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(),
                           false);
  }
};

/// T a - T b = T (a - b), and so with sums.
struct ActOnce : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    if (op.getFunction() != Function::Add && op.getFunction() != Function::Sub)
      return failure();
    Value left = op.getOperands()[0], right = op.getOperands()[1];
    Action a = Action::of(left), b = Action::of(right);
    if (!a.op || !b.op || a.op == b.op || a.op->getName() != b.op->getName() || a.matrix != b.matrix ||
        !left.hasOneUse() || !right.hasOneUse())
      return failure();
    Value both = MapOp::create(rewriter, op.getLoc(), op.getFunction(), ValueRange{a.values, b.values});
    rewriter.replaceOp(op, a.on(rewriter, both));
    return success();
  }
};

/// (T R) S^T = T (R S^T), where the latter is cheaper: the action then goes over the state's other side.
struct ReadFirst : OpRewritePattern<ReadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReadOp op, PatternRewriter &rewriter) const override {
    Action action = Action::of(op.getRows());
    if (!action.op || !op.getRows().hasOneUse() ||
        tensorOf(op.getResult()).getDimSize(1) > tensorOf(op.getRows()).getDimSize(1))
      return failure();
    Value read = ReadOp::create(rewriter, op.getLoc(), action.values, op.getState(), op.getLeft());
    rewriter.replaceOp(op, action.on(rewriter, read));
    return success();
  }
};

/// T (R S^T) = (T R) S^T, where that is cheaper.
template <typename OpType> struct ActFirst : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op, PatternRewriter &rewriter) const override {
    auto read = op.getValues().template getDefiningOp<ReadOp>();
    if (op.getDecay() || !read || !op.getValues().hasOneUse() ||
        tensorOf(read.getRows()).getDimSize(1) >= tensorOf(read.getResult()).getDimSize(1))
      return failure();
    Value rows = Action::of(op.getResult()).on(rewriter, read.getRows());
    rewriter.replaceOpWithNewOp<ReadOp>(op, rows, read.getState(), read.getLeft());
    return success();
  }
};

struct ReassociatePass : recur::chunk::impl::ReassociatePassBase<ReassociatePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ActOnce, ReadFirst, ActFirst<SolveOp>, ActFirst<ApplyOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
