#include "Analysis/InverseForm.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::algebra;
using namespace recur::analysis;

namespace {
class InverseFormBuilder {
public:
  InverseFormBuilder(Algebra &algebra, const Expressions &expressions, unsigned state)
      : algebra(algebra), state(state), self(expressions.before(state)), after(expressions.after(state)),
        shape(dgps::shapeOf(dgps::StateOp(expressions.state(state)).getResult())) {}

  Expected<InverseForm> build(dgps::RecurrenceOp recurrence, const Expressions &expressions);

private:
  using Kind = InverseForm::Kind;
  /// P @ key or key @ P, over the row index.
  const Poly *read(const Poly *key, bool isLeft);
  const Poly *dot(const Poly *a, const Poly *b) { return algebra.sumOver(algebra.multiply(a, b), Axis::Row, shape[0]); }
  void separateDecay();
  Expected<InverseForm> match(Kind kind, const Poly *right, const Poly *left, const Poly *coefficient);

  Algebra &algebra;
  unsigned state;
  const Poly *self, *after;
  ArrayRef<int64_t> shape;
  const Poly *decay = nullptr;   ///< null: the decay is no scalar
  const Poly *written = nullptr; ///< what the token adds
};
} // namespace

static Error ofAnotherKind() { return noForm("", ""); }

static Error unlikeInverse(const Twine &reason) {
  return noForm(
      "the update multiplies the state with itself, and " + reason,
      "an update that is linear in the state, or by which it stays an inverse: P - f * outer(u, u) / (n + f * "
      "dot(k, u)), where u = P @ k, with a decay of all of P");
}

SmallVector<PlainRead, 4> recur::analysis::findPlainReads(Algebra &algebra, const Expressions &expressions,
                                                          dgps::RecurrenceOp recurrence, unsigned state) {
  SmallVector<PlainRead, 4> reads;
  const Poly *self = expressions.before(state);
  auto add = [&](mlir::Value value, mlir::Value matrix, mlir::Value vector, bool isLeft) {
    const Poly *scale = quotient(algebra, expressions.of(matrix), self), *key = expressions.of(vector);
    if (!scale || scale->dependsOn(state) || key->dependsOn(state))
      return;
    // A factor of each channel that is summed over is one of the key.
    if (scale->axes == (isLeft ? Axis::Row : Axis::Col)) {
      key = algebra.multiplyWithinLimit(isLeft ? scale : algebra.transpose(scale), key);
      scale = algebra.one();
    }
    if (!key || scale->isZero() || key->isZero() || scale->axes != Axis::None)
      return;
    Content content = extractContent(algebra, key);
    reads.push_back({value, algebra.multiply(scale, content.scale), content.direction, isLeft});
  };
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (auto product = dyn_cast<dgps::MatvecOp>(op))
      add(product.getResult(), product.getMatrix(), product.getVector(), /*isLeft=*/false);
    else if (auto product = dyn_cast<dgps::VecmatOp>(op))
      add(product.getResult(), product.getMatrix(), product.getVector(), /*isLeft=*/true);
  }
  return reads;
}

const Poly *InverseFormBuilder::read(const Poly *key, bool isLeft) {
  if (isLeft)
    return algebra.transpose(algebra.sumOver(algebra.multiply(self, key), Axis::Row, shape[0]));
  return algebra.sumOver(algebra.multiply(self, algebra.transpose(key)), Axis::Col, shape[1]);
}

void InverseFormBuilder::separateDecay() {
  SmallVector<Term, 4> decays, others;
  const Monomial *state = self->terms.front().monomial;
  for (const Term &term : after->terms) {
    const Monomial *rest = quotient(algebra, term.monomial, state);
    if (rest && !dependsOn(rest->states, this->state))
      decays.push_back({rest, term.coefficient});
    else
      others.push_back(term);
  }
  const Poly *sum = algebra.poly(decays);
  decay = sum->axes == Axis::None && !sum->isZero() ? sum : nullptr;
  written = algebra.poly(others);
}

/// The two sums, but for the rounding of the numbers in them.
static bool agree(const Poly *a, const Poly *b) {
  return a->terms.size() == b->terms.size() && all_of(zip(a->terms, b->terms), [](auto pair) {
           auto &[x, y] = pair;
           return x.monomial == y.monomial &&
                  std::abs(x.coefficient - y.coefficient) <= 1e-12 * std::abs(y.coefficient);
         });
}

/// `a` / `b` when it is a polynomial, as `quotient` gives it, but where the numbers in both are rounded.
static const Poly *roundedQuotient(Algebra &algebra, const Poly *a, const Poly *b) {
  if (b->single())
    return quotient(algebra, a, b);
  // The divisor is a sum over the keys' parts: each term of the quotient has its largest one.
  const Term *leading = llvm::max_element(
      b->terms, [](const Term &x, const Term &y) { return std::abs(x.coefficient) < std::abs(y.coefficient); });
  SmallVector<Term, 4> terms;
  for (const Term &term : a->terms)
    if (const Monomial *monomial = quotient(algebra, term.monomial, leading->monomial))
      terms.push_back({monomial, term.coefficient / leading->coefficient});
  const Poly *result = algebra.poly(terms);
  const Poly *product = algebra.multiplyWithinLimit(result, b);
  return product && agree(product, a) ? result : nullptr;
}

/// Whether what the token subtracts, `coefficient` times the outer product of the two reads, has the factor of an
/// inverse's correction.
Expected<InverseForm> InverseFormBuilder::match(Kind kind, const Poly *right, const Poly *left,
                                                const Poly *coefficient) {
  for (const Factor &factor : commonFactor(algebra, coefficient)->factors) {
    if (!factor.atom->isFunction("inverse") || factor.power != 1 || !dependsOn(factor.atom->states, state))
      continue;
    const Poly *numerator = quotient(algebra, coefficient, algebra.monomial(factor, nullptr));
    if (numerator->dependsOn(state) || numerator->axes != Axis::None)
      return unlikeInverse("divides by what depends on it twice");
    SmallVector<Term, 4> own, free;
    for (const Term &term : factor.atom->arguments[0]->terms)
      (dependsOn(term.monomial->states, state) ? own : free).push_back(term);
    // The same number in two spellings: left (P right) and (left P) right.
    for (const Poly *product : {dot(left, read(right, /*isLeft=*/false)), dot(right, read(left, /*isLeft=*/true))}) {
      const Poly *scale = roundedQuotient(algebra, algebra.poly(own), product);
      if (!scale || scale->dependsOn(state) || scale->axes != Axis::None)
        continue;
      if (!agree(numerator, algebra.multiply(decay, scale)))
        return unlikeInverse("is not scaled by what it is divided by");
      return InverseForm{state, kind, right, left, scale, algebra.poly(free), describeDecay(algebra, decay)};
    }
    return unlikeInverse("divides by another product with it than that of its own keys");
  }
  return unlikeInverse("does not divide by a product of the same keys with it");
}

namespace {
/// The vectors that the state is multiplied with from either side, without scalar factors.
struct ReadKeys {
  SetVector<const Poly *> right, left;
};
} // namespace

/// Sums and multiples of reads are reads with the sums and multiples of their keys: k @ P + h @ P is (k + h) @ P.
static ReadKeys gatherKeys(Algebra &algebra, const Expressions &expressions, dgps::RecurrenceOp recurrence,
                           unsigned state) {
  ReadKeys keys;
  DenseMap<mlir::Value, std::pair<const Poly *, bool>> known; // the key, and whether it is on the left
  auto record = [&](mlir::Value value, const Poly *key, bool isLeft) {
    known[value] = {key, isLeft};
    if (!key->isZero())
      (isLeft ? keys.left : keys.right).insert(extractContent(algebra, key).direction);
  };
  for (const PlainRead &read : findPlainReads(algebra, expressions, recurrence, state))
    record(read.value, algebra.multiply(read.scale, read.key), read.isLeft);
  auto scale = [&](mlir::Value result, mlir::Value value, mlir::Value factor, bool divides = false) {
    auto read = known.find(value);
    if (read == known.end() || known.contains(result))
      return;
    auto [key, isLeft] = read->second;
    const Poly *number = expressions.of(factor);
    if (number->axes == Axis::None && !number->dependsOn(state))
      record(result, algebra.multiply(divides ? algebra.inverse(number) : number, key), isLeft);
  };
  for (mlir::Operation &op : recurrence.getBody().front()) {
    if (isa<dgps::AddOp, dgps::SubOp>(op)) {
      auto first = known.find(op.getOperand(0)), second = known.find(op.getOperand(1));
      if (first == known.end() || second == known.end() || first->second.second != second->second.second)
        continue;
      auto [key, isLeft] = first->second;
      const Poly *other = second->second.first;
      record(op.getResult(0), algebra.add(key, isa<dgps::SubOp>(op) ? algebra.negate(other) : other), isLeft);
    } else if (auto product = dyn_cast<dgps::MulOp>(op)) {
      scale(product.getResult(), product.getOperand(0), product.getOperand(1));
      scale(product.getResult(), product.getOperand(1), product.getOperand(0));
    } else if (auto quotient = dyn_cast<dgps::DivOp>(op)) {
      scale(quotient.getResult(), quotient.getOperand(0), quotient.getOperand(1), /*divides=*/true);
    } else if (auto negative = dyn_cast<dgps::NegOp>(op)) {
      if (auto read = known.find(negative.getOperand()); read != known.end()) {
        auto [key, isLeft] = read->second;
        record(negative.getResult(), algebra.negate(key), isLeft);
      }
    }
  }
  return keys;
}

Expected<InverseForm> InverseFormBuilder::build(dgps::RecurrenceOp recurrence, const Expressions &expressions) {
  if (shape.size() != 2 || shape[0] != shape[1])
    return ofAnotherKind();
  separateDecay();
  bool divides = any_of(written->terms, [&](const Term &term) {
    return any_of(term.monomial->factors, [&](const Factor &factor) {
      return factor.atom->isFunction("inverse") && dependsOn(factor.atom->states, state);
    });
  });
  if (!divides)
    return ofAnotherKind();
  if (!decay)
    return unlikeInverse("its rows or columns have decays of their own");
  auto [rightKeys, leftKeys] = gatherKeys(algebra, expressions, recurrence, state);
  auto tryPair = [&](Kind kind, const Poly *right, const Poly *left) -> std::optional<Expected<InverseForm>> {
    const Poly *rows = read(right, kind == Kind::OfLeftRead), *columns = read(left, kind != Kind::OfRightRead);
    const Poly *product = algebra.multiplyWithinLimit(rows, algebra.transpose(columns));
    const Poly *coefficient = product ? roundedQuotient(algebra, written, product) : nullptr;
    if (!coefficient || coefficient->axes != Axis::None)
      return std::nullopt;
    return match(kind, right, left, algebra.negate(coefficient));
  };
  for (const Poly *right : rightKeys) {
    if (auto form = tryPair(Kind::OfRightRead, right, right))
      return std::move(*form);
    for (const Poly *left : leftKeys)
      if (auto form = tryPair(Kind::TwoSided, right, left))
        return std::move(*form);
  }
  for (const Poly *left : leftKeys)
    if (auto form = tryPair(Kind::OfLeftRead, left, left))
      return std::move(*form);
  return unlikeInverse("adds more than one outer product of reads with the same keys");
}

Expected<InverseForm> recur::analysis::buildInverseForm(Algebra &algebra, const Expressions &expressions,
                                                        dgps::RecurrenceOp recurrence, unsigned state) {
  if (expressions.atomOf(state)->rank != 2)
    return ofAnotherKind();
  return InverseFormBuilder(algebra, expressions, state).build(recurrence, expressions);
}
