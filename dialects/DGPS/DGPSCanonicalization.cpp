// Rewrites that are right over the reals and better in floating point or simpler to read.
#include "dialects/DGPS/DGPS.h"
#include "dialects/DGPS/DGPSSumOfRows.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace recur::dgps;

/// Whether the value is a negative, or a difference where those count, or a product of one, that nothing else takes.
static bool canTakeSign(Value value, bool ofDifferences) {
  if (!value.hasOneUse())
    return false;
  auto product = value.getDefiningOp<MulOp>();
  return value.getDefiningOp<NegOp>() || (ofDifferences && value.getDefiningOp<SubOp>()) ||
         (product && llvm::any_of(product.getOperands(), [&](Value v) { return canTakeSign(v, ofDifferences); }));
}

/// The negative of what can take a sign: a negative without its own, a difference the other way round.
static Value negate(Value value, bool ofDifferences, PatternRewriter &rewriter) {
  if (auto negative = value.getDefiningOp<NegOp>())
    return negative.getOperand();
  if (auto difference = value.getDefiningOp<SubOp>())
    return SubOp::create(rewriter, value.getLoc(), difference.getRhs(), difference.getLhs());
  auto product = value.getDefiningOp<MulOp>();
  Value lhs = product.getLhs(), rhs = product.getRhs();
  Value &factor = canTakeSign(lhs, ofDifferences) ? lhs : rhs;
  factor = negate(factor, ofDifferences, rewriter);
  return MulOp::create(rewriter, value.getLoc(), lhs, rhs);
}

/// The number that scales a value, and what it scales, where nothing else takes the product; else nulls.
static std::pair<Value, Value> takeNumber(Value value) {
  if (auto product = value.getDefiningOp<MulOp>(); product && value.hasOneUse())
    for (auto [number, rest] :
         {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())})
      if (shapeOf(number).empty() && !shapeOf(rest).empty())
        return {number, rest};
  return {};
}

namespace {

/// a + (-b) = a - b, and so of a product with a negative.
struct AddOfNegative : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [kept, negated] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto neg = negated.getDefiningOp<NegOp>()) {
        rewriter.replaceOpWithNewOp<SubOp>(op, kept, neg.getOperand());
        return success();
      } else if (canTakeSign(negated, /*ofDifferences=*/false)) {
        rewriter.replaceOpWithNewOp<SubOp>(op, kept, negate(negated, /*ofDifferences=*/false, rewriter));
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

/// a (1 / b) = a / b: one rounding less.
struct MulByReciprocal : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [value, factor] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto reciprocal = factor.getDefiningOp<DivOp>();
      if (!reciprocal || constantNumber(reciprocal.getLhs()) != 1.0 || !shapeOf(reciprocal.getLhs()).empty() ||
          constantNumber(value))
        continue;
      rewriter.replaceOpWithNewOp<DivOp>(op, value, reciprocal.getRhs());
      return success();
    }
    return failure();
  }
};

/// A number scales a product of vectors or matrices and none of its factors: x (s y) = s (x y), s (t x) = (s t) x.
struct MulByNumberLast : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    if (shapeOf(op.getResult()).empty())
      return failure();
    for (auto [other, scaled] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto [number, rows] = takeNumber(scaled);
      if (!number)
        continue;
      auto multiply = [&](Value a, Value b) -> Value { return MulOp::create(rewriter, op.getLoc(), a, b); };
      if (shapeOf(other).empty())
        rewriter.replaceOpWithNewOp<MulOp>(op, multiply(other, number), rows);
      else
        rewriter.replaceOpWithNewOp<MulOp>(op, number, multiply(other, rows));
      return success();
    }
    return failure();
  }
};

/// sum(a b) = <a, b>, of which more is known: <a, a> is the square of a length. A number scales the sum.
struct SumOfProduct : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SumOp op, PatternRewriter &rewriter) const override {
    if (auto [number, rows] = takeNumber(op.getOperand()); number) {
      rewriter.replaceOpWithNewOp<MulOp>(op, number, SumOp::create(rewriter, op.getLoc(), rows).getResult());
      return success();
    }
    auto product = op.getOperand().getDefiningOp<MulOp>();
    if (!product || product.getLhs().getType() != product.getRhs().getType() || shapeOf(product.getLhs()).size() != 1)
      return failure();
    rewriter.replaceOpWithNewOp<DotOp>(op, product.getLhs(), product.getRhs());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Products as lists of factors
//===----------------------------------------------------------------------===//

/// The factors of a product, and of those that nothing but it takes.
static void collectFactors(Value value, SmallVectorImpl<Value> &factors) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return factors.push_back(value);
  for (Value operand : product.getOperands())
    if (operand.hasOneUse())
      collectFactors(operand, factors);
    else
      factors.push_back(operand);
}

/// Null where there are no factors.
static Value multiply(PatternRewriter &rewriter, Location loc, ArrayRef<Value> factors) {
  Value product;
  for (bool areNumbers : {true, false}) // numbers first: they scale the rest at once
    for (Value factor : factors)
      if (shapeOf(factor).empty() == areNumbers)
        product = product ? MulOp::create(rewriter, loc, product, factor).getResult() : factor;
  return product;
}

static bool isExponential(Value value) { return value.getDefiningOp<ExpOp>() != nullptr; }

/// Whether nothing is left of the exponential once those that multiply it are one with others that nothing else takes.
static bool isAbsorbed(Value exponential) {
  return llvm::all_of(exponential.getUsers(), [&](Operation *user) {
    auto product = dyn_cast<MulOp>(user);
    return product && llvm::any_of(product.getOperands(), [&](Value other) {
             return other != exponential && isExponential(other) && other.hasOneUse();
           });
  });
}

/// exp(a) x exp(b) = x exp(a + b): one exponential, which is finite where both together are.
struct MulOfExponentials : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> factors, others, exponents;
    collectFactors(op, factors);
    for (Value factor : factors)
      if (isExponential(factor) && (factor.hasOneUse() || isAbsorbed(factor)))
        exponents.push_back(factor.getDefiningOp<ExpOp>().getOperand());
      else
        others.push_back(factor);
    if (exponents.size() < 2)
      return failure();
    Value sum = exponents.front();
    for (Value exponent : ArrayRef(exponents).drop_front())
      sum = AddOp::create(rewriter, op.getLoc(), sum, exponent);
    others.push_back(ExpOp::create(rewriter, op.getLoc(), sum));
    rewriter.replaceOp(op, multiply(rewriter, op.getLoc(), others));
    return success();
  }
};

/// c x + c y = c (x + y), and so of differences, and where x or y is one: a product less, and fewer digits cancel.
template <typename SumOrDifference> struct CommonFactors : OpRewritePattern<SumOrDifference> {
  using OpRewritePattern<SumOrDifference>::OpRewritePattern;
  LogicalResult matchAndRewrite(SumOrDifference op, PatternRewriter &rewriter) const override {
    SmallVector<Value> left, right, common;
    for (auto [operand, factors] : {std::pair(op.getLhs(), &left), std::pair(op.getRhs(), &right)})
      if (operand.hasOneUse())
        collectFactors(operand, *factors);
      else
        factors->push_back(operand);
    for (Value factor : SmallVector<Value>(left)) {
      auto *found = llvm::find(right, factor);
      bool isAlone = left.size() == 1 || right.size() == 1;
      if (found == right.end() || (constantNumber(factor) && isAlone))
        continue;
      common.push_back(factor);
      right.erase(found);
      left.erase(llvm::find(left, factor));
    }
    if (common.empty())
      return failure();
    Location loc = op.getLoc();
    auto rest = [&](ArrayRef<Value> factors) {
      return factors.empty() ? ConstantOp::create(rewriter, loc, 1.0, ArrayRef<int64_t>()).getResult()
                             : multiply(rewriter, loc, factors);
    };
    Value one = rest(left), other = rest(right);
    common.push_back(SumOrDifference::create(rewriter, loc, one, other));
    rewriter.replaceOp(op, multiply(rewriter, loc, common));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// -(a - b) = b - a, and so of a product with a difference.
struct NegOfDifference : OpRewritePattern<NegOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NegOp op, PatternRewriter &rewriter) const override {
    if (!canTakeSign(op.getOperand(), /*ofDifferences=*/true))
      return failure();
    rewriter.replaceOp(op, negate(op.getOperand(), /*ofDifferences=*/true, rewriter));
    return success();
  }
};

/// a - (b - c) = a + (c - b), and so of a product with a difference.
struct SubOfDifference : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    if (!canTakeSign(op.getRhs(), /*ofDifferences=*/true))
      return failure();
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), negate(op.getRhs(), /*ofDifferences=*/true, rewriter));
    return success();
  }
};

/// max(a, -a) = |a|.
struct MaxOfBothSigns : OpRewritePattern<MaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaxOp op, PatternRewriter &rewriter) const override {
    for (auto [value, negated] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto neg = negated.getDefiningOp<NegOp>(); neg && neg.getOperand() == value) {
        rewriter.replaceOpWithNewOp<AbsOp>(op, value);
        return success();
      }
    return failure();
  }
};

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// The number that all elements of a vector are; null where it is not known to be one.
static Value findUniform(Value vector, PatternRewriter &rewriter) {
  if (std::optional<double> number = constantNumber(vector))
    return ConstantOp::create(rewriter, vector.getLoc(), *number, ArrayRef<int64_t>());
  if (auto broadcast = vector.getDefiningOp<BroadcastOp>(); broadcast && shapeOf(broadcast.getOperand()).empty())
    return broadcast.getOperand();
  auto product = vector.getDefiningOp<MulOp>();
  if (!product)
    return {};
  for (auto [one, number] :
       {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())})
    if (constantNumber(one) == 1.0 && shapeOf(number).empty())
      return number;
  return {};
}

/// diag(a) M = a M where all of the diagonal is one number.
template <typename Scale> struct ScaleByNumber : OpRewritePattern<Scale> {
  using OpRewritePattern<Scale>::OpRewritePattern;
  LogicalResult matchAndRewrite(Scale op, PatternRewriter &rewriter) const override {
    Value number = findUniform(op.getVector(), rewriter);
    if (!number)
      return failure();
    rewriter.replaceOpWithNewOp<MulOp>(op, number, op.getMatrix());
    return success();
  }
};

/// diag(a) (u v^T) = (a u) v^T: vectors are scaled rather than matrices.
struct ScaleRowsOfOuter : OpRewritePattern<ScaleRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScaleRowsOp op, PatternRewriter &rewriter) const override {
    auto outer = op.getMatrix().getDefiningOp<OuterOp>();
    if (!outer || !outer->hasOneUse())
      return failure();
    Value scaled = MulOp::create(rewriter, op.getLoc(), op.getVector(), outer.getLhs());
    rewriter.replaceOpWithNewOp<OuterOp>(op, scaled, outer.getRhs());
    return success();
  }
};
struct ScaleColsOfOuter : OpRewritePattern<ScaleColsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScaleColsOp op, PatternRewriter &rewriter) const override {
    auto outer = op.getMatrix().getDefiningOp<OuterOp>();
    if (!outer || !outer->hasOneUse())
      return failure();
    Value scaled = MulOp::create(rewriter, op.getLoc(), outer.getRhs(), op.getVector());
    rewriter.replaceOpWithNewOp<OuterOp>(op, outer.getLhs(), scaled);
    return success();
  }
};

/// Scales one of the vectors of an outer product: the shorter.
static void scaleShorter(MulOp op, Value number, OuterOp outer, PatternRewriter &rewriter) {
  Value lhs = outer.getLhs(), rhs = outer.getRhs();
  Value &shorter = shapeOf(rhs)[0] < shapeOf(lhs)[0] ? rhs : lhs;
  shorter = MulOp::create(rewriter, op.getLoc(), number, shorter);
  rewriter.replaceOpWithNewOp<OuterOp>(op, lhs, rhs);
}

/// s (u v^T) = (s u) v^T; (u 1^T) * M = diag(u) M, and so from the other side.
struct MulOfOuter : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [other, factor] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto outer = factor.getDefiningOp<OuterOp>();
      if (!outer || !outer->hasOneUse())
        continue;
      auto scaled = [&](Value number, Value vector) -> Value {
        return MulOp::create(rewriter, op.getLoc(), number, vector);
      };
      if (shapeOf(other).empty())
        scaleShorter(op, other, outer, rewriter);
      else if (Value number = findUniform(outer.getRhs(), rewriter))
        rewriter.replaceOpWithNewOp<ScaleRowsOp>(op, scaled(number, outer.getLhs()), other);
      else if (Value number = findUniform(outer.getLhs(), rewriter))
        rewriter.replaceOpWithNewOp<ScaleColsOp>(op, other, scaled(number, outer.getRhs()));
      else
        continue;
      return success();
    }
    return failure();
  }
};

static Value createRead(PatternRewriter &rewriter, MatvecOp like, Value matrix, Value vector) {
  return MatvecOp::create(rewriter, like.getLoc(), matrix, vector);
}
static Value createRead(PatternRewriter &rewriter, VecmatOp like, Value matrix, Value vector) {
  return VecmatOp::create(rewriter, like.getLoc(), vector, matrix);
}

/// (s M) x = M (s x) = s (M x), (diag(a) M) x = a (M x), (M diag(a)) x = M (a x), and so from the other side: what is
/// read is scaled, or what it is read with, and no matrix.
template <typename Read> struct ReadOfScaled : OpRewritePattern<Read> {
  using OpRewritePattern<Read>::OpRewritePattern;
  LogicalResult matchAndRewrite(Read op, PatternRewriter &rewriter) const override {
    constexpr bool isRight = std::is_same_v<Read, MatvecOp>;
    Value matrix = op.getMatrix(), vector = op.getVector();
    auto scale = [&](Value factor, Value read) { return MulOp::create(rewriter, op.getLoc(), factor, read); };
    for (bool ofMatrix : {true, false})
      if (auto [number, rest] = takeNumber(ofMatrix ? matrix : vector); number) {
        Value read = ofMatrix ? createRead(rewriter, op, rest, vector) : createRead(rewriter, op, matrix, rest);
        rewriter.replaceOp(op, scale(number, read));
        return success();
      }
    if (!matrix.hasOneUse())
      return failure();
    auto ofRows = matrix.getDefiningOp<ScaleRowsOp>();
    auto ofColumns = matrix.getDefiningOp<ScaleColsOp>();
    if (!ofRows && !ofColumns)
      return failure();
    Value factor = ofRows ? ofRows.getVector() : ofColumns.getVector();
    Value rest = ofRows ? ofRows.getMatrix() : ofColumns.getMatrix();
    if (isRight == bool(ofRows))
      rewriter.replaceOp(op, scale(factor, createRead(rewriter, op, rest, vector)));
    else
      rewriter.replaceOp(op, createRead(rewriter, op, rest, scale(factor, vector)));
    return success();
  }
};

/// M x + s M y = M (x + s y): one read instead of two.
template <typename SumOrDifference, typename Read> struct SumOfReads : OpRewritePattern<SumOrDifference> {
  using OpRewritePattern<SumOrDifference>::OpRewritePattern;
  LogicalResult matchAndRewrite(SumOrDifference op, PatternRewriter &rewriter) const override {
    Value numbers[2];
    Read reads[2];
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto [number, rest] = takeNumber(operand);
      numbers[i] = number;
      reads[i] = (number ? rest : operand).template getDefiningOp<Read>();
      if (!reads[i] || !reads[i]->hasOneUse())
        return failure();
    }
    if (reads[0].getMatrix() != reads[1].getMatrix())
      return failure();
    Value vectors[2];
    for (unsigned i : {0u, 1u})
      vectors[i] = numbers[i] ? MulOp::create(rewriter, op.getLoc(), numbers[i], reads[i].getVector()).getResult()
                              : reads[i].getVector();
    Value sum = SumOrDifference::create(rewriter, op.getLoc(), vectors[0], vectors[1]);
    rewriter.replaceOp(op, createRead(rewriter, reads[0], reads[0].getMatrix(), sum));
    return success();
  }
};

/// u a^T + u b^T = u (a + b)^T, and so from the other side: one outer product instead of two.
template <typename SumOrDifference> struct SumOfOuters : OpRewritePattern<SumOrDifference> {
  using OpRewritePattern<SumOrDifference>::OpRewritePattern;
  LogicalResult matchAndRewrite(SumOrDifference op, PatternRewriter &rewriter) const override {
    auto one = op.getLhs().template getDefiningOp<OuterOp>(), other = op.getRhs().template getDefiningOp<OuterOp>();
    if (!one || !other || !one->hasOneUse() || !other->hasOneUse())
      return failure();
    auto combine = [&](Value a, Value b) -> Value { return SumOrDifference::create(rewriter, op.getLoc(), a, b); };
    if (one.getLhs() == other.getLhs())
      rewriter.replaceOpWithNewOp<OuterOp>(op, one.getLhs(), combine(one.getRhs(), other.getRhs()));
    else if (one.getRhs() == other.getRhs())
      rewriter.replaceOpWithNewOp<OuterOp>(op, combine(one.getLhs(), other.getLhs()), one.getRhs());
    else
      return failure();
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// a / (1 + exp(-x)) = a sigmoid(x), which does not overflow.
struct LogisticIsSigmoid : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getRhs().getDefiningOp<AddOp>();
    if (!sum)
      return failure();
    for (auto [one, exponential] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
      auto exp = exponential.getDefiningOp<ExpOp>();
      if (!exp || constantNumber(one) != 1.0 || exp.getType() != sum.getType())
        continue;
      bool isOne = constantNumber(op.getLhs()) == 1.0;
      if (isOne && exp.getType() != op.getType())
        continue;
      Value sigmoid = SigmoidOp::create(rewriter, op.getLoc(), NegOp::create(rewriter, op.getLoc(), exp.getOperand()));
      if (isOne)
        rewriter.replaceOp(op, sigmoid);
      else
        rewriter.replaceOpWithNewOp<MulOp>(op, sigmoid, op.getLhs());
      return success();
    }
    return failure();
  }
};

/// exp(-softplus(x)) = sigmoid(-x).
struct ExpOfSoftplusIsSigmoid : OpRewritePattern<ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpOp op, PatternRewriter &rewriter) const override {
    auto neg = op.getOperand().getDefiningOp<NegOp>();
    auto softplus = neg ? neg.getOperand().getDefiningOp<SoftplusOp>() : SoftplusOp();
    if (!softplus)
      return failure();
    Value negated = NegOp::create(rewriter, op.getLoc(), softplus.getOperand());
    rewriter.replaceOpWithNewOp<SigmoidOp>(op, negated);
    return success();
  }
};

} // namespace

// A pattern stands with the op that it takes apart, whichever its root is.
void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<AddOfNegative, AddOfExpAndMinusOne, CommonFactors<AddOp>, SumOfOuters<AddOp>,
               SumOfReads<AddOp, MatvecOp>, SumOfReads<AddOp, VecmatOp>>(context);
  populateSumOfRowsPatterns(patterns);
}
void SubOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifySub, SubOfDifference, NegOfDifference, MaxOfBothSigns, ExpOfSoftplusIsSigmoid,
               CommonFactors<SubOp>, SumOfOuters<SubOp>, SumOfReads<SubOp, MatvecOp>, SumOfReads<SubOp, VecmatOp>>(
      context);
}
void MulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MulByMinusOne, MulByReciprocal, MulByNumberLast, MulOfExponentials, SumOfProduct,
               ScaleByNumber<ScaleColsOp>, ScaleByNumber<ScaleRowsOp>, ScaleRowsOfOuter, ScaleColsOfOuter, MulOfOuter,
               ReadOfScaled<MatvecOp>, ReadOfScaled<VecmatOp>>(context);
}
void DivOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<LogisticIsSigmoid>(context);
}

#define GET_OP_CLASSES
#include "dialects/DGPS/DGPSOps.cpp.inc"
