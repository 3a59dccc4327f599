// What a segment's summary makes of a state, as a program.
#pragma once

#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// A program whose one chunk of one token takes its first state, named as the summarised one, to what the segment makes
/// of it. Its other states are the parts that the summary gives, which stay as they are.
ProgramOp makeApplyProgram(mlir::OpBuilder &builder, ProgramOp summary);

} // namespace recur::chunk
