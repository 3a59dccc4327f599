// The list of the chunks of packed sequences, which a launch makes for those behind it.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// Emits the kernel of this name, whose launch is one CTA, for chunks of so many tokens.
void emitListing(mlir::OpBuilder &builder, mlir::Location loc, const GPUProfile &gpu, llvm::StringRef name,
                 int64_t chunkTokens);

/// What two offsets say of a packed sequence.
struct PackedTokens {
  mlir::Value first, count; // both of 64 bits
};
/// Reads them, wherever they lie in the memory: nobody checked them. Those outside of all tokens count as the first or
/// the one behind the last, and a sequence that ends before it begins is empty.
PackedTokens readOffsets(TeamCode &team, mlir::Value offsets, mlir::Value sequence, mlir::Value allTokens);
/// The same for threads whose registers are all taken, to which clamped offsets are two too many: they end where the
/// sequence does not lie within the tokens.
PackedTokens readOffsetsOrEnd(TeamCode &team, mlir::Value offsets, mlir::Value sequence, mlir::Value allTokens);

} // namespace recur::conversion::nvvm
