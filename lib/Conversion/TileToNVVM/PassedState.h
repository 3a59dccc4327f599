// A chain's state on its way to a row of a pool: from registers to the stage of the chunk that it comes after, whose
// rows nobody reads any more, and from there by the copy unit, while the chain goes on.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// Whether that is faster: numbers have 16 bits. And there is a copy unit, a stage has room for the part of the state,
/// and someone takes it from there.
bool isStatePassed(const GPUProfile &gpu, const analysis::StateChain &chain);

/// Whether the copy unit takes it to where it goes: rows are aligned for it, and their numbers lie side by side.
mlir::Value takesPassedState(TeamCode &team, const CallerArray &array);

/// What a thread of those that have the state has of it, to the stage at this address of shared memory.
void passState(TeamCode &team, const analysis::StateChain &chain, mlir::ValueRange state, mlir::Value stage);

/// From there to the array, by threads of which each asks for some rows: stops until those have been read.
void takePassedState(TeamCode &team, const analysis::StateChain &chain, const CallerArray &array, mlir::Value part,
                     mlir::Value stage);

} // namespace recur::conversion::nvvm
