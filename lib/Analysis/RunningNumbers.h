// Scans that are a running sum or product: threads can take many of their rows at once.
#pragma once
#include "dialects/Tile/Tile.h"
#include <optional>

namespace recur::analysis {

/// A running sum or product of numbers that do not depend on it, which is given after the row or before it.
struct RunningNumber {
  mlir::Operation *combine; // the sum or the product
  mlir::Value number;       // of a row, in the scan's body
  bool isBefore;
  bool isSum() const;
};

std::optional<RunningNumber> matchRunning(tile::ScanOp op);

} // namespace recur::analysis
