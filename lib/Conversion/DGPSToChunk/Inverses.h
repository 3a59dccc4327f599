// States that are inverses, as delta states whose writes are known.
#pragma once

#include "Analysis/RecurrenceAnalysis.h"

namespace recur::conversion {

/// What the tokens read from an inverse with their own keys, as inputs that the recurrence does not have: the chunk
/// knows them from the state before it by one elimination. All values are of the rewritten recurrence.
struct SeparatedInverse {
  unsigned state;
  analysis::InverseForm::Kind kind;
  mlir::Value ofRight, ofLeft; ///< P @ right and left @ P; null where the form has none of it
  mlir::Value right, left;     ///< the keys
  mlir::Value factor, noise;   ///< scalars
  mlir::Value decaySteps;      ///< null: nothing decays
  bool linear;                 ///< whether the steps are not logarithms
};

/// Rewrites a recurrence for one chunk: each inverse becomes a state that decays, and that each token writes what is
/// known before. The indices of all states stay.
llvm::SmallVector<SeparatedInverse, 1> separateInverses(dgps::RecurrenceOp recurrence);

/// Drops what nothing uses but for `kept`, and puts the rest in an order in which each op comes after what it uses.
void tidy(dgps::RecurrenceOp recurrence, llvm::ArrayRef<mlir::Value> kept = {});

} // namespace recur::conversion
