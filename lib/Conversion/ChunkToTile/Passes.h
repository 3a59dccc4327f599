// The step from chunk programs to tile plans.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

#define GEN_PASS_DECL
#include "Conversion/ChunkToTile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/ChunkToTile/Passes.h.inc"

} // namespace recur::conversion
