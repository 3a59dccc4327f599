#include "dialects/DGPS/DGPSSumOfRows.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;
using namespace recur::dgps;

namespace {

/// w[i] * s[j]: the two wholes, and the place in each.
struct Tap {
  ExtractOp weight, row;
  /// The wholes, and how far the places are apart: taps that agree in these are one run.
  using Run = std::pair<std::pair<Value, Value>, int64_t>;
  Run getRun() {
    return {{weight.getOperand(), row.getOperand()}, int64_t(row.getIndex()) - int64_t(weight.getIndex())};
  }
};

/// w[a] * s[b] + w[a + 1] * s[b + 1] + ... of a state's rows or elements. What is written or unrolled term by term is
/// one product here, which is a loop in kernels.
struct SumOfRows : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override;
};

} // namespace

/// Fewer terms are left as they are: short convolutions cost least as views of rows.
static constexpr size_t fewTerms = 8;

static bool isPartOfSum(AddOp op) { return op->hasOneUse() && isa<AddOp>(*op->user_begin()); }

static std::optional<Tap> matchTap(Value term) {
  auto product = term.getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [weight, row] :
       {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
    auto ofWeights = weight.getDefiningOp<ExtractOp>(), ofRows = row.getDefiningOp<ExtractOp>();
    if (ofWeights && ofRows && ofRows.getOperand().getDefiningOp<StateOp>() &&
        !ofWeights.getOperand().getDefiningOp<StateOp>() && shapeOf(weight).size() <= shapeOf(row).size())
      return Tap{ofWeights, ofRows};
  }
  return std::nullopt;
}

/// The sum of so many taps, of which this is the first.
static Value buildProduct(Tap first, int64_t count, Location loc, PatternRewriter &rewriter) {
  auto cut = [&](ExtractOp part) -> Value {
    if (shapeOf(part.getOperand()).front() == count)
      return part.getOperand();
    return SliceOp::create(rewriter, loc, part.getOperand(), part.getIndex(), count);
  };
  Value weights = cut(first.weight), rows = cut(first.row);
  if (shapeOf(rows).size() == 1)
    return DotOp::create(rewriter, loc, weights, rows);
  if (shapeOf(weights).size() == 1)
    return VecmatOp::create(rewriter, loc, weights, rows);
  Value ones = ConstantOp::create(rewriter, loc, 1, {count});
  return VecmatOp::create(rewriter, loc, ones, MulOp::create(rewriter, loc, weights, rows));
}

LogicalResult SumOfRows::matchAndRewrite(AddOp op, PatternRewriter &rewriter) const {
  if (isPartOfSum(op))
    return failure();
  SmallVector<Value> terms{op.getRhs(), op.getLhs()}, others, products;
  llvm::MapVector<Tap::Run, std::map<int64_t, std::pair<Tap, Value>>> runs; // by the weight's place
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    auto sum = term.getDefiningOp<AddOp>();
    std::optional<Tap> tap = matchTap(term);
    if (sum && isPartOfSum(sum))
      terms.append({sum.getRhs(), sum.getLhs()});
    else if (!tap || !runs[tap->getRun()].try_emplace(tap->weight.getIndex(), *tap, term).second)
      others.push_back(term);
  }
  for (auto &[key, run] : runs) {
    bool isWhole = run.rbegin()->first - run.begin()->first + 1 == int64_t(run.size());
    if (isWhole && run.size() > fewTerms)
      products.push_back(buildProduct(run.begin()->second.first, run.size(), op.getLoc(), rewriter));
    else
      for (auto &[place, tap] : run)
        others.push_back(tap.second);
  }
  if (products.empty())
    return failure();
  Value sum;
  for (Value term : llvm::concat<Value>(others, products))
    sum = sum ? Value(AddOp::create(rewriter, op.getLoc(), sum, term)) : term;
  rewriter.replaceOp(op, sum);
  return success();
}

void recur::dgps::populateSumOfRowsPatterns(RewritePatternSet &patterns) {
  patterns.add<SumOfRows>(patterns.getContext());
}
