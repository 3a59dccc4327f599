#include "Compile/BuildStages.h"
#include "Compile/Backend.h"
#include "Support/Errors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

ArrayRef<StringRef> compile::getStageForms(const Stage &stage, const Target &target) {
  static constexpr StringRef module[] = {"mlir"};
  return stage.populate ? ArrayRef<StringRef>(module) : getBackend(target).getCodeForms();
}

static std::string getSuffix(StringRef form) {
  return form == "obj" ? ".o" : form == "asm" ? ".s" : ("." + form).str();
}

static std::string printModule(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream os(text);
  module->print(os);
  os << '\n';
  return text;
}

/// `1-recurrence.mlir`: sorted by name, the files are in the order of the stages.
static std::string getDumpPath(StringRef folder, const Stage &stage, const Target &target) {
  SmallString<128> path(folder);
  sys::path::append(path, Twine(&stage - getStages().begin() + 1) + "-" + stage.name +
                              getSuffix(getStageForms(stage, target).front()));
  return path.str().str();
}

/// Why no kernel goes through the stages below `tile`; none where one does.
static std::optional<std::string> explainNoKernel(const PipelineOptions &pipeline) {
  recur_plan plan = lowersTokens(pipeline) ? RECUR_PLAN_STEP : RECUR_PLAN_CHUNK;
  return getBackend(pipeline.target).explainNoPlan(pipeline.target, plan);
}

const Stage &compile::findLowestStage(const PipelineOptions &pipeline) {
  return explainNoKernel(pipeline) ? *findStage("tile") : getStages().back();
}

/// Those of chunks and of tiles.
static bool isOfChunks(const Stage &stage) { return stage.name == "chunk" || stage.name == "tile"; }

static Error checkStages(const PipelineOptions &pipeline, const StageOutput &output) {
  for (auto [option, stage] : {std::pair("--start-from", output.from), {"--stop-after", output.to}})
    if (stage && isOfChunks(*stage) && lowersTokens(pipeline))
      return makeError(Twine(option) + ": plan 'step' has no stage '" + stage->name +
                       "': it goes from stage 'recurrence' to 'lowered'");
  if (output.to <= findStage("tile") || output.from == findStage("lowered"))
    return Error::success();
  if (std::optional<std::string> reason = explainNoKernel(pipeline))
    return makeError("--stop-after: the target has no stage '" + output.to->name + "': " + *reason);
  return Error::success();
}

/// The passes from one stage to another, where the second is below.
static Error runPasses(mlir::ModuleOp module, const Stage *from, const Stage &to, const PipelineOptions &pipeline,
                       function_ref<void(const Stage &)> after) {
  if (mlir::failed(runStages(module, from, to, pipeline, after)))
    return make_error<InternalError>("the passes down to stage '" + to.name + "' failed");
  return Error::success();
}

/// From stage `chunk` to `tile`, with the plan that a build takes for each program.
static Error runToTiles(mlir::ModuleOp module, const PipelineOptions &pipeline,
                        function_ref<void(const Stage &)> after) {
  const Stage &chunk = *findStage("chunk"), &tile = *findStage("tile");
  SmallVector<chunk::ProgramOp> programs(module.getOps<chunk::ProgramOp>());
  for (chunk::ProgramOp program : programs) {
    auto tiles = getBackend(pipeline.target).planTiles(program, pipeline);
    if (!tiles)
      return tiles.takeError();
    if (!*tiles)
      return runPasses(module, &chunk, tile, pipeline, after);
    module->setAttrs((**tiles)->getAttrDictionary());
    module.getBody()->getOperations().splice(program->getIterator(), (**tiles).getBody()->getOperations());
    program.erase();
  }
  after(tile);
  return Error::success();
}

/// The stages that there are for the plan.
static Error runOwnStages(mlir::ModuleOp module, const StageOutput &output, const PipelineOptions &pipeline,
                          function_ref<void(const Stage &)> after) {
  const Stage *recurrence = findStage("recurrence"), *chunk = findStage("chunk"), *tile = findStage("tile");
  if (lowersTokens(pipeline) && (!output.from || output.from == recurrence) && output.to != recurrence) {
    if (!output.from)
      if (Error error = runPasses(module, nullptr, *recurrence, pipeline, after))
        return error;
    return runPasses(module, tile, *output.to, pipeline, after);
  }
  const Stage *from = output.from;
  if (output.to >= tile && (!from || from <= chunk)) {
    if (from != chunk)
      if (Error error = runPasses(module, from, *chunk, pipeline, after))
        return error;
    if (Error error = runToTiles(module, pipeline, after))
      return error;
    from = tile;
  }
  return from == output.to ? Error::success() : runPasses(module, from, *output.to, pipeline, after);
}

Error compile::runStagesToFiles(mlir::ModuleOp module, const PipelineOptions &given, const StageOutput &output,
                                std::vector<OutputFile> &files) {
  if (Error error = checkStages(given, output))
    return error;
  const Stage &to = *output.to;
  const Backend &backend = getBackend(given.target);
  Expected<PipelineOptions> completed = completeFor(module, given);
  if (!completed)
    return completed.takeError();
  const PipelineOptions &pipeline = *completed;
  auto write = [&](const Stage &stage, StringRef form, std::string path) -> Error {
    Expected<std::string> content = stage.populate ? printModule(module) : backend.generateCode(module, pipeline, form);
    if (!content)
      return content.takeError();
    files.push_back({std::move(path), std::move(*content)});
    return Error::success();
  };
  Error error = Error::success();
  auto dump = [&](const Stage &stage) {
    if (!output.dumpFolder.empty() && !error)
      error = write(stage, getStageForms(stage, pipeline.target).front(),
                    getDumpPath(output.dumpFolder, stage, pipeline.target));
  };
  if (Error failed = runOwnStages(module, output, pipeline, dump)) {
    // A file that somebody else wrote may hold ops that this target has no form of.
    if (output.from) {
      consumeError(std::move(failed));
      failed = makeError("--start-from: what the file holds cannot be lowered to stage '" + to.name + "'");
    }
    return joinErrors(std::move(error), std::move(failed));
  }
  if (!to.populate)
    dump(to);
  for (const std::string &form : output.emit)
    if (!error)
      error = write(to, form, output.base == "-" ? "-" : output.base + getSuffix(form));
  return error;
}
