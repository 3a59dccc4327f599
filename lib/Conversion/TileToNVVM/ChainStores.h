// What a chain leaves of a chunk, from tiles of shared memory to the caller's arrays.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Strips.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// The channels that there are of a CTA's part, of an array whose last part has fewer.
mlir::Value countOwnChannels(TeamCode &team, const CallerArray &array, mlir::Value part);

/// The warps that store do so with one tile after another.
class ChainStores {
public:
  ChainStores(TeamCode &team, const analysis::StateChain &chain, mlir::Value shared, mlir::Value part)
      : t(team), chain(chain), shared(shared), part(part) {}
  /// `rows` of a value, of which rows of the array begin at `first`.
  void storeValue(const analysis::StateChain::Stored &value, const CallerArray &array, mlir::Value first,
                  mlir::Value rows);
  /// The state at a chunk's beginning, which is row `first` of the array, or nothing where `rows` is 0.
  void storeState(const CallerArray &array, mlir::Value first, mlir::Value rows);

private:
  /// A tile of numbers of 16 bits, or of f32. Rows of values are permuted, piece by piece of 16 bytes, in panels of 128
  /// bytes of a row each.
  struct Stored {
    int64_t offset, rows, columns, stride;
    bool isPermuted;
    mlir::Type element;
    int64_t elementBytes;
  };
  mlir::Value placeOf(const Stored &tile, mlir::Value row, mlir::Value column);
  void storePieces(const Stored &tile, const Strip &strip, int64_t columns, mlir::Value to, mlir::Value stride,
                   mlir::Value count);
  using Offset = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;
  using Condition = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;
  void storeNumbers(const Stored &tile, mlir::Value to, Condition isThere, Offset offset);

  TeamCode &t;
  const analysis::StateChain &chain;
  mlir::Value shared, part;
};

} // namespace recur::conversion::nvvm
