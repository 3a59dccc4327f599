#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur::algebra;

/// The coefficient of `monomial` in `p`, zero when it is not there.
static double coefficientOf(const Poly *p, const Monomial *monomial) {
  if (p)
    for (const Term &term : p->terms)
      if (term.monomial == monomial)
        return term.coefficient;
  return 0;
}

const Monomial *recur::algebra::quotient(Algebra &algebra, const Monomial *a, const Monomial *b) {
  if (b->isOne())
    return a;
  SmallVector<Factor, 4> factors(a->factors.begin(), a->factors.end());
  for (const Factor &divisor : b->factors) {
    Factor *factor =
        find_if(factors, [&](const Factor &f) { return f.atom == divisor.atom && f.axis == divisor.axis; });
    if (factor == factors.end() || factor->power < divisor.power)
      return nullptr;
    factor->power -= divisor.power;
  }
  erase_if(factors, [](const Factor &f) { return f.power == 0; });
  const Poly *exponent = a->exponent;
  if (b->exponent) {
    for (const Term &term : b->exponent->terms) {
      double have = coefficientOf(a->exponent, term.monomial);
      if (have * term.coefficient <= 0 || std::abs(have) < std::abs(term.coefficient) * (1 - 1e-12))
        return nullptr;
    }
    exponent = algebra.sub(a->exponent, b->exponent);
  }
  return algebra.monomial(factors, exponent);
}

const Monomial *recur::algebra::commonFactor(Algebra &algebra, const Monomial *a, const Monomial *b) {
  if (a == b)
    return a;
  SmallVector<Factor, 4> factors;
  for (const Factor &x : a->factors)
    for (const Factor &y : b->factors)
      if (x.atom == y.atom && x.axis == y.axis)
        factors.push_back({x.atom, x.axis, std::min(x.power, y.power)});
  SmallVector<Term, 4> exponents;
  if (a->exponent && b->exponent)
    for (const Term &term : a->exponent->terms) {
      double other = coefficientOf(b->exponent, term.monomial);
      if (other * term.coefficient > 0)
        exponents.push_back(
            {term.monomial, std::copysign(std::min(std::abs(other), std::abs(term.coefficient)), other)});
    }
  return algebra.monomial(factors, exponents.empty() ? nullptr : algebra.poly(exponents));
}

const Monomial *recur::algebra::commonFactor(Algebra &algebra, const Poly *a) {
  if (a->isZero())
    return algebra.oneMonomial();
  const Monomial *common = a->terms.front().monomial;
  for (const Term &term : a->terms)
    common = commonFactor(algebra, common, term.monomial);
  return common;
}

const Poly *recur::algebra::quotient(Algebra &algebra, const Poly *a, const Monomial *b) {
  SmallVector<Term, 8> terms;
  for (const Term &term : a->terms) {
    const Monomial *divided = quotient(algebra, term.monomial, b);
    if (!divided)
      return nullptr;
    terms.push_back({divided, term.coefficient});
  }
  return algebra.poly(terms);
}

const Poly *recur::algebra::quotient(Algebra &algebra, const Poly *a, const Poly *b) {
  if (b->isZero())
    return nullptr;
  if (const Term *term = b->single()) {
    const Poly *divided = quotient(algebra, a, term->monomial);
    return divided ? algebra.scale(divided, 1 / term->coefficient) : nullptr;
  }
  // Long division by the term of highest degree. Each round removes one term of the quotient, of which there are no
  // more than terms in a; a division that has not ended by then has a remainder.
  Term leading = b->terms.back();
  const Poly *result = algebra.zero();
  const Poly *rest = a;
  for (size_t round = 0; !rest->isZero(); ++round) {
    if (round > a->terms.size())
      return nullptr;
    const Monomial *monomial = nullptr;
    double coefficient = 0;
    for (const Term &term : reverse(rest->terms)) {
      monomial = quotient(algebra, term.monomial, leading.monomial);
      if (monomial) {
        coefficient = term.coefficient / leading.coefficient;
        break;
      }
    }
    if (!monomial)
      return nullptr;
    const Poly *step = algebra.poly(monomial, coefficient);
    const Poly *product = algebra.multiply(step, b);
    result = algebra.add(result, step);
    rest = algebra.sub(rest, product);
  }
  return result;
}

SmallVector<IndexedPart, 2> recur::algebra::collectIndexed(Algebra &algebra, const Poly *a) {
  MapVector<const Monomial *, SmallVector<Term, 2>> coefficients;
  for (const Term &term : a->terms) {
    Algebra::Split parts = algebra.split(term.monomial);
    const Monomial *indexed = algebra.multiply(algebra.multiply(parts.row, parts.col), parts.both);
    coefficients[indexed].push_back({parts.scalar, term.coefficient});
  }
  SmallVector<IndexedPart, 2> result;
  for (auto &[indexed, terms] : coefficients)
    result.push_back({indexed, algebra.poly(terms)});
  // Parts are sorted by the degree of the whole, so that the one that a reader would call the main part comes first.
  llvm::sort(result, [](const IndexedPart &x, const IndexedPart &y) {
    unsigned dx = x.indexed->degree() + x.coefficient->terms.front().monomial->degree();
    unsigned dy = y.indexed->degree() + y.coefficient->terms.front().monomial->degree();
    return dx != dy ? dx < dy : compare(x.indexed, y.indexed) < 0;
  });
  return result;
}

static bool dividesAll(Algebra &algebra, const Poly *candidate, ArrayRef<IndexedPart> parts) {
  return all_of(parts,
                [&](const IndexedPart &part) { return quotient(algebra, part.coefficient, candidate) != nullptr; });
}

/// What all coefficients share: one that divides all others, or the sum that is left of one without its own factors,
/// with the factors that all terms of all share; null if there is no such sum.
static const Poly *commonCoefficient(Algebra &algebra, ArrayRef<IndexedPart> parts, const Monomial *ofAllTerms) {
  for (const IndexedPart &candidate : parts)
    if (dividesAll(algebra, candidate.coefficient, parts))
      return candidate.coefficient;
  const IndexedPart *shortest = llvm::min_element(parts, [](const IndexedPart &a, const IndexedPart &b) {
    return a.coefficient->terms.size() < b.coefficient->terms.size();
  });
  if (shortest->coefficient->single())
    return nullptr;
  const Poly *sum = quotient(algebra, shortest->coefficient, commonFactor(algebra, shortest->coefficient));
  const Poly *shared = algebra.multiply(sum, algebra.poly(ofAllTerms));
  return dividesAll(algebra, shared, parts) ? shared : nullptr;
}

Content recur::algebra::extractContent(Algebra &algebra, const Poly *a) {
  if (a->isZero())
    return {algebra.one(), a};
  SmallVector<IndexedPart, 2> parts = collectIndexed(algebra, a);
  const Monomial *ofAllTerms = algebra.split(commonFactor(algebra, a)).scalar;
  const Poly *scale = commonCoefficient(algebra, parts, ofAllTerms);
  if (!scale)
    scale = algebra.poly(ofAllTerms);
  const Poly *direction = algebra.zero();
  for (const IndexedPart &part : parts)
    direction = algebra.add(direction,
                            algebra.multiply(quotient(algebra, part.coefficient, scale), algebra.poly(part.indexed)));
  double leading = direction->leadingCoefficient();
  return {algebra.scale(scale, leading), algebra.scale(direction, 1 / leading)};
}

std::optional<Affine> recur::algebra::asAffine(Algebra &algebra, const Atom *atom, unsigned state, const Poly *a) {
  SmallVector<Term, 4> factors, offsets;
  for (const Term &term : a->terms) {
    if (!dependsOn(term.monomial->states, state)) {
      offsets.push_back(term);
      continue;
    }
    SmallVector<Factor, 4> rest;
    unsigned found = 0;
    for (const Factor &factor : term.monomial->factors) {
      if (factor.atom == atom && factor.axis != Axis::Col)
        found += factor.power;
      else
        rest.push_back(factor);
    }
    const Monomial *coefficient = algebra.monomial(rest, term.monomial->exponent);
    if (found != 1 || dependsOn(coefficient->states, state))
      return std::nullopt;
    factors.push_back({coefficient, term.coefficient});
  }
  return Affine{algebra.poly(factors), algebra.poly(offsets)};
}
