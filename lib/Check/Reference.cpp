#include "Check/Reference.h"
#include "Check/GradientStages.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Support/Errors.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::data;

//===----------------------------------------------------------------------===//
// Sequences by themselves, and packed
//===----------------------------------------------------------------------===//

/// The first `tokens` of sequence `b`, of an array [B, T, ...].
static Array takeTokens(const Array &from, int64_t b, int64_t tokens) {
  int64_t row = 1;
  for (int64_t side : ArrayRef(from.shape).drop_front(2))
    row *= side;
  const double *begin = from.values.data() + b * from.shape[1] * row;
  Array taken{from.shape, {begin, begin + tokens * row}};
  taken.shape[0] = 1;
  taken.shape[1] = tokens;
  return taken;
}

/// Of an array [B, ...].
static Array takeSequence(const Array &from, int64_t b) {
  int64_t row = 1;
  for (int64_t side : ArrayRef(from.shape).drop_front())
    row *= side;
  const double *begin = from.values.data() + b * row;
  Array taken{from.shape, {begin, begin + row}};
  taken.shape[0] = 1;
  return taken;
}

template <typename Take> static NamedArrays takeAll(const NamedArrays &from, Take take) {
  NamedArrays taken;
  for (const auto &[name, array] : from)
    taken[name] = take(array);
  return taken;
}

static Data takeData(const Data &from, int64_t b, int64_t tokens) {
  Data taken = from;
  taken.sizes.batch = 1;
  taken.sizes.tokens = tokens;
  taken.inputs = takeAll(from.inputs, [&](const Array &array) { return takeTokens(array, b, tokens); });
  taken.initial = takeAll(from.initial, [&](const Array &array) { return takeSequence(array, b); });
  return taken;
}

static Results takeResults(const Results &from, int64_t b, int64_t tokens) {
  return {takeAll(from.outputs, [&](const Array &array) { return takeTokens(array, b, tokens); }),
          takeAll(from.final, [&](const Array &array) { return takeSequence(array, b); })};
}

/// Puts arrays of one sequence behind those of the others along a side.
static void append(NamedArrays &to, const NamedArrays &more, size_t side) {
  for (const auto &[name, array] : more) {
    auto [entry, isNew] = to.insert({name, array});
    if (isNew)
      continue;
    entry->second.shape[side] += array.shape[side];
    append_range(entry->second.values, array.values);
  }
}

static void add(NamedArrays &to, const NamedArrays &more) {
  for (const auto &[name, array] : more) {
    auto [entry, isNew] = to.insert({name, array});
    for (size_t i = 0; !isNew && i < array.values.size(); ++i)
      entry->second.values[i] += array.values[i];
  }
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

namespace {
/// What comes of data.
struct Computed {
  Results results;
  Data gradient;
};
} // namespace

/// Of sequences of these lengths, each by itself, and their results packed where there are several.
static Expected<Computed> compute(dgps::RecurrenceOp recurrence, const Data &data, const Results &cotangents,
                                  ArrayRef<int64_t> lengths, const PreparedGradient *gradients) {
  Computed all;
  for (auto [b, tokens] : enumerate(lengths)) {
    Data one = lengths.size() == 1 ? data : takeData(data, int64_t(b), tokens);
    Expected<Results> results = interpreter::interpret(recurrence, one);
    if (!results)
      return results.takeError();
    append(all.results.outputs, results->outputs, 1);
    append(all.results.final, results->final, 0);
    if (!gradients)
      continue;
    Results asked = lengths.size() == 1 ? cotangents : takeResults(cotangents, int64_t(b), tokens);
    Expected<Data> gradient = gradients->run(one, asked);
    if (!gradient)
      return gradient.takeError();
    append(all.gradient.inputs, gradient->inputs, 1);
    append(all.gradient.initial, gradient->initial, 0);
    add(all.gradient.params, gradient->params);
  }
  return all;
}

static Results drawCotangents(const Results &results, const Sizes &sizes, uint64_t seed, const DataTypes &types) {
  ArrayDrawer drawer(seed + 77, {});
  auto draw = [&](const NamedArrays &like, Role role, size_t leading, bool isState) {
    NamedArrays all;
    for (const auto &[name, array] : like) {
      Array &drawn = all[name] = drawer.draw(role, sizes, ArrayRef(array.shape).drop_front(leading), Fill::Normal);
      for (double &value : drawn.values)
        value = roundTo(value, types.of(name, isState));
    }
    return all;
  };
  return {draw(results.outputs, Role::Output, 3, /*isState=*/false),
          draw(results.final, Role::Final, 2, /*isState=*/true)};
}

/// The gradient's chunk program in float64, which the tests hold against dual numbers.
static Expected<PreparedGradient> prepareGradient(dgps::RecurrenceOp recurrence) {
  const GradientStage *exact =
      find_if(getGradientStages(), [](const GradientStage &stage) { return stage.name == "chunk gradient"; });
  return exact->prepare(recurrence, {});
}

static NamedArrays packInputs(const Data &data, ArrayRef<int64_t> lengths) {
  NamedArrays packed;
  for (auto [b, tokens] : enumerate(lengths))
    append(packed, takeData(data, int64_t(b), tokens).inputs, 1);
  return packed;
}

static Results packCotangents(const Results &cotangents, ArrayRef<int64_t> lengths) {
  Results packed = cotangents;
  packed.outputs.clear();
  for (auto [b, tokens] : enumerate(lengths))
    append(packed.outputs, takeResults(cotangents, int64_t(b), tokens).outputs, 1);
  return packed;
}

Expected<std::vector<ReferenceArray>> check::makeReference(dgps::RecurrenceOp recurrence,
                                                           const ReferenceOptions &options) {
  ArrayRef<int64_t> lengths = options.lengths;
  bool isPacked = lengths.size() > 1;
  Sizes sizes = options.sizes;
  sizes.tokens = *llvm::max_element(lengths);
  if (isPacked)
    sizes.batch = int64_t(lengths.size());
  Tameness tameness;
  tameness.types = options.types;
  if (options.isHard)
    tameness.condition = std::numeric_limits<double>::infinity();
  Expected<JudgedData> drawn =
      makeJudgedData(recurrence, sizes, options.seed, tameness, options.isHard ? getHardDifficulty() : Difficulty());
  if (!drawn)
    return drawn.takeError();
  Data data = std::move(drawn->data);
  if (options.startsAnew)
    data.initial.clear();
  Results cotangents = drawCotangents(drawn->want, sizes, options.seed, options.types);
  if (options.forgetsFinal)
    for (auto &[name, array] : cotangents.final)
      llvm::fill(array.values, 0.0);
  std::optional<PreparedGradient> gradients;
  if (options.backward) {
    Expected<PreparedGradient> prepared = prepareGradient(recurrence);
    if (!prepared)
      return prepared.takeError();
    gradients = std::move(*prepared);
    if (options.startsAnew) // what is below a recurrence takes all initial states
      for (dgps::StateOp state : recurrence.getStates())
        if (!state.getStart()) {
          auto shape = getFullShape(Role::Initial, sizes, dgps::shapeOf(state));
          data.initial[state.getName().str()] = {{shape.begin(), shape.end()},
                                                 std::vector<double>(size_t(*countElements(shape)))};
        }
  }
  const PreparedGradient *ready = gradients ? &*gradients : nullptr;
  Expected<Computed> want = compute(recurrence, data, cotangents, lengths, ready);
  if (!want)
    return want.takeError();
  Expected<Computed> nudged = compute(recurrence, nudge(recurrence, data), cotangents, lengths, ready);
  if (!nudged)
    return nudged.takeError();

  std::vector<ReferenceArray> all;
  auto give = [&](StringRef role, const NamedArrays &arrays, const NamedArrays *changed = nullptr) {
    for (const auto &[name, array] : arrays)
      all.push_back({role, name, array, changed ? relativeRms(changed->at(name), array) / nudgeSize : 0});
  };
  give("input", isPacked ? packInputs(data, lengths) : data.inputs);
  give("param", data.params);
  if (!options.startsAnew)
    give("initial", data.initial);
  give("output", want->results.outputs, &nudged->results.outputs);
  give("final", want->results.final, &nudged->results.final);
  if (!options.backward)
    return all;
  if (isPacked)
    cotangents = packCotangents(cotangents, lengths);
  give("cotangent", cotangents.outputs);
  give("final cotangent", cotangents.final);
  give("gradient", want->gradient.inputs, &nudged->gradient.inputs);
  give("gradient", want->gradient.params, &nudged->gradient.params);
  if (!options.startsAnew)
    give("initial gradient", want->gradient.initial, &nudged->gradient.initial);
  return all;
}
