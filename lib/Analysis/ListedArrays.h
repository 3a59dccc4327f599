// Where the arrays of a kernel begin, in shared memory: a thread finds it for one array, and not all threads for each
// of dozens, which takes some 70 instructions or, of a state that may be in a pool, 130.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// On a kernel that goes from token to token: there is room for two lists behind all tiles. One has what the kernel
/// begins and ends with, and the other one where states go on the way.
constexpr llvm::StringLiteral listsArraysAttribute = "tile.lists_arrays";

/// Whether it pays: of few arrays registers have room for where they begin.
bool shouldListArrays(tile::KernelOp kernel);

/// Where the lists begin behind so many bytes, and where the second one ends.
int64_t beginOfLists(int64_t bytes);
int64_t endOfLists(tile::KernelOp kernel, int64_t bytes);

} // namespace recur::analysis
