// A chunk program in the notation of mathematics.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include <string>
#include <vector>

namespace recur::explain {

/// One equation for each value that is used more than once, each output and each state; what is used once stands where
/// it is used.
std::vector<std::string> writeEquations(chunk::ProgramOp program);

} // namespace recur::explain
