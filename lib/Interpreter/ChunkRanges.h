// Ranges of decay steps, what rows see of writes, and matrices: what the meanings of products share.
#pragma once
#include "Interpreter/ChunkMeaning.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

namespace recur::interpreter {

inline double at(const Array &matrix, int64_t row, int64_t column) {
  return matrix.values[row * matrix.shape[1] + column];
}
inline double &at(Array &matrix, int64_t row, int64_t column) { return matrix.values[row * matrix.shape[1] + column]; }
inline Array zeros(int64_t rows, int64_t columns) { return {{rows, columns}, std::vector<double>(rows * columns)}; }

/// The product of the decay steps of a range of tokens, for every channel. Logarithms are summed from the range's own
/// beginning and exponentiated at the end, so that nothing is ever subtracted or divided.
class RangeDecay {
public:
  RangeDecay(const Arithmetic &arithmetic, Decay decay)
      : arithmetic(arithmetic), decay(decay), total(decay.countChannels(), decay.linear ? 1.0 : 0.0) {}

  void include(int64_t token) {
    if (!decay.steps)
      return;
    for (auto [c, sum] : llvm::enumerate(total)) {
      double step = decay.steps->values[token * total.size() + c];
      sum = arithmetic.store(decay.linear ? sum * step : sum + step);
    }
  }
  void include(int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token)
      include(token);
  }
  /// The factor of a channel; the same for all where the decay has one step a token.
  double factor(int64_t channel) const {
    if (!decay.steps)
      return 1;
    double sum = total[total.size() == 1 ? 0 : channel];
    return decay.linear ? sum : arithmetic.store(std::exp(sum));
  }

private:
  const Arithmetic &arithmetic;
  Decay decay;
  std::vector<double> total;
};

/// Where rows and writes stand in a chunk.
struct Layout {
  Visibility visibility;
  int64_t rowsPerToken() const { return visibility.points.size(); }
  int64_t writesPerToken() const { return visibility.steps.size(); }
  int64_t tokenOfRow(int64_t row) const { return row / rowsPerToken(); }
  int64_t point(int64_t row) const { return visibility.points[row % rowsPerToken()]; }
  /// One past the last token whose decay reaches what the row sees.
  int64_t decayEnd(int64_t row) const { return tokenOfRow(row) + (point(row) == chunk::beforeDecay ? 0 : 1); }
};

/// Calls `visit(write, decay)` for every write that the row sees, latest first; decay is that between the write and the
/// row.
template <typename Visit>
void visitWrites(const Arithmetic &arithmetic, Layout layout, int64_t row, Decay decay, Visit visit) {
  RangeDecay between(arithmetic, decay);
  int64_t own = layout.tokenOfRow(row), writes = layout.writesPerToken();
  for (int64_t token = own; token >= 0; --token) {
    if (token + 1 < layout.decayEnd(row))
      between.include(token + 1);
    for (int64_t j = writes - 1; j >= 0; --j)
      if (token < own || chunk::seesWrite(layout.point(row), layout.visibility.steps[j]))
        visit(token * writes + j, between);
  }
}

} // namespace recur::interpreter
