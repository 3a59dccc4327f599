#include "Data/DrawnData.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;

double ArrayDrawer::drawGate() {
  if (random.chance(difficulty.extremes))
    return random.chance(0.5) ? -difficulty.weakestGate : -difficulty.weakestGate - difficulty.steepestGate;
  // From small to large by powers of two: most gates of trained models are small, and a few forget all.
  return -difficulty.weakestGate - difficulty.steepestGate * std::exp2(-10 * random.uniform());
}

double ArrayDrawer::drawNumber(Fill fill, int64_t rowLength) {
  switch (fill) {
  case Fill::Positive:
  case Fill::PositiveKey:
    return random.uniform(0.1, 1);
  case Fill::Negative:
    return drawGate();
  case Fill::Logit:
    return difficulty.steepestGate > 1 && random.chance(0.5) ? drawGate()
                                                             : 2 * random.normal() - difficulty.weakestGate;
  case Fill::Gain:
  case Fill::StrongGain: {
    double largest = fill == Fill::Gain ? difficulty.largestGain : 2;
    double share = random.chance(difficulty.extremes) ? random.below(2) : 1 - random.uniform();
    return difficulty.size * largest * share;
  }
  case Fill::Decay:
    return random.chance(difficulty.extremes) ? int(random.below(3)) - 1 : random.uniform(-1, 1);
  case Fill::Key:
    return random.normal();
  case Fill::Normal:
    return difficulty.size * random.normal() / std::sqrt(double(rowLength));
  case Fill::Zero:
    return 0;
  case Fill::Whole:
    return double(random.below(8));
  case Fill::PositiveWhole:
    return 1 + double(random.below(8));
  case Fill::NegativeWhole:
    return -1 - double(random.below(4));
  case Fill::PositiveDefinite:
    break;
  }
  llvm_unreachable("matrices are drawn as a whole");
}

/// Rows of unit length that have so much in common as the difficulty says.
void ArrayDrawer::drawKeys(MutableArrayRef<double> rows, int64_t rowLength, Fill fill) {
  std::vector<double> common(rowLength);
  for (double &value : common)
    value = drawNumber(fill, rowLength);
  double correlation = difficulty.correlation, rest = std::sqrt(1 - correlation * correlation);
  for (; !rows.empty(); rows = rows.drop_front(rowLength)) {
    MutableArrayRef<double> row = rows.take_front(rowLength);
    double square = 0;
    for (auto [value, shared] : zip_equal(row, common)) {
      value = correlation * shared + rest * drawNumber(fill, rowLength);
      square += value * value;
    }
    for (double &value : row)
      value *= difficulty.size / std::sqrt(square);
  }
}

/// 0.1 I + X X^T / n.
void ArrayDrawer::drawPositiveDefinite(MutableArrayRef<double> matrices, int64_t rows) {
  std::vector<double> factor(rows * rows);
  for (; !matrices.empty(); matrices = matrices.drop_front(rows * rows)) {
    for (double &value : factor)
      value = random.normal();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) {
        double total = i == j ? 0.1 : 0;
        for (int64_t k = 0; k < rows; ++k)
          total += factor[i * rows + k] * factor[j * rows + k] / double(rows);
        matrices[i * rows + j] = total;
      }
  }
}

Array ArrayDrawer::draw(Role role, const Sizes &sizes, ArrayRef<int64_t> shape, Fill fill) {
  auto full = getFullShape(role, sizes, shape);
  Array array{{full.begin(), full.end()}, std::vector<double>(countElements(full).value_or(0))};
  if (array.values.empty())
    return array;
  int64_t rowLength = shape.empty() ? 1 : shape.back();
  if (fill == Fill::PositiveDefinite && shape.size() == 2 && shape[0] == shape[1])
    drawPositiveDefinite(array.values, rowLength);
  else if (fill == Fill::Key || fill == Fill::PositiveKey)
    drawKeys(array.values, rowLength, fill);
  else
    for (double &value : array.values) // one row of a definite matrix, or its diagonal, is positive
      value = drawNumber(fill == Fill::PositiveDefinite ? Fill::Positive : fill, rowLength);
  return array;
}
