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

const Stage &compile::findLowestStage(const PipelineOptions &pipeline) {
  bool hasPrograms = !getBackend(pipeline.target).explainNoPlan(pipeline.target, RECUR_PLAN_CHUNK);
  return hasPrograms ? getStages().back() : *findStage("tile");
}

Error compile::runStagesToFiles(mlir::ModuleOp module, const PipelineOptions &given, const StageOutput &output,
                                std::vector<OutputFile> &files) {
  const Stage &to = *output.to;
  const Backend &backend = getBackend(given.target);
  if (&to > findStage("tile"))
    if (std::optional<std::string> reason = backend.explainNoPlan(given.target, RECUR_PLAN_CHUNK))
      return makeError("--stop-after: the target has no stage '" + to.name + "': " + *reason);
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
  if (mlir::failed(runStages(module, output.from, to, pipeline, dump))) {
    // A file that somebody else wrote may hold ops that this target has no form of.
    Error failed = output.from ? makeError("--start-from: the file has no form at stage '" + to.name + "'")
                               : make_error<InternalError>("the passes down to stage '" + to.name + "' failed");
    return joinErrors(std::move(error), std::move(failed));
  }
  if (!to.populate)
    dump(to);
  for (const std::string &form : output.emit)
    if (!error)
      error = write(to, form, output.base == "-" ? "-" : output.base + getSuffix(form));
  return error;
}
