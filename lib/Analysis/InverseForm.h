// The form of a matrix state that is an inverse, kept up to date by corrections of rank one (Sherman and Morrison's).
//
//     u = P right,   w = left P                                      P as the previous token left it
//     P <- decay * (P - factor * outer(u, w) / (noise + factor * dot(left, u)))
//
// So P stays the inverse of decayed sums of outer(right, left), if it was one. A token that writes outer(u, u), with
// one key, keeps the inverse of a symmetric matrix; where P is not symmetric that is another update, and a form of its
// own.
#pragma once

#include "Analysis/DeltaForm.h"

namespace recur::analysis {

struct InverseForm {
  /// What the token writes: outer(P @ right, left @ P), or the outer product of one read with itself.
  enum class Kind { TwoSided, OfRightRead, OfLeftRead };

  unsigned state = 0;
  Kind kind = Kind::TwoSided;
  const algebra::Poly *right, *left; ///< the keys, over the row index; the same for an outer product with itself
  const algebra::Poly *factor, *noise;
  Decay decay; ///< a scalar

  bool isSymmetric() const { return kind != Kind::TwoSided; }
};

/// The form of the state's update, or a NoForm; its reason is empty where the update is of another kind altogether.
llvm::Expected<InverseForm> buildInverseForm(algebra::Algebra &algebra, const algebra::Expressions &expressions,
                                             dgps::RecurrenceOp recurrence, unsigned state);

/// A product of the state with a vector: scale * (P @ key) or scale * (key @ P), where the key has no scalar factors.
struct PlainRead {
  mlir::Value value;
  const algebra::Poly *scale, *key;
  bool isLeft;
};

/// All of the program's products with the state as the previous token left it, scaled or not.
llvm::SmallVector<PlainRead, 4> findPlainReads(algebra::Algebra &algebra, const algebra::Expressions &expressions,
                                               dgps::RecurrenceOp recurrence, unsigned state);

} // namespace recur::analysis
