#include "Check/RandomData.h"
#include "Engine/HostEngine.h"
#include "Interpreter/DGPSInterpreter.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::engine;
using namespace recur::dgps;
using data::Data;
using data::Difficulty;
using data::Fill;
using data::NamedArrays;
using data::Role;
using data::Sizes;

/// Integers that are used as such numbers.
static Fill toWhole(Fill fill) {
  return fill == Fill::Negative                                                                  ? Fill::NegativeWhole
         : fill == Fill::Positive || fill == Fill::PositiveKey || fill == Fill::PositiveDefinite ? Fill::PositiveWhole
                                                                                                 : Fill::Whole;
}

static Data makeData(RecurrenceOp recurrence, const Demands &demands, const Sizes &sizes, uint64_t seed,
                     const Difficulty &difficulty) {
  data::ArrayDrawer drawer(seed, difficulty);
  auto make = [&](Role role, StringRef name, mlir::Value value, bool isInteger = false) {
    auto demand = demands.find(name.str());
    Fill fill = demand == demands.end() ? Fill::Normal : demand->second;
    return drawer.draw(role, sizes, shapeOf(value), isInteger ? toWhole(fill) : fill);
  };
  Data data;
  data.sizes = sizes;
  for (InputOp input : recurrence.getInputs())
    data.inputs[input.getName().str()] =
        make(input.getShared() ? Role::SharedInput : Role::Input, input.getName(), input, input.isInteger());
  for (ParamOp param : recurrence.getParams())
    data.params[param.getName().str()] = make(Role::Param, param.getName(), param);
  for (auto [i, state] : enumerate(recurrence.getStates())) {
    Array drawn = make(Role::Initial, state.getName(), state);
    if (!state.getStart() || (seed + i) % 2) // the others start by themselves
      data.initial[state.getName().str()] = std::move(drawn);
  }
  return data;
}

Data check::makeRandomData(RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed, const Difficulty &difficulty) {
  return makeData(recurrence, findDemands(recurrence), sizes, seed, difficulty);
}

//===----------------------------------------------------------------------===//
// Tameness
//===----------------------------------------------------------------------===//

Data check::nudge(RecurrenceOp recurrence, Data data) {
  NamedArrays integers;
  for (InputOp input : recurrence.getInputs())
    if (input.isInteger())
      integers.insert(data.inputs.extract(input.getName().str()));
  uint64_t bits = 0x9e3779b97f4a7c15;
  for (NamedArrays *arrays : {&data.inputs, &data.params, &data.initial})
    for (auto &[name, array] : *arrays)
      for (double &value : array.values) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        value *= 1 + (bits & 1 ? 1 : -1) * nudgeSize;
      }
  data.inputs.merge(integers);
  return data;
}

double check::findLargest(const data::Results &results) {
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
  Demands demands = findDemands(recurrence);
  Difficulty current = difficulty;
  for (unsigned redraws = 0;; ++redraws) {
    Data data = makeData(recurrence, demands, sizes, seed, current);
    if (wanted.types)
      roundData(data, *wanted.types);
    interpreter::LargestValue onTheWay;
    Expected<data::Results> want = interpreter::interpret(recurrence, data, onTheWay);
    if (!want)
      return want.takeError();
    Expected<data::Results> nudged = interpreter::interpret(recurrence, nudge(recurrence, data));
    if (!nudged)
      return nudged.takeError();
    double condition = data::relativeRms(*nudged, *want) / nudgeSize, largest = findLargest(*want);
    bool isLast = redraws + 1 == mostSeeds * (mostRedraws + 1);
    if (isLast || (condition <= wanted.condition && largest <= wanted.largest && onTheWay.magnitude <= wanted.onTheWay))
      return JudgedData{std::move(data), std::move(*want), largest, std::move(onTheWay), condition, redraws};
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
