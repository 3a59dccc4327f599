// What goes from later tokens to earlier ones: the cotangent of a decay, reverse scans.
#include "Interpreter/ChunkRanges.h"

using namespace llvm;
using namespace recur;
using namespace recur::interpreter;

//===----------------------------------------------------------------------===//
// The cotangent of a decay
//===----------------------------------------------------------------------===//

// For each write and each token after its own: what the write has become before the token's decay, times what all rows
// that look behind that decay make of it.
Array interpreter::evaluateDecayCotangent(const Arithmetic &arithmetic, const Array &matrix, const Array &rows,
                                          const Array &columns, Visibility visibility, Decay decay) {
  Layout layout{visibility};
  int64_t tokens = decay.steps->shape[0], channels = columns.shape[1], stepChannels = decay.countChannels();
  auto factor = [&](int64_t token, int64_t c) {
    double step = decay.steps->values[token * stepChannels + (stepChannels == 1 ? 0 : c)];
    return decay.linear ? step : arithmetic.store(std::exp(step));
  };
  std::vector<std::vector<int64_t>> lookers(tokens); // the rows that see a state right after the token's decay
  for (int64_t n = 0; n < rows.shape[0]; ++n)
    if (layout.decayEnd(n) > 0)
      lookers[layout.decayEnd(n) - 1].push_back(n);
  Array result = *decay.steps;
  std::fill(result.values.begin(), result.values.end(), 0.0);
  for (int64_t i = 0; i < columns.shape[0]; ++i) {
    int64_t own = i / layout.writesPerToken();
    for (int64_t c = 0; c < channels; ++c) {
      std::vector<double> write(tokens); // after each token's decay
      for (int64_t t = own; t < tokens; ++t)
        write[t] = t == own ? at(columns, i, c) : arithmetic.store(write[t - 1] * factor(t, c));
      double looks = 0;
      for (int64_t t = tokens - 1; t > own; --t) {
        if (t + 1 < tokens)
          looks = arithmetic.store(looks * factor(t + 1, c));
        for (int64_t n : lookers[t])
          looks =
              arithmetic.multiplyAdd(looks, arithmetic.operand(at(matrix, n, i)), arithmetic.operand(at(rows, n, c)));
        double slope = decay.linear ? looks : arithmetic.store(looks * factor(t, c));
        double &sum = result.values[t * stepChannels + (stepChannels == 1 ? 0 : c)];
        sum = arithmetic.multiplyAdd(sum, slope, write[t - 1]);
      }
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Scans, shifts, sums and places
//===----------------------------------------------------------------------===//

std::pair<Array, Array> interpreter::evaluateReverseScan(const Arithmetic &arithmetic, const Array &state,
                                                         const Array &additions, Decay decay) {
  Array all = additions, first = state;
  int64_t count = state.values.size();
  bool perElement = decay.steps && decay.steps->shape.size() > 1;
  for (int64_t t = additions.shape[0] - 1; t >= 0; --t)
    for (int64_t i = 0; i < count; ++i) {
      double &x = first.values[i];
      x = arithmetic.store(x + additions.values[t * count + i]);
      all.values[t * count + i] = x;
      if (decay.steps) {
        double step = decay.steps->values[perElement ? t * count + i : t];
        x = arithmetic.store(x * (decay.linear ? step : arithmetic.store(std::exp(step))));
      }
    }
  return {all, first};
}

std::pair<Array, Array> interpreter::evaluateFollowing(const Array &state, const Array &rows) {
  Array all = rows, first = state;
  int64_t width = state.values.size();
  if (rows.shape[0] == 0)
    return {all, first};
  std::copy(rows.values.begin() + width, rows.values.end(), all.values.begin());
  std::copy(state.values.begin(), state.values.end(), all.values.end() - width);
  std::copy_n(rows.values.begin(), width, first.values.begin());
  return {all, first};
}

Array interpreter::evaluateSumTokens(const Arithmetic &arithmetic, const Array &operand) {
  Array result{operand.shape, {}};
  result.shape[0] = 1;
  result.values.resize(*countElements(result.shape));
  for (auto [i, x] : enumerate(operand.values)) {
    double &sum = result.values[i % result.values.size()];
    sum = arithmetic.store(sum + x);
  }
  return result;
}

Array interpreter::evaluateInsert(const Array &operand, int64_t index, int64_t size) {
  int64_t tokens = operand.shape[0], width = *countElements(ArrayRef(operand.shape).drop_front());
  Array result{operand.shape, std::vector<double>(tokens * size * width)};
  result.shape.insert(result.shape.begin() + 1, size);
  for (int64_t t = 0; t < tokens; ++t)
    std::copy_n(operand.values.begin() + t * width, width, result.values.begin() + (t * size + index) * width);
  return result;
}
