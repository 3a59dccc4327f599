// Kernels that can go by a list of the chunks of packed sequences.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// Whether its CTAs have chunks apart, wherever the sequence begins that a chunk is of; or the state of a sequence
/// after another in registers, each from its first chunk to its last.
bool goesByList(tile::KernelOp kernel);

/// Whether its chunks are apart. All else that it does with the number of tokens is in the loop over them.
bool listsChunks(tile::KernelOp kernel);

/// The suffix of the symbol of a kernel that goes from sequence to sequence, and of that which makes the list.
inline constexpr llvm::StringLiteral listedSuffix = "_listed", listingSuffix = "_listing";

} // namespace recur::analysis
