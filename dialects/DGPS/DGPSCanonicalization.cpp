// Rewrites that are right over the reals and better in floating point or simpler to read.
#include "dialects/DGPS/DGPS.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace recur::dgps;

namespace {

/// a + (-b) = a - b.
struct AddOfNegative : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [kept, negated] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto neg = negated.getDefiningOp<NegOp>()) {
        rewriter.replaceOpWithNewOp<SubOp>(op, kept, neg.getOperand());
        return success();
      }
    return failure();
  }
};

/// exp(x) - 1 = expm1(x), which keeps its digits near zero.
struct AddOfExpAndMinusOne : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [exponential, constant] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto exp = exponential.getDefiningOp<ExpOp>();
      if (!exp || constantNumber(constant) != -1.0 || exp.getType() != op.getType())
        continue;
      rewriter.replaceOpWithNewOp<Expm1Op>(op, exp.getOperand());
      return success();
    }
    return failure();
  }
};

/// 1 - exp(x) = -expm1(x) and exp(x) - 1 = expm1(x); a - (-b) = a + b; 0 - a = -a.
struct SimplifySub : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    if (auto exp = op.getRhs().getDefiningOp<ExpOp>();
        exp && constantNumber(op.getLhs()) == 1.0 && exp.getType() == op.getType()) {
      Value expm1 = Expm1Op::create(rewriter, op.getLoc(), exp.getOperand());
      rewriter.replaceOpWithNewOp<NegOp>(op, expm1);
      return success();
    }
    if (auto exp = op.getLhs().getDefiningOp<ExpOp>();
        exp && constantNumber(op.getRhs()) == 1.0 && exp.getType() == op.getType()) {
      rewriter.replaceOpWithNewOp<Expm1Op>(op, exp.getOperand());
      return success();
    }
    if (auto neg = op.getRhs().getDefiningOp<NegOp>()) {
      rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), neg.getOperand());
      return success();
    }
    if (constantNumber(op.getLhs()) == 0.0 && op.getRhs().getType() == op.getType()) {
      rewriter.replaceOpWithNewOp<NegOp>(op, op.getRhs());
      return success();
    }
    return failure();
  }
};

/// a * (-1) = -a.
struct MulByMinusOne : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [value, factor] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (constantNumber(factor) == -1.0 && value.getType() == op.getType()) {
        rewriter.replaceOpWithNewOp<NegOp>(op, value);
        return success();
      }
    return failure();
  }
};

/// 1 / (1 + exp(-x)) = sigmoid(x), which does not overflow.
struct LogisticIsSigmoid : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getRhs().getDefiningOp<AddOp>();
    if (constantNumber(op.getLhs()) != 1.0 || !sum)
      return failure();
    for (auto [one, exponential] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
      auto exp = exponential.getDefiningOp<ExpOp>();
      if (!exp || constantNumber(one) != 1.0 || exp.getType() != op.getType())
        continue;
      Value negated = NegOp::create(rewriter, op.getLoc(), exp.getOperand());
      rewriter.replaceOpWithNewOp<SigmoidOp>(op, negated);
      return success();
    }
    return failure();
  }
};

} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AddOfNegative, AddOfExpAndMinusOne>(context);
}
void SubOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifySub>(context);
}
void MulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MulByMinusOne>(context);
}
void DivOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<LogisticIsSigmoid>(context);
}

#define GET_OP_CLASSES
#include "dialects/DGPS/DGPSOps.cpp.inc"
