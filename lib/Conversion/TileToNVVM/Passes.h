// The step from tile plans of a CTA to the NVVM dialect.
#pragma once

#include "dialects/Tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

/// What `convert-tile-to-nvvm` says of a module of kernels that have data of 16 bits, for `fuse-multiply-adds`.
inline constexpr llvm::StringLiteral shortDataAttribute = "tile.short_data";

#define GEN_PASS_DECL
#include "Conversion/TileToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/TileToNVVM/Passes.h.inc"

} // namespace recur::conversion
