// How an expression depends on one state: by the state itself, by products of it with a vector, or in no linear way.
#pragma once

#include "Analysis/DeltaForm.h"

namespace recur::analysis {

/// The reads of one state, seen from its orientation: the value channels are called rows and the key channels columns,
/// whichever they are.
class StateReads {
public:
  StateReads(algebra::Algebra &algebra, const algebra::Expressions &expressions, unsigned state)
      : algebra(algebra), expressions(expressions), state(state), self(expressions.atomOf(state)) {}

  Orientation orientation = Orientation::Right;

  /// On which side the update reads the state; where it does not, on which side the rest of the program does. An error
  /// says which use is not linear or not on one side.
  llvm::Expected<Orientation> chooseOrientation(const algebra::Poly *after, dgps::RecurrenceOp recurrence);

  /// `value`, an expression of the state's own rows and columns, with the value channels as rows; and back.
  const algebra::Poly *inRoles(const algebra::Poly *value) {
    return orientation == Orientation::Right ? value : algebra.transpose(value);
  }

  /// A product with one factor that is the state, a read of it, or a value that was written into it and has a name.
  struct Linear {
    const algebra::Monomial *rest;   ///< the other factors
    const algebra::Monomial *factor; ///< the state, the read or the written value
    bool isState;
    const algebra::Poly *key; ///< of a read, over the row index; null for the others
  };
  /// `monomial` in roles taken apart, or the reason why it is not linear. `crossed`: reads from the value side.
  llvm::Expected<Linear> linearIn(const algebra::Monomial *monomial, bool crossed = false);

  /// matrix @ key from the key side (or, crossed, from the value side), as a vector over the row index.
  const algebra::Poly *readWith(const algebra::Poly *matrix, const algebra::Poly *key, bool crossed);
  /// outer(value, key) in the state's own rows and columns.
  const algebra::Poly *place(const algebra::Poly *value, const algebra::Poly *key);
  int64_t keySize(bool crossed = false) const;
  /// The keys that ops of the program read the state with, at whatever point, without their scalar factors.
  llvm::SmallVector<const algebra::Poly *, 4> keysInProgram(dgps::RecurrenceOp recurrence, bool crossed);

  /// How a value outside of the update uses the state.
  enum class Use { Read, Crossed, Whole };
  /// Calls `found` for each largest affine read that the outputs and the other states depend on, and for each op that
  /// uses the state in any other way.
  void forEachUse(dgps::RecurrenceOp recurrence,
                  llvm::function_ref<void(mlir::Value, Use, mlir::Operation *user)> found);

private:
  bool isRead(const algebra::Atom *atom, algebra::Axis summed) const;
  bool hasRead(const algebra::Poly *value, algebra::Axis summed) const;
  bool isAffineRead(mlir::Value value, bool crossed);
  bool holdsStateItself(mlir::Value value) const;
  algebra::Axis summedAxis(bool crossed) const;

  algebra::Algebra &algebra;
  const algebra::Expressions &expressions;
  unsigned state;
  const algebra::Atom *self;
};

} // namespace recur::analysis
