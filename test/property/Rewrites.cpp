#include "property/Rewrites.h"

using namespace recur;
using namespace recur::property;
using Terms = std::vector<Term>;
using reduce::equal;

//===----------------------------------------------------------------------===//
// The laws. Each function adds what its node may become.
//===----------------------------------------------------------------------===//

/// Builds a sum or difference again, as `like` is one.
static Term likewise(const Term &like, Term a, Term b) {
  return like->text == "+" ? add(std::move(a), std::move(b)) : sub(std::move(a), std::move(b));
}

static void rewriteSums(const Term &e, Terms &out) {
  const Term &a = first(e), &b = second(e);
  if (isBinary(e, "+")) {
    out.push_back(add(b, a));
    if (isBinary(a, "+"))
      out.push_back(add(first(a), add(second(a), b)));
    if (isBinary(a, "-"))
      out.push_back(sub(first(a), sub(second(a), b)));
    if (isSumOrDifference(b))
      out.push_back(likewise(b, add(a, first(b)), second(b)));
    if (isNegate(b))
      out.push_back(sub(a, first(b)));
  } else {
    out.push_back(add(a, neg(b)));
    out.push_back(neg(sub(b, a)));
    if (isSumOrDifference(a))
      out.push_back(isBinary(a, "+") ? add(first(a), sub(second(a), b)) : sub(first(a), add(second(a), b)));
    if (isBinary(b, "+"))
      out.push_back(sub(sub(a, first(b)), second(b)));
    if (isBinary(b, "-"))
      out.push_back(add(sub(a, first(b)), second(b)));
  }
  // Common factors.
  if (isBinary(a, "*") && isBinary(b, "*")) {
    if (equal(first(a), first(b)))
      out.push_back(mul(first(a), likewise(e, second(a), second(b))));
    if (equal(second(a), second(b)))
      out.push_back(mul(likewise(e, first(a), first(b)), second(a)));
  }
  if (isBinary(a, "/") && isBinary(b, "/") && equal(second(a), second(b)))
    out.push_back(div(likewise(e, first(a), first(b)), second(a)));
  if ((isRightRead(a) && isRightRead(b)) || (isLeftRead(a) && isLeftRead(b))) {
    if (equal(first(a), first(b)))
      out.push_back(times(first(a), likewise(e, second(a), second(b))));
    if (equal(second(a), second(b)))
      out.push_back(times(likewise(e, first(a), first(b)), second(a)));
  }
  if (isCall(a, "outer") && isCall(b, "outer")) {
    if (equal(first(a), first(b)))
      out.push_back(outer(first(a), likewise(e, second(a), second(b))));
    if (equal(second(a), second(b)))
      out.push_back(outer(likewise(e, first(a), first(b)), second(a)));
  }
}

static void rewriteProducts(const Term &e, Terms &out) {
  const Term &a = first(e), &b = second(e);
  out.push_back(mul(b, a));
  if (isBinary(a, "*"))
    out.push_back(mul(first(a), mul(second(a), b)));
  if (isBinary(b, "*"))
    out.push_back(mul(mul(a, first(b)), second(b)));
  if (isSumOrDifference(a))
    out.push_back(likewise(a, mul(first(a), b), mul(second(a), b)));
  if (isSumOrDifference(b))
    out.push_back(likewise(b, mul(a, first(b)), mul(a, second(b))));
  if (isNegate(a))
    out.push_back(neg(mul(first(a), b)));
  if (isNegate(b))
    out.push_back(neg(mul(a, first(b))));
  if (isBinary(a, "/"))
    out.push_back(div(mul(first(a), b), second(a)));
  if (isBinary(b, "/"))
    out.push_back(div(mul(a, first(b)), second(b)));
  if (isCall(a, "exp") && isCall(b, "exp"))
    out.push_back(applied("exp", add(first(a), first(b))));
  if (isScalar(a) && isCall(b, "outer")) {
    out.push_back(outer(mul(a, first(b)), second(b)));
    out.push_back(outer(first(b), mul(a, second(b))));
  }
  if (isScalar(a) && isBinary(b, "@")) {
    if (isScaleCols(b)) {
      out.push_back(scaleCols(first(b), mul(a, first(second(b)))));
      out.push_back(scaleCols(mul(a, first(b)), first(second(b))));
    } else if (isScaleRows(b)) {
      out.push_back(scaleRows(mul(a, first(first(b))), second(b)));
      out.push_back(scaleRows(first(first(b)), mul(a, second(b))));
    } else {
      out.push_back(times(mul(a, first(b)), second(b)));
      out.push_back(times(first(b), mul(a, second(b))));
    }
  }
  if (isScalar(a) && isMatrix(b)) {
    out.push_back(scaleCols(b, mul(a, ones(b->shape[1]))));
    out.push_back(scaleRows(mul(a, ones(b->shape[0])), b));
  }
  if (isMatrix(b) && isCall(a, "outer"))
    out.push_back(scaleCols(scaleRows(first(a), b), second(a)));
  if (isScalar(a) && isCall(b, "dot"))
    out.push_back(dot(mul(a, first(b)), second(b)));
}

static void rewriteQuotients(const Term &e, Terms &out) {
  const Term &a = first(e), &b = second(e);
  out.push_back(mul(a, div(number(1), b)));
  if (isSumOrDifference(a))
    out.push_back(likewise(a, div(first(a), b), div(second(a), b)));
  if (isNegate(a))
    out.push_back(neg(div(first(a), b)));
  if (isBinary(a, "*")) {
    out.push_back(mul(first(a), div(second(a), b)));
    out.push_back(mul(div(first(a), b), second(a)));
  }
}

/// `diag(d) @ M` and `M @ diag(d)`: `scaled` builds the same on the other operand.
static void rewriteScaling(const Term &e, Terms &out) {
  bool cols = isScaleCols(e);
  const Term &matrix = cols ? first(e) : second(e);
  const Term &scale = cols ? first(second(e)) : first(first(e));
  auto scaled = [&](const Term &m, const Term &by) { return cols ? scaleCols(m, by) : scaleRows(by, m); };
  if (isSumOrDifference(matrix) && isMatrix(first(matrix)) && isMatrix(second(matrix)))
    out.push_back(likewise(matrix, scaled(first(matrix), scale), scaled(second(matrix), scale)));
  if (isNegate(matrix))
    out.push_back(neg(scaled(first(matrix), scale)));
  if (isBinary(matrix, "*") && isScalar(first(matrix))) {
    out.push_back(mul(first(matrix), scaled(second(matrix), scale)));
    out.push_back(scaled(second(matrix), mul(first(matrix), scale)));
  }
  if (cols && isScaleCols(matrix))
    out.push_back(scaleCols(first(matrix), mul(first(second(matrix)), scale)));
  if (!cols && isScaleRows(matrix))
    out.push_back(scaleRows(mul(scale, first(first(matrix))), second(matrix)));
  if (cols && isScaleRows(matrix))
    out.push_back(scaleRows(first(first(matrix)), scaleCols(second(matrix), scale)));
  if (!cols && isScaleCols(matrix))
    out.push_back(scaleCols(scaleRows(scale, first(matrix)), first(second(matrix))));
  if (isCall(matrix, "outer"))
    out.push_back(cols ? outer(first(matrix), mul(second(matrix), scale))
                       : outer(mul(first(matrix), scale), second(matrix)));
  if (isBinary(scale, "*") && !isScalar(first(scale)) && !isScalar(second(scale)))
    out.push_back(scaled(scaled(matrix, first(scale)), second(scale)));
  // A scaling is a Hadamard product with a matrix of rank one.
  Term one = ones(matrix->shape[cols ? 0 : 1]);
  out.push_back(mul(cols ? outer(one, scale) : outer(scale, one), matrix));
}

/// `M @ x` and `x @ M`.
static void rewriteReads(const Term &e, Terms &out) {
  bool right = isRightRead(e);
  const Term &matrix = right ? first(e) : second(e), &vector = right ? second(e) : first(e);
  auto read = [&](const Term &m, const Term &x) { return right ? times(m, x) : times(x, m); };
  if (isSumOrDifference(matrix) && isMatrix(first(matrix)) && isMatrix(second(matrix)))
    out.push_back(likewise(matrix, read(first(matrix), vector), read(second(matrix), vector)));
  if (isSumOrDifference(vector) && isVector(first(vector)) && isVector(second(vector)))
    out.push_back(likewise(vector, read(matrix, first(vector)), read(matrix, second(vector))));
  if (isNegate(matrix))
    out.push_back(neg(read(first(matrix), vector)));
  if (isNegate(vector))
    out.push_back(neg(read(matrix, first(vector))));
  if (isBinary(matrix, "*") && isScalar(first(matrix)))
    out.push_back(mul(first(matrix), read(second(matrix), vector)));
  if (isBinary(vector, "*")) {
    if (isScalar(first(vector)))
      out.push_back(mul(first(vector), read(matrix, second(vector))));
    else if (isScalar(second(vector)))
      out.push_back(mul(read(matrix, first(vector)), second(vector)));
    else // the elementwise factor moves onto the matrix
      out.push_back(right ? times(scaleCols(matrix, first(vector)), second(vector))
                          : times(first(vector), scaleRows(second(vector), matrix)));
  }
  if (isBinary(vector, "/") && isScalar(second(vector)))
    out.push_back(div(read(matrix, first(vector)), second(vector)));
  if (isScaleCols(matrix)) {
    const Term &scale = first(second(matrix));
    out.push_back(right ? times(first(matrix), mul(scale, vector)) : mul(times(vector, first(matrix)), scale));
  }
  if (isScaleRows(matrix)) {
    const Term &scale = first(first(matrix));
    out.push_back(right ? mul(scale, times(second(matrix), vector)) : times(mul(vector, scale), second(matrix)));
  }
  if (isCall(matrix, "outer"))
    out.push_back(right ? mul(dot(second(matrix), vector), first(matrix))
                        : mul(second(matrix), dot(first(matrix), vector)));
}

static void rewriteOuter(const Term &e, Terms &out) {
  for (unsigned side : {0, 1}) {
    const Term &changed = e->operands[side], &kept = e->operands[1 - side];
    auto with = [&](const Term &t) { return side == 0 ? outer(t, kept) : outer(kept, t); };
    if (isSumOrDifference(changed) && isVector(first(changed)) && isVector(second(changed)))
      out.push_back(likewise(changed, with(first(changed)), with(second(changed))));
    if (isNegate(changed))
      out.push_back(neg(with(first(changed))));
    if (isBinary(changed, "*")) {
      for (unsigned factor : {0, 1}) {
        const Term &one = changed->operands[factor], &other = changed->operands[1 - factor];
        if (isScalar(one))
          out.push_back(mul(one, with(other)));
        else if (isVector(other))
          out.push_back(side == 0 ? scaleRows(one, with(other)) : scaleCols(with(other), one));
      }
    }
    if (isBinary(changed, "/") && isScalar(second(changed)))
      out.push_back(div(with(first(changed)), second(changed)));
  }
}

static void rewriteDot(const Term &e, Terms &out) {
  const Term &a = first(e), &b = second(e);
  out.push_back(dot(b, a));
  out.push_back(sum(mul(a, b)));
  if (isSumOrDifference(a) && isVector(first(a)) && isVector(second(a)))
    out.push_back(likewise(a, dot(first(a), b), dot(second(a), b)));
  if (isBinary(a, "*")) {
    if (isScalar(first(a)))
      out.push_back(mul(first(a), dot(second(a), b)));
    else if (isVector(second(a)))
      out.push_back(dot(first(a), mul(second(a), b)));
  }
}

static void rewriteNegative(const Term &e, Terms &out) {
  const Term &a = first(e);
  out.push_back(mul(neg(number(1)), a));
  if (isNegate(a))
    out.push_back(first(a));
  if (isBinary(a, "-"))
    out.push_back(sub(second(a), first(a)));
  if (isBinary(a, "+"))
    out.push_back(sub(neg(first(a)), second(a)));
  if (isBinary(a, "*")) {
    out.push_back(mul(neg(first(a)), second(a)));
    out.push_back(mul(first(a), neg(second(a))));
  }
}

static void rewriteCalls(const Term &e, Law law, Terms &out) {
  if (e->operands.empty())
    return;
  const Term &a = first(e);
  if (isCall(e, "max") || isCall(e, "min"))
    out.push_back(applied(e->text, second(e), a));
  if (isCall(e, "sum") && isBinary(a, "*") && isVector(first(a)) && isVector(second(a)))
    out.push_back(dot(first(a), second(a)));
  if (isCall(e, "exp") && isBinary(a, "+"))
    out.push_back(mul(applied("exp", first(a)), applied("exp", second(a))));
  if (isCall(e, "l2norm"))
    out.push_back(div(a, applied("sqrt", add(dot(a, a), number(1e-6)))));
  if (law < Law::KeepsClass)
    return;
  if (isCall(e, "sigmoid"))
    out.push_back(div(number(1), add(number(1), applied("exp", neg(a)))));
  if (isCall(e, "logsigmoid"))
    out.push_back(neg(applied("softplus", neg(a))));
  if (isCall(e, "exp") && isCall(a, "logsigmoid"))
    out.push_back(applied("sigmoid", first(a)));
  if (isCall(e, "silu"))
    out.push_back(mul(a, applied("sigmoid", a)));
  if (isCall(e, "gelu"))
    out.push_back(mul(mul(number(0.5), a), add(number(1), applied("erf", div(a, applied("sqrt", number(2)))))));
  if (isCall(e, "where") && isComparison(a) && isNumber(e->operands[2]) && e->operands[2]->text == "0")
    out.push_back(mul(a, second(e)));
  if (isCall(e, "relu"))
    out.push_back(applied("max", a, number(0)));
  if (isCall(e, "abs"))
    out.push_back(applied("max", a, neg(a)));
  if (isCall(e, "max") && law == Law::KeepsValue)
    out.push_back(neg(applied("min", neg(a), neg(second(e)))));
}

static Terms listRewrites(const Term &e, Law law) {
  Terms out;
  if (isSumOrDifference(e))
    rewriteSums(e, out);
  else if (isBinary(e, "*"))
    rewriteProducts(e, out);
  else if (isBinary(e, "/"))
    rewriteQuotients(e, out);
  else if (isScaleCols(e) || isScaleRows(e))
    rewriteScaling(e, out);
  else if (isBinary(e, "@"))
    rewriteReads(e, out);
  else if (isCall(e, "outer"))
    rewriteOuter(e, out);
  else if (isCall(e, "dot"))
    rewriteDot(e, out);
  else if (isNegate(e))
    rewriteNegative(e, out);
  else if (e->is(reduce::Expr::Kind::Call))
    rewriteCalls(e, law, out);
  else // a leaf: neutral elements
    out = {add(e, number(0)), mul(number(1), e), neg(neg(e)), div(e, number(1))};
  return out;
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

namespace {
/// Where a term may be rewritten. The leaves are many, and their laws dull: they get their turn now and then.
struct Places {
  bool leaves;
  bool contain(const Term &term) const { return !isDiag(term) && (leaves || !term->operands.empty()); }

  unsigned count(const Term &term) const {
    unsigned total = contain(term);
    for (unsigned i = 0; i < term->operands.size(); ++i)
      if (!isFixed(term, i))
        total += count(term->operands[i]);
    return total;
  }

  /// Rewrites the place numbered `place` in pre-order.
  Term rewrite(const Term &term, unsigned place, data::Random &random, Law law) const {
    if (contain(term)) {
      if (place == 0) {
        Terms choices = listRewrites(term, law);
        return choices.empty() ? nullptr : random.pick(choices);
      }
      --place;
    }
    for (unsigned i = 0; i < term->operands.size(); ++i) {
      if (isFixed(term, i))
        continue;
      unsigned inside = count(term->operands[i]);
      if (place < inside) {
        Term changed = rewrite(term->operands[i], place, random, law);
        if (!changed)
          return nullptr;
        Terms operands = term->operands;
        operands[i] = changed;
        return reduce::withOperands(term, std::move(operands));
      }
      place -= inside;
    }
    return nullptr;
  }
};
} // namespace

Term property::rewriteSomewhere(const Term &term, data::Random &random, Law law, unsigned maxNodes) {
  Places places{random.chance(0.1)};
  unsigned count = places.count(term);
  Term result = count ? places.rewrite(term, random.below(count), random, law) : nullptr;
  return result && reduce::countNodes(result) <= maxNodes ? result : nullptr;
}
