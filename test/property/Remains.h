// Whether a program's bounds on what remains of its states hold.
#pragma once
#include "Data/Data.h"
#include "dialects/Chunk/Chunk.h"

namespace recur::property {

/// Runs a copy of the program over the data, of at most a chunk of one head, from each state in the data that it bounds
/// and from zeros in its place. Where the two are further apart behind the chunk than the bound says, the answer tells.
std::string findWrongRemains(chunk::ProgramOp program, const data::Data &data);

} // namespace recur::property
