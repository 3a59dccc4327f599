// Whether the summary of each state by itself says what a segment does.
#pragma once
#include "Data/Data.h"
#include "dialects/Chunk/Chunk.h"

namespace recur::property {

/// Runs `program` over the data as one segment, and each summary over the same tokens from nothing. What map and offset
/// make of the state in the data must be what the program does; else the answer says where they part. `limit` is
/// relative to the largest number of the state.
std::string findWrongSummary(chunk::ProgramOp program, llvm::ArrayRef<chunk::ProgramOp> summaries,
                             const data::Data &data, double limit);

} // namespace recur::property
