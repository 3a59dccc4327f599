// Products of streams with one another and with states, their decay, and the triangular solve.
#include "Interpreter/ChunkRanges.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

/// Tokens of one block of a per-channel decay, and rows of a diagonal block of the inverse.
constexpr int64_t blockSize = 16;

Array interpreter::evaluateCumulativeDecay(const Arithmetic &arithmetic, chunk::DecayRange range, Decay decay) {
  int64_t tokens = decay.steps->shape[0], channels = decay.countChannels();
  Array result;
  result.shape = decay.steps->shape;
  bool total = range == chunk::DecayRange::Total;
  if (total)
    result.shape[0] = 1;
  int64_t rows = total ? 1 : tokens;
  result.values.resize(rows * channels);
  for (int64_t t = 0; t < rows; ++t) {
    RangeDecay product(arithmetic, decay);
    switch (range) {
    case chunk::DecayRange::Through:
      product.include(0, t + 1);
      break;
    case chunk::DecayRange::Before:
      product.include(0, t);
      break;
    case chunk::DecayRange::After:
      product.include(t + 1, tokens);
      break;
    case chunk::DecayRange::Total:
      product.include(0, tokens);
      break;
    }
    for (int64_t c = 0; c < channels; ++c)
      result.values[t * channels + c] = product.factor(c);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Interactions
//===----------------------------------------------------------------------===//

/// No decay, or one step a token: the product first, then the factor.
static Array interactScalar(const Arithmetic &arithmetic, const Array &rows, const Array &columns, Layout layout,
                            Decay decay) {
  Array result = zeros(rows.shape[0], columns.shape[0]);
  for (int64_t n = 0; n < rows.shape[0]; ++n)
    visitWrites(arithmetic, layout, n, decay, [&](int64_t i, const RangeDecay &between) {
      double sum = 0;
      for (int64_t c = 0; c < rows.shape[1]; ++c)
        sum = arithmetic.multiplyAdd(sum, arithmetic.operand(at(rows, n, c)), arithmetic.operand(at(columns, i, c)));
      at(result, n, i) = arithmetic.store(sum * between.factor(0));
    });
  return result;
}

/// A decay for each channel. Writes of earlier blocks meet the row through a factor of the row, from its block's start,
/// and one of the write, to there: both are products of steps, so the product is one of matrices. Within a block each
/// pair has its own factor.
static Array interactChannels(const Arithmetic &arithmetic, const Array &rows, const Array &columns, Layout layout,
                              Decay decay) {
  int64_t channels = rows.shape[1], writes = layout.writesPerToken();
  Array result = zeros(rows.shape[0], columns.shape[0]);
  for (int64_t n = 0; n < rows.shape[0]; ++n) {
    int64_t blockStart = layout.tokenOfRow(n) / blockSize * blockSize;
    visitWrites(arithmetic, layout, n, decay, [&](int64_t i, const RangeDecay &between) {
      if (!arithmetic.isExact() && i / writes < blockStart)
        return;
      double sum = 0;
      for (int64_t c = 0; c < channels; ++c) {
        double row = arithmetic.store(arithmetic.operand(at(rows, n, c)) * between.factor(c));
        sum = arithmetic.multiplyAdd(sum, row, arithmetic.operand(at(columns, i, c)));
      }
      at(result, n, i) = sum;
    });
    if (arithmetic.isExact())
      continue;
    RangeDecay rowDecay(arithmetic, decay);
    rowDecay.include(blockStart, layout.decayEnd(n));
    RangeDecay writeDecay(arithmetic, decay);
    for (int64_t token = blockStart - 1; token >= 0; --token) {
      for (int64_t i = token * writes; i < (token + 1) * writes; ++i) {
        double sum = 0;
        for (int64_t c = 0; c < channels; ++c) {
          double row = arithmetic.operand(arithmetic.store(at(rows, n, c) * rowDecay.factor(c)));
          double write = arithmetic.operand(arithmetic.store(at(columns, i, c) * writeDecay.factor(c)));
          sum = arithmetic.multiplyAdd(sum, row, write);
        }
        at(result, n, i) = sum;
      }
      writeDecay.include(token);
    }
  }
  return result;
}

Array interpreter::evaluateInteraction(const Arithmetic &arithmetic, const Array &rows, const Array &columns,
                                       Visibility visibility, Decay decay) {
  bool perChannel = decay.steps && decay.steps->shape.size() > 1;
  return (perChannel ? interactChannels : interactScalar)(arithmetic, rows, columns, Layout{visibility}, decay);
}

//===----------------------------------------------------------------------===//
// Apply and solve
//===----------------------------------------------------------------------===//

Array interpreter::multiply(const Arithmetic &arithmetic, const Array &left, bool transposeLeft, const Array &right,
                            bool transposeRight, bool roundOperands) {
  int64_t rows = left.shape[transposeLeft ? 1 : 0], inner = left.shape[transposeLeft ? 0 : 1];
  int64_t columns = right.shape[transposeRight ? 0 : 1];
  auto operand = [&](double x) { return roundOperands ? arithmetic.operand(x) : x; };
  Array result = zeros(rows, columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < inner; ++k) {
      double a = operand(transposeLeft ? at(left, k, i) : at(left, i, k));
      for (int64_t j = 0; j < columns; ++j)
        at(result, i, j) =
            arithmetic.multiplyAdd(at(result, i, j), a, operand(transposeRight ? at(right, j, k) : at(right, k, j)));
    }
  return result;
}

Array interpreter::evaluateApply(const Arithmetic &arithmetic, const Array &matrix, const Array &values,
                                 Visibility visibility, Decay decay, Direction direction) {
  bool transposed = direction == Direction::Backward;
  if (!decay.steps)
    return multiply(arithmetic, matrix, transposed, values, false, /*roundOperands=*/true);
  Array result = zeros(matrix.shape[transposed ? 1 : 0], values.shape[1]);
  for (int64_t n = 0; n < matrix.shape[0]; ++n)
    visitWrites(arithmetic, Layout{visibility}, n, decay, [&](int64_t i, const RangeDecay &between) {
      double weight = arithmetic.operand(at(matrix, n, i));
      auto [from, to] = transposed ? std::pair(n, i) : std::pair(i, n);
      for (int64_t c = 0; c < values.shape[1]; ++c)
        at(result, to, c) = arithmetic.multiplyAdd(
            at(result, to, c), weight, arithmetic.store(arithmetic.operand(at(values, from, c)) * between.factor(c)));
    });
  return result;
}

Array interpreter::evaluateSolve(const Arithmetic &arithmetic, const Array &matrix, const Array &values,
                                 Visibility visibility, Decay decay, Direction direction) {
  // A row is known when all earlier ones are taken from it; the way back, a later row is known first, and is then taken
  // from the earlier ones.
  bool transposed = direction == Direction::Backward;
  Array result = values;
  auto subtract = [&](int64_t n, int64_t i, int64_t c, double factor) {
    auto [from, to] = transposed ? std::pair(n, i) : std::pair(i, n);
    at(result, to, c) =
        arithmetic.multiplyAdd(at(result, to, c), -at(matrix, n, i), arithmetic.store(at(result, from, c) * factor));
  };
  for (int64_t step = 0, rows = matrix.shape[0]; step < rows; ++step) {
    int64_t n = transposed ? rows - 1 - step : step;
    if (!decay.steps) {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < values.shape[1]; ++c)
          subtract(n, i, c, 1);
      continue;
    }
    visitWrites(arithmetic, Layout{visibility}, n, decay, [&](int64_t i, const RangeDecay &between) {
      for (int64_t c = 0; c < values.shape[1] && i < n; ++c)
        subtract(n, i, c, between.factor(c));
    });
  }
  return result;
}

Array interpreter::evaluateScaledSolve(const Arithmetic &arithmetic, const Array &matrix, const Array &values,
                                       const Array &scales, bool reverse) {
  Array result = values;
  int64_t rows = matrix.shape[0];
  for (int64_t step = 0; step < rows; ++step) {
    int64_t n = reverse ? rows - 1 - step : step;
    for (int64_t c = 0; c < values.shape[1]; ++c) {
      double sum = 0;
      for (int64_t i = reverse ? n + 1 : 0; i < (reverse ? rows : n); ++i)
        sum = arithmetic.multiplyAdd(sum, reverse ? at(matrix, i, n) : at(matrix, n, i), at(result, i, c));
      at(result, n, c) = arithmetic.multiplyAdd(at(values, n, c), -at(scales, n, c), sum);
    }
  }
  return result;
}

Array interpreter::evaluateElimination(const Arithmetic &arithmetic, const Array &lower, const Array &upper,
                                       const Array &columns, const Array &diagonal) {
  Array result = lower;
  int64_t rows = lower.shape[0];
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t i = 0; i < rows; ++i) {
      double element = i > n ? at(upper, i, n) : at(lower, n, i);
      at(result, n, i) = arithmetic.store(element * columns.values[i] + (n == i ? diagonal.values[n] : 0));
    }
  // Row by row, by the rows above: element [n, i] loses what the first min(n, i) steps take.
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t i = 0; i < rows; ++i) {
      double &element = at(result, n, i);
      for (int64_t k = 0; k < std::min(n, i); ++k)
        element = arithmetic.multiplyAdd(element, -at(result, n, k), at(result, k, i));
      if (i < n)
        element = arithmetic.store(element / at(result, i, i));
    }
  return result;
}

/// Inverts the diagonal block of I + L that starts at `begin`, column by column.
static void invertBlock(const Arithmetic &arithmetic, const Array &matrix, int64_t begin, int64_t end, Array &inverse) {
  for (int64_t column = begin; column < end; ++column) {
    at(inverse, column, column) = 1;
    for (int64_t row = column + 1; row < end; ++row) {
      double sum = 0;
      for (int64_t k = column; k < row; ++k)
        sum = arithmetic.multiplyAdd(sum, -at(matrix, row, k), at(inverse, k, column));
      at(inverse, row, column) = sum;
    }
  }
}

/// Rows [middle, end) and columns [begin, middle) of the inverse: -T_lower (L T_upper).
static void mergeBlocks(const Arithmetic &arithmetic, const Array &matrix, int64_t begin, int64_t middle, int64_t end,
                        Array &inverse) {
  Array product = zeros(end - middle, middle - begin);
  for (int64_t i = middle; i < end; ++i)
    for (int64_t j = begin; j < middle; ++j)
      for (int64_t k = j; k < middle; ++k)
        at(product, i - middle, j - begin) =
            arithmetic.multiplyAdd(at(product, i - middle, j - begin), at(matrix, i, k), at(inverse, k, j));
  for (int64_t i = middle; i < end; ++i)
    for (int64_t j = begin; j < middle; ++j) {
      double sum = 0;
      for (int64_t k = middle; k <= i; ++k)
        sum = arithmetic.multiplyAdd(sum, -at(inverse, i, k), at(product, k - middle, j - begin));
      at(inverse, i, j) = sum;
    }
}

Array interpreter::evaluateInverse(const Arithmetic &arithmetic, const Array &matrix, const Array *gain) {
  int64_t rows = matrix.shape[0];
  Array inverse = zeros(rows, rows);
  for (int64_t begin = 0; begin < rows; begin += blockSize)
    invertBlock(arithmetic, matrix, begin, std::min(begin + blockSize, rows), inverse);
  for (int64_t size = blockSize; size < rows; size *= 2)
    for (int64_t begin = 0; begin + size < rows; begin += 2 * size)
      mergeBlocks(arithmetic, matrix, begin, begin + size, std::min(begin + 2 * size, rows), inverse);
  for (int64_t row = 0; row < rows && gain; ++row)
    for (int64_t column = 0; column <= row; ++column) // above are zeros, whatever later tokens' gains are
      at(inverse, row, column) = arithmetic.store(at(inverse, row, column) * gain->values[column]);
  return inverse;
}
