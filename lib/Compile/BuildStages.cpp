#include "Compile/BuildStages.h"
#include "Compile/Backend.h"
#include "Support/Errors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

ArrayRef<StringRef> compile::getStageForms(const Stage &stage) {
  static constexpr StringRef module[] = {"mlir"}, code[] = {"obj", "asm"};
  return stage.populate ? ArrayRef<StringRef>(module) : ArrayRef<StringRef>(code);
}

static StringRef getSuffix(StringRef form) { return form == "mlir" ? ".mlir" : form == "obj" ? ".o" : ".s"; }

static std::string printModule(mlir::ModuleOp module) {
  std::string text;
  raw_string_ostream os(text);
  module->print(os);
  os << '\n';
  return text;
}

/// `1-recurrence.mlir`: sorted by name, the files are in the order of the stages.
static std::string getDumpPath(StringRef folder, const Stage &stage) {
  SmallString<128> path(folder);
  sys::path::append(path, Twine(&stage - getStages().begin() + 1) + "-" + stage.name +
                              getSuffix(getStageForms(stage).front()));
  return path.str().str();
}

const Stage &compile::findLowestStage(const PipelineOptions &pipeline) {
  Expected<const Backend *> backend = findBackend(pipeline.target);
  if (backend && !(*backend)->explainNoPrograms(pipeline.target))
    return getStages().back();
  consumeError(backend.takeError());
  return *findStage("tile");
}

/// The backend of a target that has the stage, which is below the plans.
static Expected<const Backend *> findStageBackend(const Target &target, const Stage &stage) {
  Expected<const Backend *> backend = findBackend(target);
  if (backend)
    if (std::optional<std::string> reason = (*backend)->explainNoPrograms(target))
      return makeError("--stop-after: the target has no stage '" + stage.name + "': " + *reason);
  return backend;
}

Error compile::runStagesToFiles(mlir::ModuleOp module, const PipelineOptions &pipeline, const StageOutput &output,
                                std::vector<OutputFile> &files) {
  const Stage &to = *output.to;
  const Backend *backend = nullptr;
  if (&to > findStage("tile")) {
    Expected<const Backend *> found = findStageBackend(pipeline.target, to);
    if (!found)
      return found.takeError();
    backend = *found;
  }
  auto write = [&](const Stage &stage, StringRef form, std::string path) -> Error {
    Expected<std::string> content =
        stage.populate ? printModule(module) : backend->generateCode(module, pipeline, form);
    if (!content)
      return content.takeError();
    files.push_back({std::move(path), std::move(*content)});
    return Error::success();
  };
  Error error = Error::success();
  auto dump = [&](const Stage &stage) {
    if (!output.dumpFolder.empty() && !error)
      error = write(stage, getStageForms(stage).front(), getDumpPath(output.dumpFolder, stage));
  };
  if (mlir::failed(runStages(module, output.from, to, pipeline, dump))) {
    // What somebody else wrote may say what this target has no form of.
    Error failed = output.from ? makeError("--start-from: the file has no form at stage '" + to.name + "'")
                               : make_error<InternalError>("the passes down to stage '" + to.name + "' failed");
    return joinErrors(std::move(error), std::move(failed));
  }
  if (!to.populate)
    dump(to);
  for (const std::string &form : output.emit)
    if (!error)
      error = write(to, form, output.base == "-" ? "-" : (output.base + getSuffix(form)).str());
  return error;
}
