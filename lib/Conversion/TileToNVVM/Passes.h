// The step from tile plans of a CTA to the NVVM dialect.
#pragma once

#include "dialects/Tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

#define GEN_PASS_DECL
#include "Conversion/TileToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/TileToNVVM/Passes.h.inc"

} // namespace recur::conversion
