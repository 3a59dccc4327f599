#include "Conversion/TileToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace recur::conversion {
#define GEN_PASS_DEF_FUSEMULTIPLYADDSPASS
#include "Conversion/TileToNVVM/Passes.h.inc"
} // namespace recur::conversion

/// The product that a number is, if nothing else takes it.
static arith::MulFOp matchProduct(Value number) {
  auto product = number.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() ? product : arith::MulFOp();
}

static Value negate(PatternRewriter &rewriter, Location loc, Value number) {
  return arith::NegFOp::create(rewriter, loc, number);
}

static LogicalResult fuseSum(arith::AddFOp sum, PatternRewriter &rewriter) {
  auto [first, second] = std::pair(sum.getLhs(), sum.getRhs());
  if (!matchProduct(first))
    std::swap(first, second);
  arith::MulFOp product = matchProduct(first);
  if (!product)
    return failure();
  rewriter.replaceOpWithNewOp<LLVM::FMAOp>(sum, sum.getType(), ValueRange{product.getLhs(), product.getRhs(), second});
  return success();
}

static LogicalResult fuseDifference(arith::SubFOp difference, PatternRewriter &rewriter) {
  auto [left, right] = std::pair(difference.getLhs(), difference.getRhs());
  Location loc = difference.getLoc();
  SmallVector<Value> operands;
  if (arith::MulFOp product = matchProduct(right))
    operands = {negate(rewriter, loc, product.getLhs()), product.getRhs(), left};
  else if (arith::MulFOp product = matchProduct(left))
    operands = {product.getLhs(), product.getRhs(), negate(rewriter, loc, right)};
  else
    return failure();
  rewriter.replaceOpWithNewOp<LLVM::FMAOp>(difference, difference.getType(), operands);
  return success();
}

namespace {
struct FuseMultiplyAdds : recur::conversion::impl::FuseMultiplyAddsPassBase<FuseMultiplyAdds> {
  void runOnOperation() override {
    if (!getOperation()->removeDiscardableAttr(recur::conversion::shortDataAttribute))
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add(fuseSum);
    patterns.add(fuseDifference);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
