// Rows of pieces that threads go down.
#pragma once
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>

namespace recur::conversion::nvvm {

/// Pieces of each row, side by side, of which each thread has one column and every so-manieth row.
struct Strip {
  int64_t first, pieces, rowsAtOnce;
};

/// All pieces of rows in strips that so many threads go down together: as wide as powers of two are, for rows of 96 or
/// 192 channels have no number of pieces that divides that of the threads. Of each at least `rowsAtLeast` rows are gone
/// over at once. None where the rows cannot be dealt out so.
inline llvm::SmallVector<Strip> findStrips(int64_t pieces, int64_t rows, int64_t threads, int64_t rowsAtLeast = 1) {
  llvm::SmallVector<Strip> strips;
  for (int64_t first = 0; first < pieces;) {
    auto width = int64_t(llvm::bit_floor(uint64_t(std::min(pieces - first, threads / rowsAtLeast))));
    if (threads % width || rows % (threads / width))
      return {};
    strips.push_back({first, width, threads / width});
    first += width;
  }
  return strips;
}

} // namespace recur::conversion::nvvm
