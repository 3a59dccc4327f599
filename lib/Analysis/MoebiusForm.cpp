#include "Analysis/MoebiusForm.h"
#include "Analysis/Algebra/Division.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;
using namespace recur::algebra;
using namespace recur::analysis;

namespace {

struct Fraction {
  const Poly *over, *under;
};

/// Puts a value over one denominator, as far as the state goes: quotients without it are factors like any other.
class FractionBuilder {
public:
  FractionBuilder(Algebra &algebra, unsigned state) : algebra(algebra), state(state) {}

  /// None where it would become too large.
  std::optional<Fraction> build(const Poly *value, unsigned depth = 0);
  /// Without factors that are in both, but for the last of each below.
  Fraction reduce(Fraction fraction);

private:
  std::optional<Fraction> buildTerm(const Term &term, unsigned depth);
  std::optional<Fraction> add(Fraction a, Fraction b);
  const Poly *multiply(const Poly *a, const Poly *b);

  Algebra &algebra;
  unsigned state;
  SetVector<const Poly *> denominators; ///< each alone
};

} // namespace

const Poly *FractionBuilder::multiply(const Poly *a, const Poly *b) {
  constexpr size_t most = 256; // terms; a form with more is none that anybody wrote
  return a && b && a->terms.size() * b->terms.size() <= most ? algebra.multiply(a, b) : nullptr;
}

std::optional<Fraction> FractionBuilder::add(Fraction a, Fraction b) {
  // One denominator is often a multiple of the other.
  if (const Poly *more = quotient(algebra, b.under, a.under)) {
    a = {multiply(a.over, more), b.under};
  } else if (const Poly *more = quotient(algebra, a.under, b.under)) {
    b = {multiply(b.over, more), a.under};
  } else {
    const Poly *under = multiply(a.under, b.under);
    a = {multiply(a.over, b.under), under};
    b = {multiply(b.over, a.under), under};
  }
  if (!a.over || !b.over || !a.under)
    return std::nullopt;
  return Fraction{algebra.add(a.over, b.over), a.under};
}

std::optional<Fraction> FractionBuilder::buildTerm(const Term &term, unsigned depth) {
  SmallVector<Factor, 4> rest;
  const Poly *over = algebra.one(), *under = over;
  for (const Factor &factor : term.monomial->factors) {
    if (!factor.atom->isFunction("inverse") || factor.axis == Axis::Col || !dependsOn(factor.atom->states, state)) {
      rest.push_back(factor);
      continue;
    }
    std::optional<Fraction> inner = build(factor.atom->arguments[0], depth + 1);
    if (!inner)
      return std::nullopt;
    denominators.insert(inner->over);
    for (unsigned i = 0; i < factor.power; ++i) {
      over = multiply(over, inner->under);
      under = multiply(under, inner->over);
    }
  }
  over = multiply(over, algebra.poly(algebra.monomial(rest, term.monomial->exponent), term.coefficient));
  if (!over || !under)
    return std::nullopt;
  return Fraction{over, under};
}

std::optional<Fraction> FractionBuilder::build(const Poly *value, unsigned depth) {
  constexpr unsigned mostDepth = 8; // of quotients within quotients
  if (depth > mostDepth)
    return std::nullopt;
  Fraction sum{algebra.zero(), algebra.one()};
  for (const Term &term : value->terms) {
    std::optional<Fraction> part = buildTerm(term, depth);
    if (part)
      part = add(sum, *part);
    if (!part)
      return std::nullopt;
    sum = *part;
  }
  return sum;
}

Fraction FractionBuilder::reduce(Fraction fraction) {
  for (const Poly *factor : denominators)
    while (true) {
      const Poly *under = quotient(algebra, fraction.under, factor);
      const Poly *over = under && quotient(algebra, under, factor) ? quotient(algebra, fraction.over, factor) : nullptr;
      if (!over)
        break;
      fraction = {over, under};
    }
  return fraction;
}

std::optional<MoebiusForm> recur::analysis::findMoebiusForm(Algebra &algebra, const Atom *atom, unsigned state,
                                                            const Poly *after) {
  FractionBuilder builder(algebra, state);
  std::optional<Fraction> fraction = builder.build(after);
  if (!fraction)
    return std::nullopt;
  *fraction = builder.reduce(*fraction);
  if (fraction->under->isZero())
    return std::nullopt;
  // A number that multiplies both makes no other form.
  double scale = 1 / fraction->under->leadingCoefficient();
  *fraction = {algebra.scale(fraction->over, scale), algebra.scale(fraction->under, scale)};
  std::optional<Affine> over = asAffine(algebra, atom, state, fraction->over);
  std::optional<Affine> under = asAffine(algebra, atom, state, fraction->under);
  if (!over || !under || under->factor->isZero())
    return std::nullopt;
  return MoebiusForm{over->factor, over->offset, under->factor, under->offset};
}
