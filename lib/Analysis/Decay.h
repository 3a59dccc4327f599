// What is known of a decay: whether it is given by its logarithm, and whether it is at most one.
#pragma once

#include "Analysis/Algebra/Expression.h"

namespace recur::analysis {

/// A factor that a state is multiplied by at each token: a scalar, or a vector over the channels of one side.
struct Decay {
  const algebra::Poly *linear = nullptr;
  /// The logarithm, when the decay is an exponential, a sigmoid, a positive number or a product of such; else null, and
  /// the decay may be zero or negative.
  const algebra::Poly *log = nullptr;
  /// The logarithm is provably never positive.
  bool atMostOne = false;

  bool isAbsent() const { return linear->isOne(); }
  bool isScalar() const { return linear->axes == algebra::Axis::None; }
};

Decay describeDecay(algebra::Algebra &algebra, const algebra::Poly *linear);

/// Whether `poly` is provably at most zero, whatever finite values the inputs, params and states have.
bool provedNonPositive(algebra::Algebra &algebra, const algebra::Poly *poly);

} // namespace recur::analysis
