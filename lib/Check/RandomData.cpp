#include "Check/RandomData.h"
#include "Check/Random.h"
#include "Engine/HostEngine.h"
#include "Interpreter/DGPSInterpreter.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::engine;
using namespace recur::dgps;
using interpreter::Data;
using interpreter::NamedArrays;
using interpreter::Role;
using interpreter::Sizes;

namespace {

/// Fills one array after the other.
class Filler {
public:
  Filler(uint64_t seed, const Difficulty &difficulty) : random(seed), difficulty(difficulty) {}

  void fill(MutableArrayRef<double> values, ArrayRef<int64_t> shape, Demand demand) {
    int64_t rowLength = shape.empty() ? 1 : shape.back();
    if (rowLength == 0)
      return;
    bool isKey = demand == Demand::Key || demand == Demand::PositiveKey;
    std::vector<double> common(isKey ? rowLength : 0);
    for (double &value : common)
      value = draw(demand, 1);
    double correlation = difficulty.correlation, rest = std::sqrt(1 - correlation * correlation);
    for (auto [i, value] : enumerate(values)) {
      value = draw(demand, rowLength);
      if (isKey && correlation != 0)
        value = correlation * common[i % rowLength] + rest * value;
    }
    if (isKey)
      for (; !values.empty(); values = values.drop_front(rowLength))
        normalize(values.take_front(rowLength));
    else if (demand == Demand::PositiveDefinite && shape.size() == 2 && shape[0] == shape[1])
      for (; !values.empty(); values = values.drop_front(rowLength * rowLength))
        multiplyByTransposed(values.take_front(rowLength * rowLength), rowLength);
  }

private:
  double drawGate() {
    // From small to large by powers of two: most gates of trained models are small, and a few forget all.
    return -difficulty.weakestGate - difficulty.steepestGate * std::exp2(-10 * random.uniform());
  }

  double draw(Demand demand, int64_t rowLength) {
    switch (demand) {
    case Demand::Positive:
      return 0.1 + 0.9 * random.uniform();
    case Demand::Negative:
      return drawGate();
    case Demand::Logit:
      return difficulty.steepestGate > 1 && random.uniform() < 0.5 ? drawGate()
                                                                   : 2 * random.normal() - difficulty.weakestGate;
    case Demand::Gain:
      return difficulty.size * difficulty.largestGain * random.uniform();
    case Demand::Key:
      return random.normal();
    case Demand::PositiveKey:
      return 0.1 + 0.9 * random.uniform();
    case Demand::PositiveDefinite: // the B of B B^T
      return random.normal() / std::sqrt(double(rowLength));
    case Demand::None:
      return difficulty.size * random.normal() / std::sqrt(double(rowLength));
    }
    llvm_unreachable("a demand");
  }

  void normalize(MutableArrayRef<double> row) const {
    double square = 0;
    for (double value : row)
      square += value * value;
    for (double &value : row)
      value *= difficulty.size / std::sqrt(square);
  }

  /// Replaces a square matrix B by B B^T.
  static void multiplyByTransposed(MutableArrayRef<double> matrix, int64_t n) {
    std::vector<double> square(n * n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t k = 0; k < n; ++k)
          square[i * n + j] += matrix[i * n + k] * matrix[j * n + k];
    llvm::copy(square, matrix.begin());
  }

  Random random;
  Difficulty difficulty;
};

} // namespace

static Data makeData(RecurrenceOp recurrence, const std::map<std::string, Demand> &demands, const Sizes &sizes,
                     uint64_t seed, const Difficulty &difficulty) {
  Filler filler(seed, difficulty);
  auto make = [&](Role role, StringRef name, mlir::Value value) {
    auto full = getFullShape(role, sizes, shapeOf(value));
    Array array{{full.begin(), full.end()}, std::vector<double>(countElements(full).value_or(0))};
    auto demand = demands.find(name.str());
    filler.fill(array.values, shapeOf(value), demand == demands.end() ? Demand::None : demand->second);
    return array;
  };
  Data data;
  data.sizes = sizes;
  for (InputOp input : recurrence.getInputs())
    data.inputs[input.getName().str()] =
        make(input.getShared() ? Role::SharedInput : Role::Input, input.getName(), input);
  for (ParamOp param : recurrence.getParams())
    data.params[param.getName().str()] = make(Role::Param, param.getName(), param);
  for (StateOp state : recurrence.getStates())
    data.initial[state.getName().str()] = make(Role::Initial, state.getName(), state);
  return data;
}

Data check::makeRandomData(RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed, const Difficulty &difficulty) {
  return makeData(recurrence, findDemands(recurrence), sizes, seed, difficulty);
}

//===----------------------------------------------------------------------===//
// Tameness
//===----------------------------------------------------------------------===//

static constexpr double nudgeSize = 0x1p-24;

/// The same data within the rounding of float32.
static Data nudge(Data data) {
  uint64_t bits = 0x9e3779b97f4a7c15;
  for (NamedArrays *arrays : {&data.inputs, &data.params, &data.initial})
    for (auto &[name, array] : *arrays)
      for (double &value : array.values) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        value *= 1 + (bits & 1 ? 1 : -1) * nudgeSize;
      }
  return data;
}

static double findLargest(const interpreter::Results &results) {
  double largest = 0;
  for (const NamedArrays *arrays : {&results.outputs, &results.final})
    for (const auto &[name, array] : *arrays)
      for (double value : array.values)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : INFINITY;
  return largest;
}

Expected<JudgedData> check::makeJudgedData(RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed,
                                           const Tameness &wanted, const Difficulty &difficulty) {
  // Smaller numbers and weaker correlations are tamer for most recurrences; where all is normalised it takes others.
  constexpr unsigned mostRedraws = 5, mostSeeds = 4;
  std::map<std::string, Demand> demands = findDemands(recurrence);
  Difficulty current = difficulty;
  for (unsigned redraws = 0;; ++redraws) {
    Data data = makeData(recurrence, demands, sizes, seed, current);
    if (wanted.type)
      roundData(data, *wanted.type);
    Expected<interpreter::Results> want = interpreter::interpret(recurrence, data);
    if (!want)
      return want.takeError();
    Expected<interpreter::Results> nudged = interpreter::interpret(recurrence, nudge(data));
    if (!nudged)
      return nudged.takeError();
    double condition = interpreter::relativeRms(*nudged, *want) / nudgeSize, largest = findLargest(*want);
    bool isLast = redraws + 1 == mostSeeds * (mostRedraws + 1);
    if (isLast || (condition <= wanted.condition && largest <= wanted.largest))
      return JudgedData{std::move(data), std::move(*want), largest, condition, redraws};
    if ((redraws + 1) % (mostRedraws + 1) == 0) {
      current = difficulty;
      seed += 1000003;
      continue;
    }
    current.size /= 2;
    current.correlation /= 2;
    current.weakestGate += difficulty.steepestGate / 8;
  }
}
