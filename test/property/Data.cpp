// Numbers for a drawn recurrence: gates and keys of the kinds that break kernels.
#include "property/RandomRecurrence.h"

using namespace recur;
using namespace recur::property;

namespace {
class Filler {
public:
  Filler(const DrawnRecurrence &recurrence, uint64_t seed) : random(seed ^ (recurrence.seed << 20)) {
    for (const auto &[size, value] : recurrence.dims)
      sizes[size] = value;
    correlation = random.pick<double>({0, 0.5, 0.9});
    gates = random.below(4);
  }

  Array fill(llvm::ArrayRef<int64_t> leading, const Shape &shape, Fill fill) {
    Array array;
    array.shape.assign(leading.begin(), leading.end());
    for (const std::string &size : shape)
      array.shape.push_back(sizes.at(size));
    array.values.resize(*countElements(array.shape));
    int64_t last = array.shape.empty() ? 1 : array.shape.back();
    if (fill == Fill::UnitKey)
      fillKeys(array.values, last);
    else if (fill == Fill::Definite)
      fillDefinite(array.values, last);
    else
      for (double &value : array.values)
        value = draw(fill);
    return array;
  }

private:
  double draw(Fill fill) {
    switch (fill) {
    case Fill::LogGate:
      return drawLogGate();
    case Fill::Logit:
      return gates == 1 ? random.uniform(-20, 4) : 2 * random.normal();
    case Fill::Gain:
      return random.chance(0.1) ? 0 : random.uniform();
    case Fill::StrongGain:
      return random.chance(0.1) ? random.pick<double>({0, 2}) : random.uniform(0, 2);
    case Fill::AnyDecay:
      return random.chance(0.15) ? 0 : random.uniform(-1, 1);
    case Fill::Positive:
      return random.uniform(0.1, 2);
    case Fill::Zero:
      return 0;
    default:
      return random.normal();
    }
  }

  double drawLogGate() {
    switch (gates) {
    case 0:
      return -random.uniform(0, 0.3);
    case 1:
      return -random.uniform(0, 20);
    case 2:
      return random.pick<double>({0, -0.01, -0.5, -20});
    default:
      return random.chance(0.3) ? 0 : -random.uniform(0, 2);
    }
  }

  void fillKeys(std::vector<double> &values, int64_t size) {
    if (size == 0)
      return;
    std::vector<double> common(size);
    for (double &value : common)
      value = random.normal();
    for (size_t begin = 0; begin < values.size(); begin += size) {
      double norm = 0;
      for (int64_t i = 0; i < size; ++i) {
        double &value = values[begin + i];
        value = correlation * common[i] + std::sqrt(1 - correlation * correlation) * random.normal();
        norm += value * value;
      }
      for (int64_t i = 0; i < size; ++i)
        values[begin + i] /= std::sqrt(norm);
    }
  }

  /// 0.1 I + X X^T / n.
  void fillDefinite(std::vector<double> &values, int64_t size) {
    std::vector<double> factor(size * size);
    for (size_t begin = 0; begin < values.size(); begin += size * size) {
      for (double &value : factor)
        value = random.normal();
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) {
          double total = i == j ? 0.1 : 0;
          for (int64_t c = 0; c < size; ++c)
            total += factor[i * size + c] * factor[j * size + c] / size;
          values[begin + i * size + j] = total;
        }
    }
  }

  Random random;
  std::map<std::string, int64_t> sizes;
  double correlation;
  unsigned gates;
};
} // namespace

interpreter::Data property::drawData(const DrawnRecurrence &recurrence, uint64_t seed, interpreter::Sizes sizes) {
  Filler filler(recurrence, seed);
  interpreter::Data data;
  data.sizes = sizes;
  for (const DrawnArray &input : recurrence.inputs) {
    int64_t heads = input.shared ? sizes.groups : sizes.heads;
    data.inputs[input.name] = filler.fill({sizes.batch, sizes.tokens, heads}, input.shape, input.fill);
  }
  for (const DrawnArray &param : recurrence.params)
    data.params[param.name] = filler.fill({sizes.heads}, param.shape, param.fill);
  for (const DrawnState &state : recurrence.states)
    data.initial[state.name] = filler.fill({sizes.batch, sizes.heads}, state.shape, state.initial);
  return data;
}
