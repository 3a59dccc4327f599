// Two states that are the real and the imaginary part of one: each token turns them by an angle and lets them decay.
//
//     A <- decay * (cos(angle) * A - sin(angle) * B) + ...        B <- decay * (sin(angle) * A + cos(angle) * B) + ...
//
// The token may also multiply them by a complex number that is written in another way, (along + i across), which is a
// decay and a turn too:
//
//     A <- along * A - across * B + ...        B <- across * A + along * B + ...
//
// Turning commutes with all else that is done to the columns, so that in a frame which turns with the states there are
// two states with an ordinary decay: what is written and what reads is turned instead.
#pragma once

#include "Analysis/Algebra/Evaluate.h"
#include "Analysis/Decay.h"

namespace recur::analysis {

struct ComplexForm {
  unsigned real, imaginary;
  /// A matrix is turned along its keys, which are its columns unless it is `transposed`; a vector along itself.
  bool isMatrix = false, transposed = false;
  const algebra::Poly *angle = nullptr; ///< over the row index, or a scalar; null where none is written
  const algebra::Poly *decay = nullptr; ///< as it stands beside the state; where there is an angle
  const algebra::Poly *along = nullptr, *across = nullptr; ///< over the row index, or scalars; where there is no angle
  const algebra::Poly *additions[2];                       ///< to the real and to the imaginary part; they read neither
};

/// The form of two states; none if they have no such form.
std::optional<ComplexForm> findComplexForm(algebra::Algebra &algebra, const algebra::Expressions &expressions,
                                           unsigned a, unsigned b);

} // namespace recur::analysis
