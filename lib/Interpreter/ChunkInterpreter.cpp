#include "Interpreter/ChunkMeaning.h"
#include "Interpreter/ChunkRunner.h"
#include "Interpreter/Padding.h"
#include "Support/Errors.h"
#include "dialects/Chunk/ChunkSummaryParts.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

Error ChunkRunner::prepare() {
  const Sizes &sizes = data.sizes;
  if (Error error = checkSizes(sizes))
    return error;
  ArrayRef<int64_t> offsets = options.sequenceOffsets;
  if (offsets.empty()) {
    for (int64_t batch = 0; batch < sizes.batch; ++batch)
      sequences.push_back({batch, 0, sizes.tokens, batch});
  } else {
    if (sizes.batch != 1)
      return makeError("packed sequences lie in a batch of 1, but B is " + Twine(sizes.batch));
    if (offsets.front() != 0 || offsets.back() != sizes.tokens)
      return makeError("the sequence offsets must begin with 0 and end with T, which is " + Twine(sizes.tokens));
    for (auto [i, begin, end] : enumerate(offsets.drop_back(), offsets.drop_front())) {
      if (end < begin)
        return makeError("the sequence offsets decrease from " + Twine(begin) + " to " + Twine(end));
      sequences.push_back({0, begin, end, int64_t(i)});
    }
    stateSizes.batch = sequences.size();
  }
  for (chunk::InputOp input : program.getInputs())
    if (Error error = checkArray(input.getShared() ? Role::SharedInput : Role::Input, input.getName(), data.inputs,
                                 sizes, chunk::arrayShape(input)))
      return error;
  for (chunk::ParamOp param : program.getParams())
    if (Error error = checkArray(Role::Param, param.getName(), data.params, sizes, chunk::arrayShape(param)))
      return error;
  for (chunk::StateOp state : program.getStates()) {
    SmallVector<int64_t> shape = state.getCallerShape();
    if (data.initial.count(state.getName().str()))
      if (Error error = checkArray(Role::Initial, state.getName(), data.initial, stateSizes, shape))
        return error;
    auto full = getFullShape(Role::Final, stateSizes, shape);
    results.final[state.getName().str()] = {{full.begin(), full.end()}, std::vector<double>(*countElements(full))};
  }
  for (chunk::OutputOp output : program.getOutputs()) {
    auto full = getFullShape(Role::Output, sizes, chunk::arrayShape(output));
    results.outputs[output.getName().str()] = {{full.begin(), full.end()}, std::vector<double>(*countElements(full))};
  }
  return Error::success();
}

Array interpreter::transpose(const Array &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  Array result{{columns, rows}, std::vector<double>(rows * columns)};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      result.values[column * rows + row] = matrix.values[row * columns + column];
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// `count` values that the array has in the shape `own`, the first at `index` and `stride` values apart, as a token
/// value of `shape`.
Array ChunkRunner::load(const Array &array, int64_t index, int64_t count, int64_t stride, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> own) const {
  Arithmetic arithmetic(options.rounding, options.disturbance);
  Array result{shape.vec(), {}};
  result.shape.insert(result.shape.begin(), count);
  int64_t width = *countElements(own);
  SmallVector<std::optional<int64_t>> places = placeInArray(shape, own);
  for (int64_t t = 0; t < count; ++t)
    for (std::optional<int64_t> place : places)
      result.values.push_back(place ? arithmetic.store(array.values[(index + t * stride) * width + *place]) : 0);
  return result;
}

/// One value of `shape`, of which the array at this index has the shape `own`.
static void give(const double *value, ArrayRef<int64_t> shape, Array &array, int64_t index, ArrayRef<int64_t> own) {
  int64_t width = *countElements(own);
  for (std::optional<int64_t> place : placeInArray(shape, own)) {
    if (place)
      array.values[index * width + *place] = *value;
    ++value;
  }
}

States ChunkRunner::initialStates(chunk::ProgramOp runs, int64_t sequence, int64_t head) const {
  States states;
  for (chunk::StateOp state : runs.getStates()) {
    SmallVector<int64_t> shape(chunk::tensorOf(state).getShape());
    if (state.getTransposed())
      std::swap(shape[0], shape[1]);
    auto initial = data.initial.find(state.getName().str());
    Array array{{shape.begin(), shape.end()}, std::vector<double>(*countElements(shape))};
    if (initial != data.initial.end())
      array.values =
          load(initial->second, sequence * data.sizes.heads + head, 1, 1, shape, state.getCallerShape()).values;
    states[state.getName().str()] = state.getTransposed() ? transpose(array) : std::move(array);
  }
  return states;
}

void ChunkRunner::storeFinal(const States &states, int64_t sequence, int64_t head) {
  for (chunk::StateOp state : chunk::ProgramOp(program).getStates()) {
    std::string name = state.getName().str();
    Array own = state.getTransposed() ? transpose(states.at(name)) : states.at(name);
    give(own.values.data(), own.shape, results.final.at(name), sequence * data.sizes.heads + head,
         state.getCallerShape());
  }
}

Expected<States> ChunkRunner::runChunk(chunk::ProgramOp runs, int64_t batch, int64_t head, int64_t first,
                                       int64_t tokens, States states, const States *kept) {
  const Sizes &sizes = data.sizes;
  ChunkMachine machine(Arithmetic(options.rounding, options.disturbance), runs.getChunk(), tokens);
  for (chunk::InputOp input : runs.getInputs()) {
    int64_t heads = input.getShared() ? sizes.groups : sizes.heads;
    int64_t own = input.getShared() ? head / (sizes.heads / sizes.groups) : head;
    machine.set(input, load(data.inputs.at(input.getName().str()), (batch * sizes.tokens + first) * heads + own, tokens,
                            heads, chunk::shapePerToken(input), chunk::arrayShape(input)));
  }
  for (chunk::ParamOp param : runs.getParams())
    machine.set(param, load(data.params.at(param.getName().str()), head, 1, 1, chunk::shapePerToken(param),
                            chunk::arrayShape(param)));
  for (chunk::StateOp state : runs.getStates())
    machine.set(state, states.at(state.getName().str()));
  for (chunk::KeptOp state : runs.getKept()) {
    if (!kept)
      return makeError("a program that runs backward needs the states at each chunk's start");
    machine.set(state, kept->at(state.getName().str()));
  }
  if (Error error = machine.run(runs.getBody().front()))
    return std::move(error);
  for (chunk::OutputOp output : runs.getOutputs()) {
    const Array &value = machine.get(output.getValue());
    Array &to = results.outputs.at(output.getName().str());
    int64_t width = value.values.size() / tokens;
    for (int64_t t = 0; t < tokens; ++t) {
      int64_t index = (batch * sizes.tokens + first + t) * sizes.heads + head;
      if (output.getSizes())
        give(value.values.data() + t * width, chunk::shapePerToken(output.getValue()), to, index, *output.getSizes());
      else // matrices of the tokens are smaller in a short chunk
        std::copy_n(value.values.begin() + t * width, width, to.values.begin() + index * width);
    }
  }
  for (chunk::StateOp state : runs.getStates())
    states[state.getName().str()] = machine.get(state.getNext().getValue());
  return states;
}

Expected<States> ChunkRunner::runTokens(chunk::ProgramOp runs, int64_t batch, int64_t head, int64_t begin, int64_t end,
                                        States states, std::vector<States> *kept) {
  int64_t size = runs.getChunk(), chunks = (end - begin + size - 1) / size;
  bool backward = runs.getBackward();
  for (int64_t step = 0; step < chunks; ++step) {
    int64_t chunk = backward ? chunks - 1 - step : step, first = begin + chunk * size;
    if (kept && !backward)
      kept->push_back(states);
    auto after = runChunk(runs, batch, head, first, std::min(size, end - first), std::move(states),
                          kept && backward ? &(*kept)[chunk] : nullptr);
    if (!after)
      return after.takeError();
    states = std::move(*after);
  }
  return states;
}

Expected<Results> ChunkRunner::run(KeptStates *kept) {
  if (kept && !program.getBackward())
    kept->resize(sequences.size() * data.sizes.heads);
  for (auto [number, sequence] : enumerate(sequences))
    for (int64_t head = 0; head < data.sizes.heads; ++head) {
      auto states = runTokens(program, sequence.batch, head, sequence.begin, sequence.end,
                              initialStates(program, sequence.state, head),
                              kept ? &(*kept)[number * data.sizes.heads + head] : nullptr);
      if (!states)
        return states.takeError();
      storeFinal(*states, sequence.state, head);
    }
  return std::move(results);
}

static Array makeOnes(ArrayRef<int64_t> shape) { return {shape.vec(), std::vector<double>(*countElements(shape), 1)}; }

/// The summary's map before the first token: what leaves a state as it is.
static Array identityMap(chunk::SummaryKind kind, ArrayRef<int64_t> shape) {
  Array map{shape.vec(),
            std::vector<double>(*countElements(shape), kind == chunk::SummaryKind::Elementwise ? 1.0 : 0.0)};
  if (kind == chunk::SummaryKind::Right || kind == chunk::SummaryKind::Left)
    for (int64_t i = 0; i < shape[0]; ++i)
      map.values[i * shape[0] + i] = 1;
  return map;
}

Expected<SummarisedSegments> ChunkRunner::summarise(ArrayRef<chunk::ProgramOp> summaries, const Sequence &sequence,
                                                    int64_t head, int64_t segments) {
  Arithmetic arithmetic(options.rounding, options.disturbance);
  SummarisedSegments result{std::vector<States>(segments + 1), std::vector<States>(segments),
                            std::vector<States>(segments)};
  States initial = initialStates(program, sequence.state, head);
  // A state's summaries need the states before it, which are known by then.
  for (chunk::ProgramOp summary : summaries) {
    std::string name = summary.getSummaryOf()->str();
    chunk::SummaryKind kind = *summary.getSummaryKind();
    chunk::SummaryParts parts = chunk::getSummaryParts(summary);
    chunk::StateOp map = parts.map, offset = parts.offset;
    Array state = initial.at(name);
    for (int64_t segment = 0; segment <= segments; ++segment) {
      result.starts[segment][name] = state;
      if (segment == segments)
        break;
      States from;
      for (chunk::StateOp known : parts.known)
        from[known.getName().str()] = result.starts[segment].at(known.getName().str());
      if (parts.scales)
        from[parts.scales.getName().str()] = makeOnes(chunk::tensorOf(parts.scales).getShape());
      from[map.getName().str()] = identityMap(kind, chunk::tensorOf(map).getShape());
      ArrayRef<int64_t> shape = chunk::tensorOf(offset).getShape();
      std::optional<chunk::Extremum> extremum = chunk::extremumOf(kind);
      double nothing = extremum ? chunk::neutralOf(*extremum) : 0;
      from[offset.getName().str()] = {shape.vec(), std::vector<double>(*countElements(shape), nothing)};
      auto after = runTokens(summary, sequence.batch, head, sequence.getBoundary(segment, segments),
                             sequence.getBoundary(segment + 1, segments), std::move(from));
      if (!after)
        return after.takeError();
      result.maps[segment][name] = after->at(map.getName().str());
      if (parts.scales)
        result.scales[segment][name] = after->at(parts.scales.getName().str());
      state = applySummary(arithmetic, kind, state, result.maps[segment].at(name), after->at(offset.getName().str()),
                           result.getScales(segment, name));
    }
  }
  return std::move(result);
}

Expected<Results> ChunkRunner::runBySegments(ArrayRef<chunk::ProgramOp> summaries, int64_t segments) {
  if (segments < 1)
    return makeError("at least one segment is needed");
  for (const Sequence &sequence : sequences)
    for (int64_t head = 0; head < data.sizes.heads; ++head) {
      Expected<SummarisedSegments> known = summarise(summaries, sequence, head, segments);
      if (!known)
        return known.takeError();
      for (int64_t segment = 0; segment < segments; ++segment) {
        States from = known->starts[segment];
        for (chunk::StateOp state : program.getStates())
          if (!from.count(state.getName().str()))
            return makeError("state '" + state.getName() + "' has no summary");
        auto after = runTokens(program, sequence.batch, head, sequence.getBoundary(segment, segments),
                               sequence.getBoundary(segment + 1, segments), std::move(from));
        if (!after)
          return after.takeError();
      }
      storeFinal(known->starts[segments], sequence.state, head);
    }
  return std::move(results);
}

Expected<Results> interpreter::interpret(chunk::ProgramOp program, const Data &data, const ChunkOptions &options) {
  ChunkRunner runner(program, data, options);
  if (Error error = runner.prepare())
    return std::move(error);
  return runner.run();
}

Expected<Results> interpreter::interpretBySegments(chunk::ProgramOp program, ArrayRef<chunk::ProgramOp> summaries,
                                                   const Data &data, int64_t segments, const ChunkOptions &options) {
  ChunkRunner runner(program, data, options);
  if (Error error = runner.prepare())
    return std::move(error);
  return runner.runBySegments(summaries, segments);
}
