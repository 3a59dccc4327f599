// Complex states as pairs of real ones that are not turned.
#pragma once

#include "Analysis/RecurrenceAnalysis.h"

namespace recur::conversion {

/// A pair of states that the token no longer turns, in a frame that does.
struct TurnedPair {
  unsigned real, imaginary;
  bool isMatrix, transposed;
  /// The states that are zero at the start of each chunk. The first holds by how much the pair is turned since.
  llvm::SmallVector<unsigned, 4> ofChunk = {};
  /// Those which hold what the token before wrote into the pair: a value, if it is one of matrices, and two keys.
  struct Write {
    std::optional<unsigned> value;
    std::array<std::optional<unsigned>, 2> keys;
  };
  llvm::SmallVector<Write, 1> writes = {};

  unsigned getPhase() const { return ofChunk.front(); }
};

/// Rewrites a recurrence for one chunk. The states of each complex form become those in a frame that turns with them
/// and stands still at the chunk's start, without what the last token wrote; further states, zero at the start of each
/// chunk, hold that and by how much the frame has turned. What reads the states, and what is written into them, is
/// turned instead. The indices of all other states stay.
llvm::SmallVector<TurnedPair, 1> separatePhases(dgps::RecurrenceOp recurrence);

} // namespace recur::conversion
