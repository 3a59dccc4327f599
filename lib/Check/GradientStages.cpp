#include "Check/GradientStages.h"
#include "Check/EveryWay.h"
#include "Check/RoundedTypes.h"
#include "Check/Starts.h"
#include "Compile/Backend.h"
#include "Compile/CUDAKernel.h"
#include "Compile/GradientPrograms.h"
#include "Compile/Kernels.h"
#include "Compile/SegmentPrograms.h"
#include "Compile/Starts.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/TilePhases.h"
#include "Support/Errors.h"
#include "Transforms/Chunk/StatePath.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::interpreter;
using namespace recur::data;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// The gradient's chunk program. On small data a chunk of 16 tokens is one that has a next.
static Expected<std::shared_ptr<compile::GradientPrograms>> makePrograms(dgps::RecurrenceOp recurrence,
                                                                         const PipelineOptions &options) {
  PipelineOptions chosen = compile::completeGradients(recurrence, options);
  if (!chosen.chunk)
    chosen.chunk = 16;
  Expected<compile::GradientPrograms> made = compile::makeGradientPrograms(recurrence, chosen);
  if (!made)
    return made.takeError();
  return std::make_shared<compile::GradientPrograms>(std::move(*made));
}

/// What is below the recurrence knows nothing of what states start as.
static PreparedGradient::Run withStarts(dgps::RecurrenceOp recurrence, PreparedGradient::Run run) {
  if (none_of(recurrence.getStates(), [](dgps::StateOp state) { return bool(state.getStart()); }))
    return run;
  return [recurrence, run](const Data &data, const Results &cotangents) -> Expected<Data> {
    Expected<Data> completed = completeStarts(recurrence, data);
    if (!completed)
      return completed.takeError();
    Expected<Data> gradient = run(*completed, cotangents);
    if (!gradient)
      return gradient.takeError();
    return addStartGradients(recurrence, data, std::move(*gradient));
  };
}

static PreparedGradient::Run runWith(dgps::RecurrenceOp recurrence, std::shared_ptr<compile::GradientPrograms> programs,
                                     Rounding rounding, double disturbance = 0) {
  ChunkOptions options;
  options.rounding = rounding;
  options.disturbance = disturbance;
  return withStarts(recurrence, [programs, options](const Data &data, const Results &cotangents) {
    return interpretGradient(programs->program, programs->gradient, data, cotangents, options);
  });
}

static Expected<PreparedGradient> prepareExactChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<std::shared_ptr<compile::GradientPrograms>> programs = makePrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  return PreparedGradient{1e-9, runWith(recurrence, *programs, Rounding::exact)};
}

/// Rounds as the target would, forward and backward.
static Expected<PreparedGradient> prepareRoundedChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<std::shared_ptr<compile::GradientPrograms>> programs = makePrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  Expected<RoundedTypes> types = findRoundedTypes(recurrence, options);
  if (!types)
    return types.takeError();
  DataType type = types->factors;
  return PreparedGradient{getRoundedLimit(type),
                          runWith(recurrence, *programs, getRounding(*types)),
                          getLargestRounded(types->tf32 ? DataType::F32 : type),
                          findVanishing(types->tf32 ? DataType::F32 : type, getRoundedLimit(type)),
                          {unitRoundoff(DataType::F32), unitRoundoff(type)},
                          runWith(recurrence, *programs, Rounding::exact),
                          runWith(recurrence, *programs, Rounding::exact, unitRoundoff(type))};
}

/// The sequence in three segments, each gone over by itself; in two where some state has no summary.
static Expected<PreparedGradient> prepareSegments(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<std::shared_ptr<compile::GradientPrograms>> made = makePrograms(recurrence, options);
  if (!made)
    return made.takeError();
  struct Programs {
    std::shared_ptr<compile::GradientPrograms> gradient;
    compile::SegmentPrograms segments;
    chunk::ProgramOp chain;
    SmallVector<chunk::ProgramOp> summaries;
  };
  auto programs = std::make_shared<Programs>();
  programs->gradient = std::move(*made);
  Expected<chunk::ProgramOp> chain = compile::makeChainProgram(*programs->gradient);
  if (!chain)
    return chain.takeError();
  programs->chain = *chain ? *chain : programs->gradient->gradient;
  chunk::ProgramOp program = programs->gradient->program;
  if (!program.getStates().empty() && !chunk::findObstacle(program)) {
    Expected<compile::SegmentPrograms> segments = compile::makeSegmentPrograms(program);
    if (!segments)
      return segments.takeError();
    programs->segments = std::move(*segments);
    for (const compile::SegmentProgram &state : programs->segments.states)
      programs->summaries.push_back(state.summary);
  }
  return PreparedGradient{1e-9, withStarts(recurrence, [programs](const Data &data, const Results &cotangents) {
                            return interpretGradientBySegments({programs->gradient->program,
                                                                programs->gradient->gradient, programs->chain,
                                                                programs->summaries},
                                                               data, cotangents, programs->summaries.empty() ? 2 : 3);
                          })};
}

/// The kernels of a core, named after their programs.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>> planCores(const compile::GradientPrograms &programs,
                                                             const PipelineOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::ModuleOp(*programs.module).getLoc());
  for (chunk::ProgramOp program : {programs.states, programs.gradient})
    module->push_back(program->clone());
  if (mlir::failed(runStages(*module, findStage("chunk"), *findStage("tile"), options)))
    return make_error<InternalError>("the passes of stage 'tile' failed");
  return std::move(module);
}

namespace {
/// The plans of what leaves the states, and of the gradient.
struct GradientPlans {
  compile::GradientPrograms programs;
  mlir::OwningOpRef<mlir::ModuleOp> cores; // with the kernels, of a processor
  plan::GPUKernels ofStates, ofGradient;   // of a GPU
  InterpretedPlan states, gradient;
};
} // namespace

/// The plan of a GPU that the program gets in this form.
static Error planLaunches(chunk::ProgramOp program, const PipelineOptions &options, plan::Form from,
                          plan::GPUKernels &kernels, InterpretedPlan &plan) {
  Expected<plan::GPUKernels> made = plan::Search(program, options, from).find();
  if (!made)
    return made.takeError();
  kernels = std::move(*made);
  plan.kernels = llvm::to_vector(kernels.tiles->getOps<tile::KernelOp>());
  plan.phases = kernels.phases;
  return Error::success();
}

/// The plans as they are built for the target, in float64 but for constants unless `how` says something else.
static Expected<PreparedGradient> prepareTile(dgps::RecurrenceOp recurrence, const PipelineOptions &given,
                                              plan::Form from, const TileOptions &how) {
  Expected<PipelineOptions> options =
      given.target.isCPU() ? given : compile::getBackend(given.target).completeGradient(recurrence, given);
  if (!options)
    return options.takeError();
  Expected<compile::GradientPrograms> made =
      compile::makeKernelGradients(recurrence, compile::completeGradients(recurrence, *options));
  if (!made)
    return made.takeError();
  auto plans = std::make_shared<GradientPlans>();
  plans->programs = std::move(*made);
  plans->states.arrays = listKernelArrays(plans->programs.states);
  plans->gradient.arrays = listKernelArrays(plans->programs.gradient);
  if (options->target.isCPU()) {
    auto cores = planCores(plans->programs, *options);
    if (!cores)
      return cores.takeError();
    plans->cores = std::move(*cores);
    for (auto kernel : plans->cores->getOps<tile::KernelOp>())
      (kernel.getSymName() == plans->programs.gradient.getSymName() ? plans->gradient : plans->states)
          .kernels.push_back(kernel);
  } else {
    for (auto [program, kernels, plan] : {std::tuple(plans->programs.states, &plans->ofStates, &plans->states),
                                          std::tuple(plans->programs.gradient, &plans->ofGradient, &plans->gradient)})
      if (Error error = planLaunches(program, *options, from, *kernels, *plan))
        return std::move(error);
  }
  return PreparedGradient{getRoundedLimit(DataType::F32),
                          withStarts(recurrence,
                                     [plans, how](const Data &data, const Results &cotangents) {
                                       return interpretGradient(plans->programs.program, plans->states, plans->gradient,
                                                                data, cotangents, how);
                                     }),
                          /*largest=*/std::numeric_limits<double>::max()};
}

static Expected<PreparedGradient> prepareTile(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  return prepareTile(recurrence, options, plan::Form::AllInChain, {});
}

/// One CTA for each head of each sequence, which takes the place of phases where a program has none, or where the
/// assembler has something against them.
static Expected<PreparedGradient> preparePlainTile(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  return prepareTile(recurrence, options, plan::Form::Plain, {});
}

/// What is judged as kernels on data of the types.
static Expected<PreparedGradient> makeKernelStage(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                                  PreparedGradient::Run run,
                                                  std::shared_ptr<engine::HostEngine> engine = nullptr) {
  Expected<std::shared_ptr<compile::GradientPrograms>> programs = makePrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  Expected<RoundedTypes> types = findRoundedTypes(recurrence, options, /*backward=*/true);
  if (!types)
    return types.takeError();
  DataType type = types->coarsest;
  return PreparedGradient{getRoundedLimit(type),
                          std::move(run),
                          getLargestRounded(types->hasF16 ? DataType::F16 : type),
                          std::max(findVanishing(type, getRoundedLimit(type)),
                                   types->hasF16 ? findVanishing(DataType::F16, getRoundedLimit(DataType::F16)) : 0),
                          {unitRoundoff(DataType::F32), unitRoundoff(type)},
                          runWith(recurrence, *programs, Rounding::exact),
                          runWith(recurrence, *programs, Rounding::exact, unitRoundoff(type)),
                          std::move(engine)};
}

/// The same in phases with sequences cut into segments, where a kernel can begin within one.
static Expected<PreparedGradient> prepareTileSegments(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  TileOptions how;
  how.segments = 3;
  return prepareTile(recurrence, options, plan::Form::AllInChain, how);
}

/// A GPU's kernels as their plans say, op by op, rounding where they do: how far off they are, without a GPU.
static Expected<PreparedGradient> prepareTileRounded(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  TileOptions how;
  how.rounds = true;
  Expected<PreparedGradient> plans = prepareTile(recurrence, options, plan::Form::AllInChain, how);
  if (!plans)
    return plans;
  return makeKernelStage(recurrence, options, std::move(plans->run));
}

/// The kernels, compiled and run in this process.
static Expected<PreparedGradient> prepareEngine(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                                Plan plan, int32_t callPlan) {
  PipelineOptions chosen = options;
  chosen.backward = true;
  chosen.plan = plan;
  Expected<std::shared_ptr<engine::HostEngine>> made = engine::HostEngine::create(recurrence, chosen);
  if (!made)
    return made.takeError();
  engine::HostCall how;
  how.gradientPlan = callPlan;
  return makeKernelStage(
      recurrence, options,
      [engine = *made, how](const Data &data, const Results &cotangents) {
        return engine->runGradient(data, cotangents, how);
      },
      *made);
}

/// With the plan `step` of the kernels forward, which are not looked at here: they are the fewest.
static Expected<PreparedGradient> prepareHost(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  return prepareEngine(recurrence, options, Plan::Step, RECUR_PLAN_CHUNK);
}

static Expected<PreparedGradient> prepareHostSegments(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  return prepareEngine(recurrence, options, Plan::Auto, RECUR_PLAN_SEGMENT);
}

/// A GPU's kernels. Those that this machine cannot run are compiled all the same.
static Expected<PreparedGradient> prepareDevice(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  std::optional<std::string> reason = engine::explainNoDevice(options.target);
  if (!reason) {
    Expected<PreparedGradient> stage = prepareEngine(recurrence, options, Plan::Auto, RECUR_PLAN_AUTO);
    if (!stage)
      return stage;
    stage->run = [engine = stage->engine](const Data &data, const Results &cotangents) {
      return runGradientInEveryWay(*engine, data, cotangents);
    };
    if (stage->engine->canHandOver())
      stage->runHanded = [engine = stage->engine](const Data &data, const Results &cotangents) {
        return runGradientHanded(*engine, data, cotangents);
      };
    return stage;
  }
  PipelineOptions chosen = options;
  chosen.backward = true;
  compile::Listings listings;
  if (Error error = compile::compileKernels(recurrence, chosen, {}, listings).takeError())
    return std::move(error);
  PreparedGradient stage{0, nullptr};
  stage.whyNotRun =
      "the kernels of the gradient for '" + options.target.name + "' were compiled and not run: " + *reason;
  return stage;
}

static constexpr GradientStage stages[] = {
    {"chunk gradient", prepareExactChunk},
    {"gradient rounded", prepareRoundedChunk},
    {"gradient segments", prepareSegments},
    {"gradient tile", prepareTile},
    {"gradient tile plain", preparePlainTile, /*needsTarget=*/false, GradientStage::GPU},
    {"gradient tile segments", prepareTileSegments, /*needsTarget=*/false, GradientStage::GPU},
    {"gradient tile rounded", prepareTileRounded, /*needsTarget=*/true, GradientStage::GPU},
    {"gradient host", prepareHost, /*needsTarget=*/true, GradientStage::Processor},
    {"gradient host segments", prepareHostSegments, /*needsTarget=*/true, GradientStage::Processor},
    {"gradient device", prepareDevice, /*needsTarget=*/true, GradientStage::GPU},
};

ArrayRef<GradientStage> check::getGradientStages() { return stages; }

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

data::Difficulty check::getHardDifficulty() {
  data::Difficulty hard;
  hard.steepestGate = 20;
  hard.largestGain = 2;
  hard.correlation = 0.9;
  return hard;
}

/// Judges the gradient on data whose results are known.
static Expected<JudgedGradient> judge(dgps::RecurrenceOp recurrence, Data data, Results want, uint64_t seed,
                                      std::optional<DataTypes> types, ArrayRef<std::string> along) {
  data::Random random(seed ^ 0x5bd1e995);
  auto redraw = [&](std::initializer_list<NamedArrays *> all) {
    for (NamedArrays *arrays : all)
      for (auto &[name, array] : *arrays)
        for (double &value : array.values)
          value = random.normal();
  };
  Results cotangents = want;
  redraw({&cotangents.outputs, &cotangents.final});
  for (auto &[name, array] : cotangents.outputs)
    for (double &value : array.values)
      value = types ? roundTo(value, types->of(name)) : value;
  for (auto &[name, array] : cotangents.final)
    for (double &value : array.values)
      value = types ? roundTo(value, types->of(name, /*isState=*/true)) : value;
  Data direction = data;
  redraw({&direction.inputs, &direction.params, &direction.initial});
  for (NamedArrays *arrays : {&direction.inputs, &direction.params, &direction.initial})
    std::erase_if(*arrays, [&](const auto &entry) { return !along.empty() && !is_contained(along, entry.first); });
  Expected<GradientJudge> made = GradientJudge::create(recurrence, data, cotangents, direction);
  if (!made)
    return made.takeError();
  double largest = findLargest(want);
  return JudgedGradient{std::move(data),      std::move(want),  std::move(cotangents),
                        std::move(direction), std::move(*made), largest};
}

Expected<JudgedGradient> check::judgeGradient(dgps::RecurrenceOp recurrence, Data data, uint64_t seed,
                                              std::optional<DataTypes> types) {
  Expected<Results> want = interpret(recurrence, data);
  if (!want)
    return want.takeError();
  return judge(recurrence, std::move(data), std::move(*want), seed, std::move(types), {});
}

Expected<JudgedGradient> check::makeJudgedGradient(dgps::RecurrenceOp recurrence, const Sizes &sizes, uint64_t seed,
                                                   const data::Difficulty &difficulty, std::optional<DataTypes> types,
                                                   ArrayRef<std::string> along) {
  Tameness wanted;
  wanted.types = types;
  Expected<JudgedData> drawn = makeJudgedData(recurrence, sizes, seed, wanted, difficulty);
  if (!drawn)
    return drawn.takeError();
  return judge(recurrence, std::move(drawn->data), std::move(drawn->want), seed, std::move(types), along);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

/// How far a derivative along each direction may be off; RoundingErrors::mostOf says the same of results.
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
