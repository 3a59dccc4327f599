#include "Compile/BuildStages.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Compile/HostKernels.h"
#include "Support/Errors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LLVMContext.h"
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
  return explainNoVectorKernels(pipeline.target) ? *findStage("tile") : getStages().back();
}

/// An error where the stages below the plans, which are of a processor, do not exist for the target.
static Error checkHasStage(const Target &target, const Stage &stage) {
  if (Error error = checkIsProcessor(target))
    return error;
  if (std::optional<std::string> reason = explainNoVectorKernels(target))
    return makeError("--stop-after: the target has no stage '" + stage.name + "': " + *reason);
  return Error::success();
}

static Expected<std::string> generateCode(mlir::ModuleOp lowered, const Target &target, StringRef form) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = translateToLLVMIR(lowered, context);
  if (!module)
    return module.takeError();
  if (Error error = codegen::optimize(**module, target, codegen::Vectors::Chosen))
    return std::move(error);
  return codegen::emitCode(**module, target, form == "obj" ? codegen::CodeForm::Object : codegen::CodeForm::Assembly);
}

Error compile::runStagesToFiles(mlir::ModuleOp module, const PipelineOptions &pipeline, const StageOutput &output,
                                std::vector<OutputFile> &files) {
  const Stage &to = *output.to;
  if (&to > findStage("tile"))
    if (Error error = checkHasStage(pipeline.target, to))
      return error;
  auto write = [&](const Stage &stage, StringRef form, std::string path) -> Error {
    Expected<std::string> content = stage.populate ? printModule(module) : generateCode(module, pipeline.target, form);
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
