// The triangular solve.
#include "Conversion/TileToNVVM/Team.h"
#include <numeric>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// The part of a matrix from a row on.
static Place partOf(TeamCode &t, const Place &place, Value row, int64_t rows) {
  SmallVector<int64_t> shape{rows, place.type.getSize(1)};
  TileType type = TileType::get(t.builder.getContext(), shape, place.type.getElementType(), place.type.getMemory(),
                                place.type.getStrides(), 0);
  int64_t rowBytes = place.type.getStride(0) * place.type.getElementBytes();
  return {t.address(place, {Index(row), 0}), type, std::gcd(place.alignment, rowBytes)};
}

/// Blocks of rows: what the rows above contribute is a product, and the block itself is solved in registers, a column
/// by each thread.
void nvvm::emitSolve(TeamCode &t, const Place &matrix, const Place &values, Value rows) {
  constexpr int64_t blockRows = 16;
  int64_t size = values.type.getSize(0), columns = values.type.getSize(1);
  auto solveBlock = [&](Value begin, int64_t count, bool hasRowsAbove) {
    Place left = partOf(t, matrix, begin, count), right = partOf(t, values, begin, count);
    if (hasRowsAbove) {
      Product above{left, values, right, t.constant(count), begin};
      above.plus = right;
      above.subtract = true;
      above.innerMultiple = blockRows;
      emitProduct(t, above);
      t.barrier();
    }
    t.deal(t.constant(columns), [&](Value column) {
      SmallVector<Value> solved;
      for (int64_t r = 0; r < count; ++r) {
        Value sum = t.get(right, {Index(r), column});
        // All lanes read the same numbers: four at a time, where the block has so many.
        constexpr int64_t atOnce = 4;
        for (int64_t first = 0; first < r; first += atOnce) {
          SmallVector<Value> weights =
              t.getNeighbours(left, {Index(r), Index(begin, first)}, std::min(atOnce, count - first));
          for (int64_t s = first; s < std::min(r, first + atOnce); ++s) {
            Value negative = arith::NegFOp::create(t.builder, t.loc, weights[s - first]);
            sum = t.fma(negative, solved[s], sum);
          }
        }
        solved.push_back(sum);
      }
      for (int64_t r = 0; r < count; ++r)
        t.put(solved[r], right, {Index(r), column});
    });
    t.barrier();
  };
  int64_t first = std::min(blockRows, size), whole = size / blockRows * blockRows;
  solveBlock(t.constant(0), first, false);
  if (whole > blockRows)
    t.loop(t.constant(blockRows), t.smaller(rows, t.constant(whole)), blockRows,
           [&](Value begin) { solveBlock(begin, blockRows, true); });
  if (whole && whole < size)
    t.when(t.below(t.constant(whole), rows), [&] { solveBlock(t.constant(whole), size - whole, true); });
}
