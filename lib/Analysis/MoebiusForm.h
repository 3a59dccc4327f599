// A state of which each token makes a quotient of two sums, elementwise: the variance of a Kalman filter, a scalar
// Riccati recursion, a continued fraction.
#pragma once

#include "Analysis/Algebra/Expression.h"

namespace recur::analysis {

/// A' = (a * A + b) / (c * A + d).
struct MoebiusForm {
  const algebra::Poly *a, *b, *c, *d;
};

/// The form of a scalar or vector state that becomes `after`; none if it has no such form. Sums and nested quotients
/// are put over one denominator. What that denominator shares with the numerator goes only while some of it stays
/// below: where the token divides by zero, so does the form.
std::optional<MoebiusForm> findMoebiusForm(algebra::Algebra &algebra, const algebra::Atom *atom, unsigned state,
                                           const algebra::Poly *after);

} // namespace recur::analysis
