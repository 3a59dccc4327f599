#include "Check/CheckStages.h"
#include "Check/EveryWay.h"
#include "Check/RoundedTypes.h"
#include "Check/Starts.h"
#include "Compile/CUDAKernelMaker.h"
#include "Compile/KernelPlans.h"
#include "Engine/HostEngine.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/TilePhases.h"
#include "Support/Errors.h"
#include "Transforms/DGPS/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace recur;
using namespace recur::check;
using namespace recur::engine;
using namespace recur::compile;

/// A module of its own that holds a copy of the recurrence.
static std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> copyAlone(dgps::RecurrenceOp recurrence) {
  auto module = std::make_shared<mlir::OwningOpRef<mlir::ModuleOp>>(mlir::ModuleOp::create(recurrence.getLoc()));
  (*module)->push_back(recurrence->clone());
  return module;
}

static std::function<Expected<data::Results>(const data::Data &)>
makeInterpreter(std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> module) {
  return [module](const data::Data &data) {
    return interpreter::interpret(*(*module)->getOps<dgps::RecurrenceOp>().begin(), data);
  };
}

/// A stage below the recurrence is given what states start as.
static PreparedStage withStarts(dgps::RecurrenceOp recurrence, PreparedStage stage) {
  if (none_of(recurrence.getStates(), [](dgps::StateOp state) { return bool(state.getStart()); }))
    return stage;
  for (auto *run : {&stage.run, &stage.runDisturbed})
    if (*run)
      *run = [recurrence, run = *run](const data::Data &data) -> Expected<data::Results> {
        Expected<data::Data> completed = completeStarts(recurrence, data);
        if (!completed)
          return completed.takeError();
        return run(*completed);
      };
  return stage;
}

/// The rewrites of dgps itself: they are right over the reals, and may round otherwise.
static Expected<std::optional<PreparedStage>> prepareCanonicalized(dgps::RecurrenceOp recurrence,
                                                                   const PipelineOptions &options) {
  auto module = copyAlone(recurrence);
  if (mlir::failed(runStages(**module, nullptr, *findStage("recurrence"), options)))
    return make_error<InternalError>("the passes of stage 'recurrence' failed");
  return PreparedStage{1e-11, makeInterpreter(module)};
}

/// The update of each delta state in the normal form that the analysis finds.
static Expected<std::optional<PreparedStage>> prepareNormalized(dgps::RecurrenceOp recurrence,
                                                                const PipelineOptions &options) {
  auto module = copyAlone(recurrence);
  mlir::PassManager passes(recurrence.getContext());
  passes.addNestedPass<dgps::RecurrenceOp>(dgps::createNormalizePass());
  if (mlir::failed(passes.run(**module)))
    return make_error<InternalError>("the pass dgps-normalize failed");
  return PreparedStage{1e-11, makeInterpreter(module)};
}

/// The chunkwise form. On small data a chunk of 16 tokens is one that has a next.
static Expected<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> convertToChunk(dgps::RecurrenceOp recurrence,
                                                                                   const PipelineOptions &options) {
  auto module = copyAlone(recurrence);
  PipelineOptions chosen = options;
  if (!chosen.chunk)
    chosen.chunk = 16;
  if (mlir::failed(runStages(**module, nullptr, *findStage("chunk"), chosen)))
    return make_error<InternalError>("the passes of stage 'chunk' failed");
  return module;
}

/// The chunkwise form, in float64.
static Expected<std::optional<PreparedStage>> prepareChunk(dgps::RecurrenceOp recurrence,
                                                           const PipelineOptions &options) {
  Expected<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> module = convertToChunk(recurrence, options);
  if (!module)
    return module.takeError();
  return withStarts(recurrence, {1e-11, [module = *module](const data::Data &data) {
                                   return interpreter::interpret(*(*module)->getOps<chunk::ProgramOp>().begin(), data);
                                 }});
}

double check::unitRoundoff(DataType type) {
  return type == DataType::BF16 ? 0x1p-9 : type == DataType::F16 ? 0x1p-12 : 0x1p-24;
}

interpreter::Rounding check::getRounding(DataType type) {
  switch (type) {
  case DataType::F32:
    return interpreter::Rounding::f32;
  case DataType::BF16:
    return interpreter::Rounding::bf16;
  case DataType::F16:
    return interpreter::Rounding::f16;
  case DataType::I32: // of inputs, which are not rounded
  case DataType::F64: // of no target
    return interpreter::Rounding::exact;
  }
  llvm_unreachable("a type of data");
}

interpreter::Rounding check::getRounding(const RoundedTypes &types) {
  return types.tf32 ? interpreter::Rounding::tf32 : getRounding(types.factors);
}

double check::getRoundedLimit(DataType type) {
  return type == DataType::F32 ? 1e-5 : type == DataType::BF16 ? 2e-2 : type == DataType::F16 ? 2.5e-3 : 1e-11;
}

double check::findVanishing(DataType type, double limit) {
  return APFloat::getSmallestNormalized(getSemantics(type)).convertToDouble() / limit;
}

double check::getLargestRounded(DataType type) { return type == DataType::F16 ? 1e3 : 1e30; }

/// The chunkwise form, rounding as the target would: float32, or products of bf16 or f16 operands with float32 sums. A
/// rounded operand is off by half a unit in the last place, and the errors of a chunk's products add up by their
/// squares.
static Expected<std::optional<PreparedStage>> prepareRounded(dgps::RecurrenceOp recurrence,
                                                             const PipelineOptions &options) {
  Expected<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> module = convertToChunk(recurrence, options);
  if (!module)
    return module.takeError();
  Expected<RoundedTypes> types = findRoundedTypes(recurrence, options);
  if (!types)
    return types.takeError();
  interpreter::ChunkOptions rounding, disturbed;
  rounding.rounding = getRounding(*types);
  disturbed.disturbance = unitRoundoff(types->factors);
  PreparedStage stage{getRoundedLimit(types->factors),
                      [module = *module, rounding](const data::Data &data) {
                        return interpreter::interpret(*(*module)->getOps<chunk::ProgramOp>().begin(), data, rounding);
                      },
                      getLargestRounded(types->tf32 ? DataType::F32 : types->factors),
                      {unitRoundoff(DataType::F32), disturbed.disturbance},
                      [module = *module, disturbed](const data::Data &data) {
                        return interpreter::interpret(*(*module)->getOps<chunk::ProgramOp>().begin(), data, disturbed);
                      }};
  stage.vanishing = findVanishing(DataType::F32, stage.limit); // what a core flushes to zero
  return withStarts(recurrence, std::move(stage));
}

/// The sequence in three segments, each summarised by itself. Only where every state has a summary.
static Expected<std::optional<PreparedStage>> prepareSegments(dgps::RecurrenceOp recurrence,
                                                              const PipelineOptions &options) {
  Expected<std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>>> converted = convertToChunk(recurrence, options);
  if (!converted)
    return converted.takeError();
  auto module = *converted;
  mlir::PassManager passes(recurrence.getContext());
  populateSummaries(passes);
  if (mlir::failed(passes.run(**module)))
    return make_error<InternalError>("the passes that summarise segments failed");
  SmallVector<chunk::ProgramOp> programs((*module)->getOps<chunk::ProgramOp>());
  if (programs.size() != 1 + programs[0].getStates().size() || programs.size() == 1)
    return std::nullopt;
  return withStarts(recurrence, {1e-11, [module, programs](const data::Data &data) {
                                   return interpreter::interpretBySegments(programs[0], ArrayRef(programs).drop_front(),
                                                                           data, 3);
                                 }});
}

/// A plan of the stage `tile`, in float64 but for constants, which it has as float32: a decay of 0.9 is off by 3e-8 in
/// each token, so the limit is that of float32.
static PreparedStage makeTileStage(dgps::RecurrenceOp recurrence,
                                   std::function<Expected<data::Results>(const data::Data &)> run) {
  return withStarts(recurrence, {1e-5, std::move(run), /*largest=*/std::numeric_limits<double>::max()});
}

/// Kernels of a GPU.
static Expected<std::optional<PreparedStage>> interpretKernels(dgps::RecurrenceOp recurrence, plan::GPUKernels made,
                                                               std::vector<interpreter::KernelArray> arrays,
                                                               const PipelineOptions &options,
                                                               const interpreter::TileOptions &how = {}) {
  auto kernels = std::make_shared<plan::GPUKernels>(std::move(made));
  if (how.segments > 1 && none_of(kernels->plan.launches, [](const tile::Launch &launch) { return launch.cuts; }))
    return std::nullopt;
  return makeTileStage(recurrence, [kernels, arrays, how, chunk = options.chunk.value_or(0)](const data::Data &data) {
    SmallVector<tile::KernelOp> all(kernels->tiles->getOps<tile::KernelOp>());
    if (kernels->phases)
      return interpreter::interpretPhases(all, *kernels->phases, arrays, chunk, data, how);
    interpreter::KeptArrays kept{chunk, {}};
    bool keepsStates = any_of(arrays, [](const interpreter::KernelArray &array) { return array.isKept; });
    return interpreter::interpret(all.front(), arrays, data, how, keepsStates ? &kept : nullptr);
  });
}

static Expected<std::optional<PreparedStage>> prepareCUDATile(dgps::RecurrenceOp recurrence,
                                                              Expected<mlir::OwningOpRef<mlir::ModuleOp>> module,
                                                              const PipelineOptions &options, plan::Form from,
                                                              const interpreter::TileOptions &how = {}) {
  if (!module)
    return module.takeError();
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  Expected<plan::GPUKernels> made = plan::Search(program, options, from).find();
  if (!made)
    return made.takeError();
  return interpretKernels(recurrence, std::move(*made), interpreter::listKernelArrays(program), options, how);
}

static Expected<std::optional<PreparedStage>> prepareCUDATile(dgps::RecurrenceOp recurrence,
                                                              const PipelineOptions &options, plan::Form from,
                                                              const interpreter::TileOptions &how = {}) {
  return prepareCUDATile(recurrence, copyTo("chunk", recurrence, options), options, from, how);
}

/// A CTA that begins within a sequence leaves out no more than this of a state, by bounds that follow from the gates
/// (tile.segment).
static constexpr double leftOutBySegments = 2 * tile::SegmentOp::little;

static Expected<std::optional<PreparedStage>> allowForSegments(Expected<std::optional<PreparedStage>> prepared) {
  if (prepared && *prepared)
    (*prepared)->leftOut = leftOutBySegments;
  return prepared;
}

/// The plan of one core or CTA as it is built for the target.
static Expected<std::optional<PreparedStage>> prepareTile(dgps::RecurrenceOp recurrence, const PipelineOptions &given) {
  auto module = copyAlone(recurrence);
  Expected<PipelineOptions> completed = completeFor(**module, given);
  if (!completed)
    return completed.takeError();
  const PipelineOptions &options = *completed;
  if (!options.target.isCPU())
    return prepareCUDATile(recurrence, options, plan::Form::AllInChain);
  if (mlir::failed(runStages(**module, nullptr, *findStage("chunk"), options)))
    return make_error<InternalError>("the passes of stage 'chunk' failed");
  auto arrays = interpreter::listKernelArrays(*(*module)->getOps<chunk::ProgramOp>().begin());
  if (mlir::failed(runStages(**module, findStage("chunk"), *findStage("tile"), options)))
    return make_error<InternalError>("the passes of stage 'tile' failed");
  return makeTileStage(recurrence, [module, arrays](const data::Data &data) {
    return interpreter::interpret(*(*module)->getOps<tile::KernelOp>().begin(), arrays, data);
  });
}

/// The same with sequences cut into segments, where a kernel can begin within one.
static Expected<std::optional<PreparedStage>> prepareTileSegments(dgps::RecurrenceOp recurrence,
                                                                  const PipelineOptions &given) {
  if (given.target.isCPU() || (given.plan != Plan::Auto && given.plan != Plan::Segment))
    return std::nullopt;
  auto module = copyAlone(recurrence);
  Expected<PipelineOptions> completed = completeFor(**module, given);
  if (!completed)
    return completed.takeError();
  interpreter::TileOptions how;
  how.segments = 3;
  return allowForSegments(prepareCUDATile(recurrence, *completed, plan::Form::AllInChain, how));
}

/// A GPU's plan as kernels are built from it, where the assembler found fault with the one that the search finds first.
/// It takes as long as a build, so that `tile` and `tile rounded`, which it would repeat otherwise, do without.
static Expected<std::optional<PreparedStage>> prepareBuilt(dgps::RecurrenceOp recurrence, const PipelineOptions &given,
                                                           const interpreter::TileOptions &how) {
  if (given.target.isCPU())
    return std::nullopt;
  auto module = copyAlone(recurrence);
  Expected<PipelineOptions> options = completeFor(**module, given);
  if (!options)
    return options.takeError();
  auto chunks = copyTo("chunk", recurrence, *options);
  if (!chunks)
    return chunks.takeError();
  auto program = *(**chunks).getOps<chunk::ProgramOp>().begin();
  Expected<BuiltPlan> built = planAsBuilt(program, (recurrence.getSymName() + "_chunk").str(), *options);
  if (!built)
    return built.takeError();
  if (!built->isAnother)
    return std::nullopt;
  return interpretKernels(recurrence, std::move(built->kernels), interpreter::listKernelArrays(program), *options, how);
}

static Expected<std::optional<PreparedStage>> prepareBuiltTile(dgps::RecurrenceOp recurrence,
                                                               const PipelineOptions &options) {
  return prepareBuilt(recurrence, options, {});
}

/// The plan that takes the place of phases where the assembler has something against them.
static Expected<std::optional<PreparedStage>> preparePlainTile(dgps::RecurrenceOp recurrence,
                                                               const PipelineOptions &options) {
  if (options.target.isCPU())
    return std::nullopt;
  return prepareCUDATile(recurrence, options, plan::Form::Plain);
}

static Expected<std::optional<PreparedStage>> prepareStepTile(dgps::RecurrenceOp recurrence,
                                                              const PipelineOptions &options) {
  if (options.target.isCPU())
    return std::nullopt; // whose step kernel has no plan of tiles
  PipelineOptions oneToken = options;
  auto module = makeStepProgram(recurrence, oneToken);
  return prepareCUDATile(recurrence, std::move(module), oneToken, plan::Form::Plain);
}

/// Kernels that this machine cannot run are compiled all the same.
static Expected<std::optional<PreparedStage>> compileOnly(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                                          const std::string &reason) {
  Listings listings;
  if (Error error = compileKernels(recurrence, options, {}, listings).takeError())
    return std::move(error);
  PreparedStage stage{0, nullptr};
  stage.whyNotRun = "the kernels for '" + options.target.name + "' were compiled and not run: " + reason;
  return stage;
}

/// What is judged as kernels on data of the types.
static Expected<std::optional<PreparedStage>>
makeKernelStage(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                std::function<Expected<data::Results>(const data::Data &)> run) {
  Expected<RoundedTypes> types = findRoundedTypes(recurrence, options);
  if (!types)
    return types.takeError();
  DataType type = types->coarsest;
  double limit = type == DataType::F32 ? 1e-5 : type == DataType::F16 ? 1e-3 : 4e-3;
  PreparedStage stage{limit,
                      std::move(run),
                      /*largest=*/types->hasF16 ? 6e4 : 1e30,
                      {unitRoundoff(DataType::F32), unitRoundoff(type)}};
  stage.vanishing = findVanishing(DataType::F32, stage.limit); // what a core flushes to zero
  stage.stored = options.dataTypes;
  // The disturbance of 16 bits is the largest error of a rounding each time; those of a kernel's operands are smaller.
  if (type != DataType::F32)
    stage.timesTokenwise = 0.95;
  return stage;
}

/// The kernels, compiled and run in this process.
static Expected<std::optional<PreparedStage>> prepareKernels(dgps::RecurrenceOp recurrence,
                                                             const PipelineOptions &options) {
  bool isHost = options.target.isCPU();
  bool keepsStates = isHost || options.plan == Plan::Step;
  PipelineOptions chosen = options;
  chosen.trees = keepsStates; // tokens are tried as trees too
  Expected<std::shared_ptr<HostEngine>> engine = HostEngine::create(recurrence, chosen);
  if (!engine)
    return engine.takeError();
  std::vector<std::string> states;
  for (dgps::StateOp state : recurrence.getStates())
    if (keepsStates)
      states.push_back(state.getName().str());
  auto run = [engine = *engine, states, types = options.dataTypes, isHost](const data::Data &data) {
    Expected<data::Results> results = isHost ? engine->run(data) : runInEveryWay(*engine, data, states, types);
    if (results && isHost)
      if (Error error = checkTried(*engine, data, states, types))
        return Expected<data::Results>(std::move(error));
    return results;
  };
  return makeKernelStage(recurrence, options, std::move(run));
}

/// Judges a plan that rounds where kernels do: how far off they are, without a GPU.
static Expected<std::optional<PreparedStage>> judgeAsKernels(dgps::RecurrenceOp recurrence,
                                                             const PipelineOptions &options,
                                                             Expected<std::optional<PreparedStage>> plan) {
  if (!plan || !*plan)
    return plan;
  return makeKernelStage(recurrence, options, std::move((*plan)->run));
}

static Expected<std::optional<PreparedStage>> prepareTileRounded(dgps::RecurrenceOp recurrence,
                                                                 const PipelineOptions &given) {
  if (given.target.isCPU())
    return std::nullopt;
  interpreter::TileOptions how;
  how.rounds = true;
  auto module = copyAlone(recurrence);
  Expected<PipelineOptions> completed = completeFor(**module, given);
  if (!completed)
    return completed.takeError();
  return judgeAsKernels(recurrence, given, prepareCUDATile(recurrence, *completed, plan::Form::AllInChain, how));
}

static Expected<std::optional<PreparedStage>> prepareBuiltRounded(dgps::RecurrenceOp recurrence,
                                                                  const PipelineOptions &given) {
  interpreter::TileOptions how;
  how.rounds = true;
  return judgeAsKernels(recurrence, given, prepareBuilt(recurrence, given, how));
}

/// The first of these plans that the recurrence has kernels of, where nothing else is asked for.
static Expected<std::optional<PipelineOptions>> forcePlan(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                                          ArrayRef<Plan> candidates) {
  if (options.plan != Plan::Auto)
    return std::nullopt;
  Expected<std::vector<KernelPlan>> plans = listKernelPlans(recurrence, options);
  if (!plans)
    return plans.takeError();
  for (Plan candidate : candidates)
    if (any_of(*plans,
               [&](const KernelPlan &plan) { return plan.plan == getRuntimePlan(candidate) && plan.isAvailable(); })) {
      PipelineOptions forced = options;
      forced.plan = candidate;
      return forced;
    }
  return std::nullopt;
}

static constexpr Plan mainPlans[] = {Plan::Chunk, Plan::Scan, Plan::TokenLoop};

static Expected<std::optional<PreparedStage>>
prepareHostPlan(dgps::RecurrenceOp recurrence, const PipelineOptions &options, ArrayRef<Plan> candidates) {
  if (!options.target.isCPU())
    return std::nullopt;
  Expected<std::optional<PipelineOptions>> forced = forcePlan(recurrence, options, candidates);
  if (!forced)
    return forced.takeError();
  return *forced ? prepareKernels(recurrence, **forced) : std::nullopt;
}

static Expected<std::optional<PreparedStage>> prepareHost(dgps::RecurrenceOp recurrence,
                                                          const PipelineOptions &options) {
  return options.target.isCPU() ? prepareKernels(recurrence, options) : std::nullopt;
}

static Expected<std::optional<PreparedStage>> prepareDevice(dgps::RecurrenceOp recurrence,
                                                            const PipelineOptions &options) {
  if (options.target.isCPU())
    return std::nullopt;
  if (std::optional<std::string> reason = explainNoDevice(options.target))
    return compileOnly(recurrence, options, *reason);
  auto kernels = prepareKernels(recurrence, options);
  bool mayBeCut = options.plan == Plan::Auto || options.plan == Plan::Segment;
  return mayBeCut ? allowForSegments(std::move(kernels)) : std::move(kernels);
}

static Expected<std::optional<PreparedStage>>
prepareDevicePlan(dgps::RecurrenceOp recurrence, const PipelineOptions &options, ArrayRef<Plan> candidates) {
  if (options.target.isCPU() || explainNoDevice(options.target))
    return std::nullopt;
  Expected<std::optional<PipelineOptions>> forced = forcePlan(recurrence, options, candidates);
  if (!forced)
    return forced.takeError();
  if (!*forced)
    return std::nullopt;
  Expected<std::optional<PreparedStage>> kernels = prepareKernels(recurrence, **forced);
  if (kernels || !kernels.errorIsA<RefusedPlanError>())
    return kernels;
  PreparedStage refused{0, nullptr}; // what nobody asked for, as far as it got
  refused.whyNotRun = toString(kernels.takeError());
  return refused;
}

/// Sequences that are never cut.
static Expected<std::optional<PreparedStage>> prepareDeviceChunks(dgps::RecurrenceOp recurrence,
                                                                  const PipelineOptions &options) {
  return prepareDevicePlan(recurrence, options, mainPlans);
}

/// Sequences cut into segments.
static Expected<std::optional<PreparedStage>> prepareDeviceSegments(dgps::RecurrenceOp recurrence,
                                                                    const PipelineOptions &options) {
  return allowForSegments(prepareDevicePlan(recurrence, options, Plan::Segment));
}

/// The kernel of one token for all of them, where nothing else is asked for.
static Expected<std::optional<PreparedStage>> prepareDeviceStep(dgps::RecurrenceOp recurrence,
                                                                const PipelineOptions &options) {
  PipelineOptions forced = options;
  forced.plan = Plan::Step;
  return options.plan == Plan::Auto ? prepareDevice(recurrence, forced) : std::nullopt;
}

static Expected<std::optional<PreparedStage>> prepareHostStep(dgps::RecurrenceOp recurrence,
                                                              const PipelineOptions &options) {
  return prepareHostPlan(recurrence, options, Plan::Step);
}

static Expected<std::optional<PreparedStage>> prepareHostChunks(dgps::RecurrenceOp recurrence,
                                                                const PipelineOptions &options) {
  return prepareHostPlan(recurrence, options, mainPlans);
}

static Expected<std::optional<PreparedStage>> prepareHostSegments(dgps::RecurrenceOp recurrence,
                                                                  const PipelineOptions &options) {
  return prepareHostPlan(recurrence, options, Plan::Segment);
}

static constexpr CheckStage stages[] = {
    {"canonicalized", prepareCanonicalized},
    {"normalized", prepareNormalized},
    {"chunk", prepareChunk},
    {"chunk rounded", prepareRounded},
    {"segments", prepareSegments},
    {"tile", prepareTile},
    {"tile plain", preparePlainTile}, // of a GPU, as the next
    {"tile step", prepareStepTile},
    {"tile segments", prepareTileSegments},
    {"tile built", prepareBuiltTile, /*needsTarget=*/true},
    {"tile rounded", prepareTileRounded, /*needsTarget=*/true},
    {"tile built rounded", prepareBuiltRounded, /*needsTarget=*/true},
    {"kernels", prepareDevice, /*needsTarget=*/true}, // of a GPU, as the next
    {"kernels step", prepareDeviceStep, /*needsTarget=*/true},
    {"kernels chunks", prepareDeviceChunks, /*needsTarget=*/true}, // chunk, scan or token-loop
    {"kernels segments", prepareDeviceSegments, /*needsTarget=*/true},
    {"host", prepareHost, /*needsTarget=*/true},
    {"host step", prepareHostStep, /*needsTarget=*/true},
    {"host chunks", prepareHostChunks, /*needsTarget=*/true},
    {"host segments", prepareHostSegments, /*needsTarget=*/true},
};

ArrayRef<CheckStage> check::getCheckStages() { return stages; }
