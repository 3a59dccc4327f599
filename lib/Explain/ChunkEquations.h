// A chunk program in the notation of mathematics.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include <string>
#include <vector>

namespace recur::explain {

/// One equation for each value that is used more than once, each output and each state; what is used once stands where
/// it is used. `words` is given a line for each of the report's own words that they use: a name of the author's is
/// never one of them.
std::vector<std::string> writeEquations(chunk::ProgramOp program, std::vector<std::string> *words = nullptr);

} // namespace recur::explain
