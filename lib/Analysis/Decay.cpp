#include "Analysis/Decay.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur::algebra;
using namespace recur::analysis;

static bool provedNonNegative(Algebra &algebra, const Poly *poly) {
  return provedNonPositive(algebra, algebra.negate(poly));
}

static bool provedNonNegative(Algebra &algebra, const Atom *atom) {
  if (atom->kind != Atom::Kind::Function)
    return false;
  for (StringRef always : {"sigmoid", "softplus", "abs", "sqrt", "softmax"})
    if (atom->name == always)
      return true;
  if (atom->name == "inverse")
    return provedNonNegative(algebra, atom->arguments[0]);
  auto nonNegative = [&](const Poly *argument) { return provedNonNegative(algebra, argument); };
  if (atom->name == "max")
    return any_of(atom->arguments, nonNegative);
  return false;
}

/// Even powers and exponentials are not negative, nor are products of what is not.
static bool provedNonNegative(Algebra &algebra, const Monomial *monomial) {
  return all_of(monomial->factors,
                [&](const Factor &factor) { return factor.power % 2 == 0 || provedNonNegative(algebra, factor.atom); });
}

/// p - max(a, b, ...) is at most zero when p - a is: the running maximum that stabilises an exponential gate.
static bool boundedByMaximum(Algebra &algebra, const Poly *poly) {
  for (const Term &term : poly->terms) {
    const Monomial *m = term.monomial;
    if (term.coefficient != -1 || m->exponent || m->factors.size() != 1 || m->factors[0].power != 1 ||
        !m->factors[0].atom->isFunction("max"))
      continue;
    const Poly *rest = algebra.add(poly, algebra.poly(m));
    for (const Poly *argument : m->factors[0].atom->arguments)
      if (provedNonPositive(algebra, algebra.sub(rest, argument)))
        return true;
  }
  return false;
}

/// Whether each factor is between zero and one.
static bool provedFraction(const Monomial *monomial) {
  return !monomial->exponent && all_of(monomial->factors, [](const Factor &factor) {
    return factor.atom->isFunction("sigmoid") || factor.atom->isFunction("softmax");
  });
}

bool recur::analysis::provedNonPositive(Algebra &algebra, const Poly *poly) {
  // A fraction with a positive coefficient is at most its coefficient: 0.6 * sigmoid(x) - 0.6 is not positive.
  double atMost = 0;
  if (all_of(poly->terms,
             [&](const Term &term) {
               if (provedFraction(term.monomial) && (term.coefficient > 0 || term.monomial->isOne())) {
                 atMost += term.coefficient;
                 return true;
               }
               return term.coefficient <= 0 && provedNonNegative(algebra, term.monomial);
             }) &&
      atMost <= 0)
    return true;
  return boundedByMaximum(algebra, poly);
}

/// log(sigmoid(x)) = -softplus(-x), which neither overflows nor takes the logarithm of zero.
static const Poly *logSigmoid(Algebra &algebra, const Poly *x) {
  return algebra.negate(algebra.elementwise("softplus", algebra.negate(x)));
}

/// An atom that stands for itself, varying over `axis`.
static const Poly *placed(Algebra &algebra, const Poly *poly, Axis axis) {
  return axis == Axis::Col ? algebra.transpose(poly) : poly;
}

/// The logarithm of a decay that is positive by its form, else null.
static const Poly *logarithmOf(Algebra &algebra, const Poly *linear) {
  if (const Term *term = linear->single()) {
    if (term->coefficient <= 0)
      return nullptr;
    const Poly *log = algebra.number(std::log(term->coefficient));
    if (term->monomial->exponent)
      log = algebra.add(log, term->monomial->exponent);
    for (const Factor &factor : term->monomial->factors) {
      if (!factor.atom->isFunction("sigmoid"))
        return nullptr;
      const Poly *one = placed(algebra, logSigmoid(algebra, factor.atom->arguments[0]), factor.axis);
      log = algebra.add(log, algebra.scale(one, factor.power));
    }
    return log;
  }
  // 1 - sigmoid(x) = sigmoid(-x).
  if (linear->terms.size() == 2 && linear->terms[0].monomial->isOne() && linear->terms[0].coefficient == 1 &&
      linear->terms[1].coefficient == -1) {
    const Monomial *m = linear->terms[1].monomial;
    if (!m->exponent && m->factors.size() == 1 && m->factors[0].power == 1 && m->factors[0].atom->isFunction("sigmoid"))
      return placed(algebra, logSigmoid(algebra, algebra.negate(m->factors[0].atom->arguments[0])), m->factors[0].axis);
  }
  return nullptr;
}

Decay recur::analysis::describeDecay(Algebra &algebra, const Poly *linear) {
  Decay decay;
  decay.linear = linear;
  decay.log = logarithmOf(algebra, linear);
  decay.atMostOne = decay.log && provedNonPositive(algebra, decay.log);
  return decay;
}
