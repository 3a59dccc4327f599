// Rewrites that are right over the reals and leave less to do: neutral decays, absent erasing, empty masks, unit
// factors.
#include "dialects/Chunk/Chunk.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace recur::chunk;

namespace {

/// A decay of zero as a logarithm, or of one as it is, is no decay.
template <typename OpType> struct DropNeutralDecay : OpRewritePattern<OpType> {
  using OpRewritePattern<OpType>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpType op, PatternRewriter &rewriter) const override {
    auto decayed = cast<DecayedOpInterface>(op.getOperation());
    Value steps = decayed.getDecaySteps();
    if (!steps || constantNumber(steps) != (decayed.inLogSpace() ? 0.0 : 1.0))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { decayed.dropDecay(); });
    return success();
  }
};

/// No row sees any write: there is one token, and no row comes after a write of it.
struct EmptyInteraction : OpRewritePattern<InteractionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(InteractionOp op, PatternRewriter &rewriter) const override {
    if (tensorOf(op.getRows()).getDimSize(0) != int64_t(op.getPoints().size()))
      return failure();
    for (int64_t point : op.getPoints())
      for (int64_t step : op.getSteps())
        if (seesWrite(point, step))
          return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, 0.0, op.getType());
    return success();
  }
};

/// Nothing is gathered by a matrix of zeros, and nothing is written.
struct ApplyNothing : OpRewritePattern<ApplyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ApplyOp op, PatternRewriter &rewriter) const override {
    if (constantNumber(op.getMatrix()) != 0.0 && constantNumber(op.getValues()) != 0.0)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, 0.0, op.getType());
    return success();
  }
};

bool isZeroFactor(Value value) {
  if (constantNumber(value) == 0.0)
    return true;
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && constantNumber(broadcast.getOperand()) == 0.0;
}

/// (I + 0) X = B is X = B: an erase gain of zero erases nothing.
struct SolveWithoutErase : OpRewritePattern<SolveOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SolveOp op, PatternRewriter &rewriter) const override {
    bool absent = isZeroFactor(op.getMatrix());
    if (auto map = op.getMatrix().getDefiningOp<MapOp>(); map && map.getFunction() == Function::Mul)
      absent |= llvm::any_of(map.getOperands(), isZeroFactor);
    if (!absent)
      return failure();
    rewriter.replaceOp(op, op.getValues());
    return success();
  }
};

/// A factor of one on the columns or rows of a state is left out.
struct AdvanceWithoutDecay : OpRewritePattern<AdvanceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AdvanceOp op, PatternRewriter &rewriter) const override {
    bool columns = op.getColumnDecay() && constantNumber(op.getColumnDecay()) == 1.0;
    bool rows = op.getRowDecay() && constantNumber(op.getRowDecay()) == 1.0;
    if (!columns && !rows)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (columns)
        op.getColumnDecayMutable().clear();
      if (rows)
        op.getRowDecayMutable().clear();
    });
    return success();
  }
};

/// Nothing decays, and nothing is written.
struct AdvanceByNothing : OpRewritePattern<AdvanceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AdvanceOp op, PatternRewriter &rewriter) const override {
    if (op.getColumnDecay() || op.getRowDecay() || !op.writesNothing())
      return failure();
    rewriter.replaceOp(op, op.getState());
    return success();
  }
};

/// a + (-b) = a - b, a - (-b) = a + b, 0 - a = -a and a * (-1) = -a. The sign of a matrix is that of its product with a
/// vector, which has fewer numbers.
struct SimplifySigns : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    auto replace = [&](Function function, ValueRange operands) {
      rewriter.replaceOpWithNewOp<MapOp>(op, function, operands);
      return success();
    };
    auto negated = [](Value value) -> Value {
      auto map = value.getDefiningOp<MapOp>();
      return map && map.getFunction() == Function::Neg ? map.getOperands()[0] : Value();
    };
    if (op.getOperands().size() != 2)
      return failure();
    Value a = op.getOperands()[0], b = op.getOperands()[1];
    switch (op.getFunction()) {
    case Function::Add:
      if (Value inner = negated(b))
        return replace(Function::Sub, {a, inner});
      if (Value inner = negated(a))
        return replace(Function::Sub, {b, inner});
      return failure();
    case Function::Sub:
      if (Value inner = negated(b))
        return replace(Function::Add, {a, inner});
      if (constantNumber(a) == 0.0 && b.getType() == op.getType())
        return replace(Function::Neg, {b});
      return failure();
    case Function::Mul:
      for (auto [value, factor] : {std::pair(a, b), std::pair(b, a)})
        if (constantNumber(factor) == -1.0 && value.getType() == op.getType())
          return replace(Function::Neg, {value});
      return failure();
    case Function::Matvec:
    case Function::Vecmat: {
      bool isMatvec = op.getFunction() == Function::Matvec;
      Value matrix = negated(isMatvec ? a : b);
      if (!matrix)
        return failure();
      Value product = isMatvec ? MapOp::create(rewriter, op.getLoc(), op.getFunction(), ValueRange{matrix, b})
                               : MapOp::create(rewriter, op.getLoc(), op.getFunction(), ValueRange{a, matrix});
      return replace(Function::Neg, {product});
    }
    default:
      return failure();
    }
  }
};

/// exp(-softplus(x)) = sigmoid(-x) and exp(log(a)) = a: a scan takes each step by itself, so a logarithm that only
/// scans take is not worth its making.
struct StepsOfLogarithms : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    auto operandOf = [](Value value, Function function) -> Value {
      auto map = value ? value.getDefiningOp<MapOp>() : MapOp();
      return map && map.getFunction() == function ? map.getOperands()[0] : Value();
    };
    Value decay = op.getDecay();
    if (!decay || op.getLinear() || !all_of(decay.getUsers(), [](Operation *user) { return isa<ScanOp>(user); }))
      return failure();
    Value step = operandOf(decay, Function::Log);
    if (!step) {
      Value x = operandOf(operandOf(decay, Function::Neg), Function::Softplus);
      if (!x)
        return failure();
      Value negated = operandOf(x, Function::Neg);
      if (!negated)
        negated = MapOp::create(rewriter, op.getLoc(), Function::Neg, ValueRange{x});
      step = MapOp::create(rewriter, op.getLoc(), Function::Sigmoid, ValueRange{negated});
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getDecayMutable().assign(step);
      op.setLinear(true);
    });
    return success();
  }
};

} // namespace

void MapOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifySigns>(context);
}
void InteractionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralDecay<InteractionOp>, EmptyInteraction>(context);
}
void ApplyOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralDecay<ApplyOp>, ApplyNothing>(context);
}
void SolveOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralDecay<SolveOp>, SolveWithoutErase>(context);
}
void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropNeutralDecay<ScanOp>, StepsOfLogarithms>(context);
}
void AdvanceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AdvanceWithoutDecay, AdvanceByNothing>(context);
}
