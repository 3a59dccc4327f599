#include "property/RandomRecurrence.h"

using namespace recur;
using namespace recur::property;
using data::Difficulty;
using data::Role;

/// Mild, down to -20 a token, or exactly at either end.
static Difficulty drawDifficulty(Random &random) {
  Difficulty difficulty;
  difficulty.correlation = random.pick<double>({0, 0.5, 0.9});
  auto [steepest, extremes] = random.pick<std::pair<double, double>>({{0.3, 0.1}, {20, 0.1}, {20, 0.5}, {2, 0.3}});
  difficulty.steepestGate = steepest;
  difficulty.extremes = extremes;
  return difficulty;
}

data::Data property::drawData(const DrawnRecurrence &recurrence, uint64_t seed, data::Sizes sizes) {
  Random random(seed ^ (recurrence.seed << 20));
  Difficulty difficulty = drawDifficulty(random);
  data::ArrayDrawer drawer(random.next(), difficulty);
  std::map<std::string, int64_t> dims(recurrence.dims.begin(), recurrence.dims.end());
  auto draw = [&](Role role, const Shape &shape, Fill fill) {
    llvm::SmallVector<int64_t> own;
    for (const std::string &size : shape)
      own.push_back(dims.at(size));
    return drawer.draw(role, sizes, own, fill);
  };
  data::Data data;
  data.sizes = sizes;
  for (const DrawnArray &input : recurrence.inputs)
    data.inputs[input.name] = draw(input.shared ? Role::SharedInput : Role::Input, input.shape, input.fill);
  for (const DrawnArray &param : recurrence.params)
    data.params[param.name] = draw(Role::Param, param.shape, param.fill);
  for (const DrawnState &state : recurrence.states)
    data.initial[state.name] = draw(Role::Initial, state.shape, state.initial);
  return data;
}
