// Random data of a chunk program's inputs, params and states.
#pragma once
#include "Data/Data.h"
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <random>

namespace recur::test {

/// Numbers in [-1, 1], of which `place` makes the element of the array of that name.
inline data::Data drawProgramData(chunk::ProgramOp program, const data::Sizes &sizes, unsigned seed,
                                  llvm::function_ref<double(llvm::StringRef name, double number)> place) {
  data::Data data;
  data.sizes = sizes;
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  auto fill = [&](data::Role role, llvm::StringRef name, llvm::ArrayRef<int64_t> shape) {
    auto full = data::getFullShape(role, sizes, shape);
    Array array{{full.begin(), full.end()}, std::vector<double>(*countElements(full))};
    for (double &element : array.values)
      element = place(name, uniform(generator));
    return array;
  };
  for (chunk::InputOp input : program.getInputs())
    data.inputs[input.getName().str()] = fill(data::Role::Input, input.getName(), chunk::shapePerToken(input));
  for (chunk::ParamOp param : program.getParams())
    data.params[param.getName().str()] = fill(data::Role::Param, param.getName(), chunk::shapePerToken(param));
  for (chunk::StateOp state : program.getStates())
    data.initial[state.getName().str()] = fill(data::Role::Initial, state.getName(), state.getCallerShape());
  return data;
}

} // namespace recur::test
