// What a plan says of rows that lie in memory as f16.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace recur::tile {

/// Of a load whose rows of f16 the kernel multiplies as they are, though their tile has the type of other factors.
inline constexpr llvm::StringLiteral keepsHalvesAttribute = "tile.keeps_halves";

/// Of a kernel whose chain makes bf16 of them all the same: it has no registers for what f16 needs besides.
inline constexpr llvm::StringLiteral convertsHalvesAttribute = "tile.converts_halves";

} // namespace recur::tile
