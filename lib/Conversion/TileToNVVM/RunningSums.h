// Running sums of logarithms down the rows, a channel a column, by the matrix units.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// A scan, and where its tiles lie.
struct PlacedScan {
  tile::ScanOp op;
  llvm::SmallVector<Place> inputs;
  std::optional<Place> all, last;
};

/// Whether it is a scan that matrix units sum up (Analysis/RunningSum.h), whose steps lie as these take them.
bool areRunningSums(const PlacedScan &scan);

/// Such scans of the same steps in the same direction, which share the sums.
void emitRunningSums(TeamCode &t, llvm::ArrayRef<PlacedScan> scans, mlir::Value rows);

} // namespace recur::conversion::nvvm
