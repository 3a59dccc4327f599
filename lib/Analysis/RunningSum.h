// Scans that add up a tile's rows.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// A scan whose running value is a sum of the steps of one input, from zero on. What it gives is made of the sum up to
/// the row, or of the sum before it.
struct RunningSum {
  unsigned step;        // which input has the steps, element by element
  mlir::Operation *sum; // in the body, up to the row
  bool isBefore;        // what it gives takes the running value, and not the sum
};
std::optional<RunningSum> matchRunningSum(tile::ScanOp scan);

/// The same of channels that the matrix units of a team take, of data of 16 bits: whole blocks of 16 rows and 16
/// channels, of steps of bf16 in shared memory, and nothing that the scan writes among its inputs.
std::optional<RunningSum> matchBlockSum(tile::ScanOp scan);

/// Whether both add up the same steps, in the same direction, up to the row or before it: then they take the same sums
/// where one stands right behind the other.
bool haveSameSums(tile::ScanOp one, tile::ScanOp other);

} // namespace recur::analysis
