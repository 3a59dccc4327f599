#include "Check/GradientStages.h"
#include "Check/Random.h"
#include "Compile/GradientPrograms.h"
#include "Interpreter/ChunkInterpreter.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::interpreter;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The gradient's chunk program. On small data a chunk of 16 tokens is one that has a next.
static Expected<std::shared_ptr<compile::GradientPrograms>> makePrograms(dgps::RecurrenceOp recurrence,
                                                                         const PipelineOptions &options) {
  PipelineOptions chosen = options;
  if (!chosen.chunk)
    chosen.chunk = 16;
  Expected<compile::GradientPrograms> made = compile::makeGradientPrograms(recurrence, chosen);
  if (!made)
    return made.takeError();
  return std::make_shared<compile::GradientPrograms>(std::move(*made));
}

static PreparedGradient::Run runWith(std::shared_ptr<compile::GradientPrograms> programs, Rounding rounding,
                                     double disturbance = 0) {
  ChunkOptions options;
  options.rounding = rounding;
  options.disturbance = disturbance;
  return [programs, options](const Data &data, const Results &cotangents) {
    return interpretGradient(programs->program, programs->gradient, data, cotangents, options);
  };
}

static Expected<PreparedGradient> prepareExactChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<std::shared_ptr<compile::GradientPrograms>> programs = makePrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  return PreparedGradient{1e-9, runWith(*programs, Rounding::exact)};
}

/// Below this, a number of the type loses digits that a limit counts.
static double findVanishing(DataType type, double limit) {
  return APFloat::getSmallestNormalized(getSemantics(type)).convertToDouble() / limit;
}

/// Rounds as the target would, forward and backward.
static Expected<PreparedGradient> prepareRoundedChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<std::shared_ptr<compile::GradientPrograms>> programs = makePrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  DataType type = options.dataType;
  return PreparedGradient{getRoundedLimit(type),
                          runWith(*programs, getRounding(type)),
                          getLargestRounded(type),
                          findVanishing(type, getRoundedLimit(type)),
                          {unitRoundoff(DataType::F32), unitRoundoff(type)},
                          runWith(*programs, Rounding::exact),
                          runWith(*programs, Rounding::exact, unitRoundoff(type))};
}

static constexpr GradientStage stages[] = {
    {"chunk gradient", prepareExactChunk},
    {"gradient rounded", prepareRoundedChunk},
};

ArrayRef<GradientStage> check::getGradientStages() { return stages; }

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

Difficulty check::getHardDifficulty() {
  Difficulty hard;
  hard.steepestGate = 20;
  hard.largestGain = 2;
  hard.correlation = 0.9;
  return hard;
}

Expected<JudgedGradient> check::makeJudgedGradient(dgps::RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed,
                                                   const Difficulty &difficulty) {
  Expected<JudgedData> drawn = makeJudgedData(recurrence, sizes, seed, {}, difficulty);
  if (!drawn)
    return drawn.takeError();
  Random random(seed ^ 0x5bd1e995);
  auto redraw = [&](std::initializer_list<NamedArrays *> all) {
    for (NamedArrays *arrays : all)
      for (auto &[name, array] : *arrays)
        for (double &value : array.values)
          value = random.normal();
  };
  Results cotangents = drawn->want;
  redraw({&cotangents.outputs, &cotangents.final});
  Data direction = drawn->data;
  redraw({&direction.inputs, &direction.params, &direction.initial});
  Expected<GradientJudge> judge = GradientJudge::create(recurrence, drawn->data, cotangents, direction);
  if (!judge)
    return judge.takeError();
  return JudgedGradient{std::move(drawn->data), std::move(drawn->want), std::move(cotangents),
                        std::move(direction),   std::move(*judge),      drawn->largest};
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// As RoundingErrors::mostOf says of results.
static Expected<std::vector<double>> measureSpread(dgps::RecurrenceOp recurrence, const PreparedGradient &stage,
                                                   const JudgedGradient &drawn) {
  Expected<GradientJudge> disturbed =
      GradientJudge::create(recurrence, drawn.data, drawn.cotangents, drawn.direction, stage.rounding);
  if (!disturbed)
    return disturbed.takeError();
  std::vector<double> most = drawn.judge.spread(*disturbed);
  for (double &one : most)
    one *= 4;
  if (stage.runDisturbed) {
    Expected<Data> exact = stage.runExact(drawn.data, drawn.cotangents);
    if (!exact)
      return exact.takeError();
    Expected<Data> program = stage.runDisturbed(drawn.data, drawn.cotangents);
    if (!program)
      return program.takeError();
    for (auto [one, ofProgram] : zip_equal(most, drawn.judge.spread(*exact, *program)))
      one = std::max(one, std::min(64 * stage.rounding.operands, 2 * ofProgram));
  }
  return most;
}

Expected<Comparison> check::compareGradient(dgps::RecurrenceOp recurrence, const PreparedGradient &stage,
                                            const JudgedGradient &drawn, const Data &gradient) {
  Expected<std::vector<double>> spread = measureSpread(recurrence, stage, drawn);
  if (!spread)
    return spread.takeError();
  Comparison comparison;
  for (auto [error, most] : zip_equal(drawn.judge.judgeEach(gradient, stage.vanishing), *spread))
    comparison.add(error.along, error.error, std::max(stage.limit, std::isfinite(most) ? most : 0));
  return comparison;
}
