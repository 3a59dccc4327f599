// Kernels whose tokens are tried as trees, beside those of the same recurrence for chains.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace recur::analysis {

/// On a kernel that can keep its states before each token: its tokens are those of a tree.
inline constexpr llvm::StringLiteral treesAttribute = "tile.trees";
/// Behind the name of the kernel for chains.
inline constexpr llvm::StringLiteral treesSuffix = "_trees";

} // namespace recur::analysis
