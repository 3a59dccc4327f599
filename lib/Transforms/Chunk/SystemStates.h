// States that systems are solved with, where one op solves these and keeps to itself how it is rounded.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// Whether all that cancels in the program are such systems, and the states that they take are carried on by products
/// of rows that came with rows that are scaled. Then what is added to these states is a product of rows as they came
/// and of two parts of the others, each of which bf16 has. `channels`: states have a multiple of so many rows, and at
/// most twice as many columns.
bool separateSystemStates(ProgramOp program, int64_t channels);

/// Whether a system's matrix is made of the state.
bool isSystemState(mlir::Value state);

/// Puts a program for each of its states in its place, where no state has to do with another: the same but for what
/// others need. Each has the name of the state behind that of the program.
void separateChains(ProgramOp program);

} // namespace recur::chunk
