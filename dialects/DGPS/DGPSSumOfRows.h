// A sum of many rows, each times a weight, is a product of a vector with a matrix.
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace recur::dgps {

/// Adds the pattern for sums of the rows of a state, such as a window of many tokens under a convolution's weights.
void populateSumOfRowsPatterns(mlir::RewritePatternSet &patterns);

} // namespace recur::dgps
