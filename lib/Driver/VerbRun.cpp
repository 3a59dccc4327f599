// recurc run: a recurrence on a folder of .npy files.
#include "Check/CheckStages.h"
#include "Check/GradientStages.h"
#include "Check/Starts.h"
#include "Compile/ArrayTypes.h"
#include "Compile/Choices.h"
#include "Compile/GradientPrograms.h"
#include "Compile/Starts.h"
#include "Data/ArrayFolder.h"
#include "Driver/DimInference.h"
#include "Driver/Provoke.h"
#include "Driver/Specification.h"
#include "Driver/Verbs.h"
#include "Engine/HostEngine.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Interpreter/GradientJudge.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;
using namespace recur::engine;
using namespace recur::data;

/// The type of the files that are written; kernels may have several, by name.
static Expected<DataTypes> parseOutputTypes(const opt::InputArgList &args, bool isCompiled) {
  static constexpr std::pair<StringRef, StringRef> numpyNames[] = {{"f8", "f64"}, {"f4", "f32"}, {"f2", "f16"}};
  StringRef given = args.getLastArgValue(OPT_dtype, isCompiled ? "f32" : "f64"), name = given;
  for (auto [alias, own] : numpyNames)
    if (given == alias)
      name = own;
  if (isCompiled && given.contains('='))
    return parseDataTypes(given);
  if (given.contains('='))
    return makeError("--dtype: the engine has no types by name, which are those of kernels; take --engine=host");
  std::optional<DataType> type = parseDataType(name);
  if (!type)
    return makeUnknownValueError("--dtype", given, {"f64", "f32", "f16", "bf16"});
  if (isCompiled && *type == DataType::F64)
    return makeError("--dtype: kernels have no f64; they have f32, bf16 and f16");
  return DataTypes(*type);
}

/// `kernels` for those of a target, by default the host.
static Expected<StringRef> parseEngine(const opt::InputArgList &args) {
  bool hasTarget = args.hasArg(OPT_target);
  StringRef engine = args.getLastArgValue(OPT_engine, hasTarget ? "host" : "interpreter");
  if (!is_contained({"interpreter", "chunk", "tile", "host"}, engine))
    return makeUnknownValueError("--engine", engine, {"interpreter", "chunk", "tile", "host"});
  if (hasTarget && args.hasArg(OPT_engine))
    return makeError("--target: it chooses the kernels of a target, and --engine=" + engine +
                     " chooses what runs as well; leave one of them out");
  bool isCompiled = engine == "host";
  if (args.hasArg(OPT_plan) && args.hasArg(OPT_backward, OPT_backward_of))
    return makeError("--plan: gradients have one plan; leave it out");
  if (args.hasArg(OPT_plan) && !isCompiled)
    return makeError("--plan: the engine '" + engine + "' goes " +
                     (engine == "interpreter" ? "token by token" : "chunk by chunk") +
                     "; plans are of kernels, so take --engine=host");
  return isCompiled ? StringRef("kernels") : engine;
}

/// The options of the kernels. The types are those of the files that are written, which kernels need not have.
static Expected<PipelineOptions> parseKernelOptions(const opt::InputArgList &args, const DataTypes &types) {
  auto word = [&](OptionID option) -> std::optional<StringRef> {
    const opt::Arg *arg = args.getLastArg(option);
    return arg ? std::optional<StringRef>(arg->getValue()) : std::nullopt;
  };
  Expected<PipelineOptions> options =
      compile::parsePipeline({word(OPT_target), std::nullopt, word(OPT_precision), word(OPT_plan), {}});
  if (options && !options->lowerTargets.empty())
    return makeError("--target: one target is taken here, but '" + args.getLastArgValue(OPT_target) +
                     "' names several");
  if (!options)
    return options;
  options->dataTypes = types;
  Expected<Effort> effort = parseEffort(args);
  if (!effort)
    return effort.takeError();
  options->effort = *effort;
  if (Error error = parseBackward(args, *options))
    return std::move(error);
  return options;
}

/// The only recurrence of the file, or the one that --recurrence names.
static Expected<frontend::RecurrenceInfo> chooseRecurrence(Specification &specification) {
  Expected<std::vector<frontend::RecurrenceInfo>> all = specification.describe();
  if (!all)
    return all.takeError();
  if (all->size() == 1)
    return all->front();
  std::vector<std::string> names;
  for (const frontend::RecurrenceInfo &recurrence : *all)
    names.push_back(recurrence.name);
  return makeError("the file holds " + Twine(names.size()) +
                   " recurrences; choose one with --recurrence: " + join(names, ", "));
}

/// Runs kernels, whose data have the type of the files that are written.
static Expected<data::Results> runCompiled(dgps::RecurrenceOp recurrence, const data::Data &data,
                                           const PipelineOptions &options) {
  if (Error error = data::checkData(recurrence, data))
    return std::move(error);
  Expected<std::shared_ptr<HostEngine>> engine = HostEngine::create(recurrence, options);
  if (!engine)
    return engine.takeError();
  for (const std::string &text : (*engine)->getNotes())
    note(text);
  return (*engine)->run(data);
}

/// The chunkwise form in float64.
static Expected<data::Results> runChunks(dgps::RecurrenceOp recurrence, const data::Data &data) {
  if (Error error = data::checkData(recurrence, data))
    return std::move(error);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(recurrence.getLoc());
  module->push_back(recurrence->clone());
  if (mlir::failed(runStages(*module, nullptr, *findStage("chunk"), {})))
    return make_error<InternalError>("the passes of stage 'chunk' failed");
  Expected<data::Data> completed = check::completeStarts(recurrence, data);
  if (!completed)
    return completed.takeError();
  return interpreter::interpret(*module->getOps<chunk::ProgramOp>().begin(), *completed);
}

/// The plans of a stage that is checked, for float32 data, in float64 but for constants.
template <typename Stage>
static auto prepareTile(ArrayRef<Stage> stages, StringRef name, dgps::RecurrenceOp recurrence,
                        PipelineOptions options) {
  options.dataTypes = DataType::F32;
  return find_if(stages, [&](const Stage &stage) { return stage.name == name; })->prepare(recurrence, options);
}

/// The plan of a core.
static Expected<data::Results> runTiles(dgps::RecurrenceOp recurrence, const data::Data &data,
                                        const PipelineOptions &options) {
  if (Error error = data::checkData(recurrence, data))
    return std::move(error);
  Expected<std::optional<check::PreparedStage>> plan =
      prepareTile(check::getCheckStages(), "tile", recurrence, options);
  if (!plan)
    return plan.takeError();
  return (*plan)->run(data);
}

/// The gradient's chunk program, or its plans; all initial states are given.
static Expected<data::Data> runGradientBelow(dgps::RecurrenceOp recurrence, const data::Data &data,
                                             const data::Results &cotangents, StringRef engine,
                                             const PipelineOptions &options) {
  if (engine == "tile") {
    Expected<check::PreparedGradient> plans =
        prepareTile(check::getGradientStages(), "gradient tile", recurrence, options);
    if (!plans)
      return plans.takeError();
    return plans->run(data, cotangents);
  }
  PipelineOptions chunked;
  chunked.gradients = options.gradients;
  Expected<compile::GradientPrograms> programs = compile::makeGradientPrograms(recurrence, chunked);
  if (!programs)
    return programs.takeError();
  return interpreter::interpretGradient(programs->program, programs->gradient, data, cotangents);
}

/// Computes the gradient by dual numbers, with one run for each number, by its chunk program, by its plans, or by
/// kernels.
static Expected<data::Data> runGradient(dgps::RecurrenceOp recurrence, const data::Data &data,
                                        const data::Results &cotangents, StringRef engine, PipelineOptions options) {
  if (Error error = data::checkData(recurrence, data))
    return std::move(error);
  if (Error error = compile::checkGradientNames(recurrence, options))
    return std::move(error);
  if (engine == "kernels") {
    Expected<std::shared_ptr<HostEngine>> host = HostEngine::create(recurrence, options);
    if (!host)
      return host.takeError();
    return (*host)->runGradient(data, cotangents);
  }
  // A state that starts by itself has a gradient too.
  Expected<data::Data> started = check::completeStarts(recurrence, data);
  if (!started)
    return started.takeError();
  data::Data complete = std::move(*started);
  for (dgps::StateOp state : recurrence.getStates()) {
    auto shape = getFullShape(data::Role::Initial, data.sizes, dgps::shapeOf(state));
    complete.initial.try_emplace(state.getName().str(),
                                 Array{{shape.begin(), shape.end()}, std::vector<double>(*countElements(shape))});
  }
  if (engine == "interpreter") {
    Expected<data::Data> gradient = interpreter::computeGradient(recurrence, complete, cotangents);
    if (!gradient || complete.initial.size() == data.initial.size())
      return gradient;
    // That of a param has a part that goes through what states start as.
    Expected<data::Data> ofGiven = interpreter::computeGradient(recurrence, data, cotangents);
    if (!ofGiven)
      return ofGiven.takeError();
    gradient->params = std::move(ofGiven->params);
    return gradient;
  }
  Expected<data::Data> gradient =
      runGradientBelow(recurrence, complete, cotangents, engine, compile::completeGradients(recurrence, options));
  if (!gradient)
    return gradient.takeError();
  return check::addStartGradients(recurrence, data, std::move(*gradient));
}

Expected<ExitCode> driver::runRun(const opt::InputArgList &args) {
  Expected<SpecOptions> options = parseSpecOptions(args);
  if (!options)
    return options.takeError();
  Expected<StringRef> engine = parseEngine(args);
  if (!engine)
    return engine.takeError();
  bool backward = args.hasArg(OPT_backward, OPT_backward_of);
  Expected<DataTypes> types = parseOutputTypes(args, *engine == "kernels");
  if (!types)
    return types.takeError();
  Expected<PipelineOptions> pipeline = parseKernelOptions(args, *types);
  if (!pipeline)
    return pipeline.takeError();
  for (auto [id, name] : {std::pair(OPT_in_folder, "--in"), {OPT_out_folder, "--out"}})
    if (!args.hasArg(id))
      return makeError(Twine(name) + "=DIR is missing");

  Expected<std::unique_ptr<Specification>> specification = Specification::open(*options);
  if (!specification)
    return specification.takeError();
  Expected<frontend::RecurrenceInfo> info = chooseRecurrence(**specification);
  if (!info)
    return info.takeError();
  StringRef folder = args.getLastArgValue(OPT_in_folder);
  Expected<std::vector<ArrayFile>> files =
      openFolder(folder, getArrayDeclarations(*info), backward, /*othersToo=*/info->hasImplicitStates);
  if (!files)
    return files.takeError();

  frontend::InstantiationOptions instantiation = options->instantiation;
  instantiation.onlyRecurrence = info->name;
  if (Error error = inferDims(*info, *files, instantiation.dims))
    return std::move(error);
  if (Error error = (*specification)->compile(instantiation))
    return std::move(error);
  if (Error error = provoke(args))
    return std::move(error);
  dgps::RecurrenceOp recurrence = (*specification)->getRecurrences().front();
  if (Error error = compile::checkArrayTypes(recurrence, pipeline->dataTypes))
    return std::move(error);
  if (info->hasImplicitStates)
    files = openFolder(folder, getArrayDeclarations(recurrence), backward);
  if (!files)
    return files.takeError();

  std::vector<data::Given> given;
  for (const ArrayFile &file : *files)
    given.push_back({file.role, file.name, file.path, file.shape});
  Expected<data::Sizes> sizes = data::inferSizes(recurrence, given);
  if (!sizes)
    return sizes.takeError();
  Expected<data::Data> data = readArrays(*files, *sizes);
  if (!data)
    return data.takeError();
  if (backward) {
    Expected<data::Results> cotangents = readCotangents(*files);
    if (!cotangents)
      return cotangents.takeError();
    Expected<data::Data> gradient = runGradient(recurrence, *data, *cotangents, *engine, *pipeline);
    if (!gradient)
      return gradient.takeError();
    for (data::NamedArrays *arrays : {&gradient->inputs, &gradient->params, &gradient->initial})
      std::erase_if(*arrays, [&](const auto &entry) { return !compile::wantsGradient(*pipeline, entry.first); });
    if (Error error = writeFiles(printGradient(args.getLastArgValue(OPT_out_folder), *gradient, *types)))
      return std::move(error);
    return ExitCode::Fine;
  }
  Expected<data::Results> results = *engine == "kernels" ? runCompiled(recurrence, *data, *pipeline)
                                    : *engine == "chunk" ? runChunks(recurrence, *data)
                                    : *engine == "tile"  ? runTiles(recurrence, *data, *pipeline)
                                                         : interpreter::interpret(recurrence, *data);
  if (!results)
    return results.takeError();
  if (Error error = writeFiles(printResults(args.getLastArgValue(OPT_out_folder), *results, *types)))
    return std::move(error);
  return ExitCode::Fine;
}
