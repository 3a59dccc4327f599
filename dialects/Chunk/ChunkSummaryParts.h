// The states of a program that summarises a segment.
#pragma once

#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// A segment takes the state to what the map makes of it plus the offset. A map from the right may come with scales of
/// the rows, and one from the left with scales of the columns: then the state is scaled by them besides.
struct SummaryParts {
  llvm::SmallVector<StateOp, 8> known; ///< other states of the program, whose values before the segment are needed
  StateOp scales;                      ///< null where there are none
  StateOp map, offset;

  /// The scales if there are any, the map and the offset, in the order in which the program has them.
  llvm::SmallVector<StateOp, 3> list() const;
};

SummaryParts getSummaryParts(ProgramOp summary);

/// The name of the scales of a summary of the state.
std::string nameScales(llvm::StringRef state);

} // namespace recur::chunk
