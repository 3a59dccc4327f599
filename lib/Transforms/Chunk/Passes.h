// Passes that rewrite chunk programs to chunk programs.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "mlir/Pass/Pass.h"

namespace recur::chunk {

#define GEN_PASS_DECL
#include "Transforms/Chunk/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Transforms/Chunk/Passes.h.inc"

} // namespace recur::chunk
