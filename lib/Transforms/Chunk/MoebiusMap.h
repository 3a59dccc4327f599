// What the tokens of a chunk make, together, of a state that each token makes a quotient of two sums.
#pragma once
#include "Transforms/Chunk/CarryProgram.h"

namespace recur::chunk {

/// Leaves the map `B + p x / (1 + C x)` that the chunk is for the state that `scan` carries on. All maps of the form
/// `(a x + b) / (c x + d)` are of this one too, unless they make infinity of zero.
void giveMoebiusMap(ValueBuilder &build, StateOp state, MoebiusScanOp scan);

/// What becomes of the state by the map that a chunk left.
mlir::Value applyMoebiusMap(CarryProgram &carry, StateOp state);

} // namespace recur::chunk
