// Complex states as pairs of real ones that are not turned.
#pragma once

#include "Analysis/RecurrenceAnalysis.h"

namespace recur::conversion {

/// A pair of states that the token no longer turns, and the state that holds by how much they are turned in the chunk.
struct TurnedPair {
  unsigned real, imaginary, phase;
  bool isMatrix, transposed;
};

/// Rewrites a recurrence for one chunk. The states of each complex form become those in a frame that turns with them
/// and stands still at the chunk's start; a further state, zero at the start of each chunk, counts by how much. What
/// reads the states, and what is written into them, is turned instead. The indices of all other states stay.
llvm::SmallVector<TurnedPair, 1> separatePhases(dgps::RecurrenceOp recurrence);

} // namespace recur::conversion
