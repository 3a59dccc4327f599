// Scans over the tokens of a chunk, and the maps of segments.
#include "Interpreter/ChunkMeaning.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

static double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

/// What a tropical scan makes of two values, by its definition.
static double takeExtremum(chunk::Extremum extremum, double a, double b) {
  if (chunk::isLower(extremum))
    return -takeExtremum(extremum == chunk::Extremum::Min ? chunk::Extremum::Max : chunk::Extremum::SoftMax, -a, -b);
  double most = larger(a, b);
  if (extremum == chunk::Extremum::Max || std::isinf(most))
    return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

std::pair<Array, Array> interpreter::evaluateScan(const Arithmetic &arithmetic, const Array &state,
                                                  const Array &additions, Decay decay, bool angles) {
  Array all = additions, last = state;
  int64_t count = state.values.size();
  bool perElement = decay.steps && decay.steps->shape.size() > 1;
  for (int64_t t = 0; t < additions.shape[0]; ++t)
    for (int64_t i = 0; i < count; ++i) {
      double &x = last.values[i];
      if (decay.steps) {
        double step = decay.steps->values[perElement ? t * count + i : t];
        x = arithmetic.store(x * (decay.linear ? step : arithmetic.store(std::exp(step))));
      }
      x += additions.values[t * count + i];
      x = arithmetic.store(angles ? std::remainder(x, 2 * numbers::pi) : x);
      all.values[t * count + i] = x;
    }
  return {all, last};
}

std::pair<Array, Array> interpreter::evaluateTropicalScan(const Arithmetic &arithmetic, chunk::Extremum extremum,
                                                          const Array &state, const Array &shifts,
                                                          const Array &bounds) {
  Array all = shifts, last = state;
  int64_t count = state.values.size();
  for (int64_t t = 0; t < shifts.shape[0]; ++t)
    for (int64_t i = 0; i < count; ++i) {
      double &x = last.values[i];
      double shifted = arithmetic.store(x + shifts.values[t * count + i]);
      x = arithmetic.store(takeExtremum(extremum, shifted, bounds.values[t * count + i]));
      all.values[t * count + i] = x;
    }
  return {all, last};
}

std::pair<Array, Array> interpreter::evaluateMoebiusScan(const Arithmetic &arithmetic, const Array &state,
                                                         std::array<const Array *, 2> over,
                                                         std::array<const Array *, 2> under) {
  Array all = *over[0], last = state;
  size_t count = state.values.size();
  for (size_t i = 0; i < all.values.size(); ++i) {
    double &x = last.values[i % count];
    auto sum = [&](std::array<const Array *, 2> parts) {
      return arithmetic.store(arithmetic.store(parts[0]->values[i] * x) + parts[1]->values[i]);
    };
    x = arithmetic.store(sum(over) / sum(under));
    all.values[i] = x;
  }
  return {all, last};
}

Array interpreter::applySummary(const Arithmetic &arithmetic, chunk::SummaryKind kind, const Array &state,
                                const Array &map, const Array &offset, const Array *scales) {
  if (kind == chunk::SummaryKind::Right || kind == chunk::SummaryKind::Left) {
    // A vector state is the only row of a matrix.
    Array matrix = state;
    if (state.shape.size() == 1)
      matrix.shape.insert(matrix.shape.begin(), 1);
    int64_t columns = matrix.shape[1];
    for (size_t i = 0; scales && i < matrix.values.size(); ++i) {
      int64_t row = int64_t(i) / columns, column = int64_t(i) % columns;
      double factor = scales->values[kind == chunk::SummaryKind::Right ? row : column];
      matrix.values[i] = arithmetic.store(matrix.values[i] * factor);
    }
    Array result = kind == chunk::SummaryKind::Right
                       ? multiply(arithmetic, matrix, false, map, false, /*roundOperands=*/false)
                       : multiply(arithmetic, map, false, matrix, false, /*roundOperands=*/false);
    result.shape = state.shape;
    for (size_t i = 0; i < result.values.size(); ++i)
      result.values[i] = arithmetic.store(result.values[i] + offset.values[i]);
    return result;
  }
  Array result = state;
  for (size_t i = 0; i < result.values.size(); ++i)
    if (kind == chunk::SummaryKind::Elementwise)
      result.values[i] = arithmetic.store(arithmetic.store(state.values[i] * map.values[i]) + offset.values[i]);
    else
      result.values[i] = arithmetic.store(
          takeExtremum(*chunk::extremumOf(kind), arithmetic.store(state.values[i] + map.values[i]), offset.values[i]));
  return result;
}

std::pair<Array, Array> interpreter::composeSummaries(const Arithmetic &arithmetic, chunk::SummaryKind kind,
                                                      const Array &firstMap, const Array &firstOffset,
                                                      const Array &secondMap, const Array &secondOffset) {
  // The second segment's map without its offset is what happens to the first segment's map.
  Array none = firstMap;
  std::optional<chunk::Extremum> extremum = chunk::extremumOf(kind);
  double nothing = extremum ? chunk::neutralOf(*extremum) : 0;
  std::fill(none.values.begin(), none.values.end(), nothing);
  return {applySummary(arithmetic, kind, firstMap, secondMap, none),
          applySummary(arithmetic, kind, firstOffset, secondMap, secondOffset)};
}
