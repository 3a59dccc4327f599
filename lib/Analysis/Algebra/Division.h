// Common factors and exact quotients of expressions.
#pragma once

#include "Analysis/Algebra/Expression.h"

namespace recur::algebra {

/// a / b when b divides a, else null. exp(e) divides exp(f) only when f contains e: a quotient never makes an
/// exponential that was not there, for its exponent might be positive and overflow.
const Monomial *quotient(Algebra &algebra, const Monomial *a, const Monomial *b);

/// The largest monomial that divides both.
const Monomial *commonFactor(Algebra &algebra, const Monomial *a, const Monomial *b);

/// The largest monomial that divides each term; one for zero.
const Monomial *commonFactor(Algebra &algebra, const Poly *a);

/// a / b when it is a polynomial, else null.
const Poly *quotient(Algebra &algebra, const Poly *a, const Poly *b);
const Poly *quotient(Algebra &algebra, const Poly *a, const Monomial *b);

/// The coefficients without index of each indexed part of a sum: (1 - a) v + b k has v: 1 - a and k: b. In canonical
/// order.
struct IndexedPart {
  const Monomial *indexed;
  const Poly *coefficient;
};
llvm::SmallVector<IndexedPart, 2> collectIndexed(Algebra &algebra, const Poly *a);

/// a = scale * direction, where `scale` has no index and holds all that the terms share. The direction's leading
/// coefficient is one.
struct Content {
  const Poly *scale;
  const Poly *direction;
};
Content extractContent(Algebra &algebra, const Poly *a);

/// a = factor * atom + offset, elementwise.
struct Affine {
  const Poly *factor;
  const Poly *offset;
};
/// None if `a` depends on the state that the atom stands for in any other way.
std::optional<Affine> asAffine(Algebra &algebra, const Atom *atom, unsigned state, const Poly *a);

} // namespace recur::algebra
