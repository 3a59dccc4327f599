// The gradient of a chunk program: forward over the chunks for their states, then backward over them.
#include "Interpreter/ChunkRunner.h"
#include "Support/Errors.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

/// Moves the array of the name to `to`, with zeros if there is none.
static void takeOrZero(const NamedArrays &from, const std::string &name, ArrayRef<int64_t> shape, Array &to) {
  auto found = from.find(name);
  to = found != from.end() ? found->second : Array{shape.vec(), std::vector<double>(*countElements(shape))};
}

/// `array` [rows, heads, ...] as [rows, groups, ...]: each group's heads are added.
static Array sumGroups(const Array &array, int64_t rows, const Sizes &sizes, ArrayRef<int64_t> shape) {
  Array result{shape.vec(), std::vector<double>(*countElements(shape))};
  int64_t size = sizes.groups ? sizes.heads / sizes.groups : 0, lines = rows * sizes.heads;
  int64_t width = lines ? array.values.size() / lines : 0;
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t i = 0; i < width; ++i)
      result.values[(line / sizes.heads * sizes.groups + line % sizes.heads / size) * width + i] +=
          array.values[line * width + i];
  return result;
}

Data interpreter::addCotangents(chunk::ProgramOp program, const Data &data, const Results &cotangents,
                                int64_t sequences) {
  const Sizes &sizes = data.sizes;
  Sizes stateSizes = sizes;
  stateSizes.batch = sequences;
  Data with{sizes, data.inputs, data.params, data.initial}; // of which a plan may take some
  for (chunk::OutputOp output : program.getOutputs()) {
    std::string name = output.getName().str();
    takeOrZero(cotangents.outputs, name, getFullShape(Role::Output, sizes, chunk::shapePerToken(output.getValue())),
               with.inputs["cotangent." + name]);
  }
  for (chunk::StateOp state : program.getStates()) {
    std::string name = state.getName().str();
    takeOrZero(cotangents.final, name, getFullShape(Role::Final, stateSizes, state.getCallerShape()),
               with.initial["gradient." + name]);
  }
  return with;
}

Data interpreter::collectGradient(chunk::ProgramOp program, const Sizes &sizes, Results results) {
  Data gradients;
  gradients.sizes = sizes;
  for (chunk::InputOp input : program.getInputs()) {
    auto found = results.outputs.find(("gradient." + input.getName()).str());
    if (found == results.outputs.end()) // left out
      continue;
    Array &given = found->second;
    Array &to = gradients.inputs[input.getName().str()];
    if (input.getShared())
      to = sumGroups(given, sizes.batch * sizes.tokens, sizes,
                     getFullShape(Role::SharedInput, sizes, chunk::shapePerToken(input)));
    else
      to = std::move(given);
  }
  for (chunk::ParamOp param : program.getParams()) {
    // [sequences, H, ...] as [1, H, ...]: all sequences are added.
    auto found = results.final.find(("gradient." + param.getName()).str());
    if (found == results.final.end())
      continue;
    const Array &given = found->second;
    auto shape = getFullShape(Role::Param, sizes, chunk::shapePerToken(param));
    Array &to = gradients.params[param.getName().str()];
    to = {{shape.begin(), shape.end()}, std::vector<double>(*countElements(shape))};
    for (auto [i, x] : enumerate(given.values))
      to.values[i % to.values.size()] += x;
  }
  for (chunk::StateOp state : program.getStates())
    if (auto found = results.final.find(("gradient." + state.getName()).str()); found != results.final.end())
      gradients.initial[state.getName().str()] = std::move(found->second);
  return gradients;
}

Expected<Data> interpreter::interpretGradient(chunk::ProgramOp program, chunk::ProgramOp gradient, const Data &data,
                                              const Results &cotangents, const ChunkOptions &options) {
  if (!gradient.getBackward())
    return makeError("program '" + gradient.getSymName() + "' is no gradient: it does not run backward");
  ChunkRunner forward(program, data, options);
  if (Error error = forward.prepare())
    return std::move(error);
  KeptStates kept;
  if (Expected<Results> ran = forward.run(&kept); !ran)
    return ran.takeError();
  int64_t sequences = options.sequenceOffsets.empty() ? data.sizes.batch : options.sequenceOffsets.size() - 1;
  Data with = addCotangents(program, data, cotangents, sequences);
  ChunkRunner backward(gradient, with, options);
  if (Error error = backward.prepare())
    return std::move(error);
  Expected<Results> results = backward.run(&kept);
  if (!results)
    return results.takeError();
  return collectGradient(program, data.sizes, std::move(*results));
}
