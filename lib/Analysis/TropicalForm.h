// A state that each token moves and then bounds: by the larger or the smaller of two values, or by the logarithm of a
// sum of exponentials. The same algebra in four guises, in which `+` is the product and the extremum the sum.
#pragma once

#include "Analysis/Algebra/Expression.h"

namespace recur::analysis {

/// A' = max(A + shift, floor) + offset; the floor is absent if the state is only shifted against itself. Several shifts
/// or floors stand for the extremum of them.
struct TropicalForm {
  bool isMin = false;  ///< the smaller one
  bool isSoft = false; ///< log(exp(a) + exp(b)), or with isMin -log(exp(-a) + exp(-b)); without an offset
  llvm::SmallVector<const algebra::Poly *, 1> shifts;
  llvm::SmallVector<const algebra::Poly *, 1> floors;
  const algebra::Poly *offset;

  /// How the language writes the extremum of two values.
  std::string print(llvm::StringRef first, llvm::StringRef second) const;
};

/// The form of a state that is `before` the token and `after` it; none if it has no such form.
std::optional<TropicalForm> findTropicalForm(algebra::Algebra &algebra, unsigned state, const algebra::Poly *before,
                                             const algebra::Poly *after);

} // namespace recur::analysis
