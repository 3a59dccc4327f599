// The step from tile plans to the LLVM dialect.
#pragma once

#include "dialects/Tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

#define GEN_PASS_DECL
#include "Conversion/TileToLLVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/TileToLLVM/Passes.h.inc"

} // namespace recur::conversion
