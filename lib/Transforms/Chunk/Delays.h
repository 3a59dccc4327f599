// States that hold what tokens some time ago had, and where that is found without carrying it from chunk to chunk.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {

/// A state that holds what a token some time ago had: the row of that token in the chunk, or, as long as the chunk has
/// none, what one of the states was when it began.
struct Delay {
  mlir::Value rows;                   // that no state enters
  llvm::SmallVector<StateOp> earlier; // the first where the chunk has one token, the second where it has two, ...
  /// The inputs that the rows are, side by side; none where they are computed.
  llvm::SmallVector<InputOp> getInputs() const;
};

using Delays = llvm::MapVector<StateOp, Delay>;

/// All delays of the program whose earlier states are delays as well, and which a whole chunk has the tokens of.
Delays findDelays(ProgramOp program);

/// Those of inputs, whose earlier states are such delays too: their rows lie in arrays.
llvm::SetVector<StateOp> findHeld(ProgramOp program, const Delays &delays);

/// The state as a chunk begins with it, of these inputs' arrays, and of what it was before the sequence's first token.
mlir::Value buildHeld(mlir::OpBuilder &builder, StateOp state, const Delay &delay, llvm::ArrayRef<InputOp> inputs);

/// The states that hold the last rows of an input, which only a loop that moves them reads.
llvm::MapVector<StateOp, InputOp> findInputWindows(ProgramOp program);

} // namespace recur::chunk
