// What a chain takes of a chunk, from the caller's arrays to a stage of shared memory.
#pragma once
#include "Conversion/TileToNVVM/Chain.h"
#include "Conversion/TileToNVVM/ChainStores.h"
#include "Conversion/TileToNVVM/Warpgroup.h"

namespace recur::conversion::nvvm {

/// Whether rows of all arrays that copies can bring lie where these can, as many bytes at a time as a row has.
mlir::Value areRowsAligned(TeamCode &team, const analysis::StateChain &chain, const ChainKernel &kernel);

/// Whether copies can bring all rows, which have whole pieces of 4 bytes; threads load those of others.
bool areCopied(const analysis::StateChain &chain, const ChainKernel &kernel);

/// The warps that load copy one array after another. Rows beyond the last token become zeros.
class ChainLoads {
public:
  using Load = analysis::StateChain::Load;
  /// What scalars have become in it, and where its rows and numbers go.
  struct Chunk {
    const mlir::IRMapping &values;
    mlir::Value stage, numbers;
  };
  ChainLoads(TeamCode &team, const ChainKernel &kernel, Chunk chunk)
      : t(team), code(team), kernel(kernel), chunk(chunk) {}
  /// Rows of an array that are aligned. Columns beyond the array's become zeros.
  void copyRows(const Load &load);
  /// The same number by number, from wherever they are.
  void copyElements(const Load &load);
  void copyNumbers(const Load &load);
  /// Whether all rows of earlier tokens are in their array, and whether the sequence lacks some of the first ones.
  mlir::Value hasAllRows(const Load &load);
  mlir::Value lacksRows(const Load &load);
  /// The rows that it lacks, where the caller gave some. `copyRows` and `copyElements` leave their places alone then.
  void copyGivenRows(const Load &load);
  /// All rows of these loads, by the copy unit, of which one thread asks for them: panel by panel, and the barrier's
  /// phase ends when they have come. Rows beyond the last token, and columns beyond the last channel, are outside of
  /// the array, so they are zeros; rows of arrays that are absent are put there.
  void copyBoxes(llvm::ArrayRef<Load> loads, mlir::Value barrier);

private:
  /// Which rows of a tile there are, counted from one of a thread's: those up to the end, but for the first ones, which
  /// are missing; of those some are skipped, for the caller gave them.
  struct Bounds {
    mlir::Value end;
    mlir::Value missing = {}, skipped = {}; // null: none
  };
  Bounds boundsOf(const Load &load);
  Bounds boundsFrom(const Bounds &bounds, mlir::Value row);
  mlir::Value isWithin(const Bounds &bounds, mlir::Value row);
  void unlessSkipped(const Bounds &bounds, mlir::Value row, llvm::function_ref<void()> copy);
  /// The row of the array that is, or would be, the tile's first.
  mlir::Value firstRowOf(const Load &load);
  int64_t rowsOf(const Load &load) const { return load.type().getSize(0); }
  const CallerArray &arrayOf(const Load &load) const;
  /// Whether the array may have fewer columns than the tile, and how many it has.
  bool hasPadding(const Load &load) const;
  mlir::Value countColumns(const Load &load);
  mlir::Value narrow(mlir::Value number) { return t.narrow(chunk.values.lookup(number)); }
  mlir::Value placeOf(const Load &load, mlir::Value row, mlir::Value piece);
  mlir::Value countRows(const Load &load);
  mlir::Value countBytes(const Load &load, mlir::Value column, int64_t bytes);
  mlir::Value offsetOf(const Load &load, mlir::Value first, mlir::Value row, mlir::Value column);
  /// Strips of a load's rows that begin with whole tokens; none where the rows cannot be dealt out so.
  llvm::SmallVector<Strip> findStripsOf(const Load &load, int64_t pieces, int64_t rowsAtLeast = 1) const;
  bool inPanels(const Load &load) const;
  void copyPanels(const Load &load, mlir::Value first, const Bounds &bounds);
  bool copyNarrowPieces(const Load &load, int64_t bytes);
  void copyShortPieces(const Load &load);

  TeamCode &t;
  WarpgroupCode code;
  const ChainKernel &kernel;
  Chunk chunk;
};

} // namespace recur::conversion::nvvm
