#include "Driver/Specification.h"
#include "Compile/Choices.h"
#include "Compile/Source.h"
#include "Driver/Reporting.h"
#include "Support/DiagnosticRenderer.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

Expected<const Stage *> driver::parseStage(StringRef option, StringRef name) {
  if (const Stage *stage = findStage(name))
    return stage;
  std::vector<StringRef> names;
  for (const Stage &stage : getStages())
    names.push_back(stage.name);
  return makeUnknownValueError(option, name, names);
}

Expected<SpecOptions> driver::parseSpecOptions(const opt::InputArgList &args) {
  SpecOptions options;
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (files.empty())
    return makeError("a file is missing: give the path of a .recur file, or '-' for stdin");
  if (files.size() > 1)
    return makeError("one file at a time: '" + files[0] + "' and '" + files[1] + "' are given");
  options.path = files[0];
  for (const std::string &list : args.getAllArgValues(OPT_dim))
    if (Error error = compile::parseDims(list, options.instantiation.dims))
      return std::move(error);
  for (const std::string &define : args.getAllArgValues(OPT_define))
    if (Error error = compile::parseDefine(define, options.instantiation.constants))
      return std::move(error);
  options.instantiation.onlyRecurrence = args.getLastArgValue(OPT_recurrence).str();
  StringRef form = args.getLastArgValue(OPT_diagnostics, "text");
  if (form != "text" && form != "json")
    return makeUnknownValueError("--diagnostics", form, {"text", "json"});
  options.jsonDiagnostics = form == "json";
  if (const opt::Arg *arg = args.getLastArg(OPT_start_from)) {
    Expected<const Stage *> stage = parseStage("--start-from", arg->getValue());
    if (!stage)
      return stage.takeError();
    if (!(*stage)->populate)
      return makeError("--start-from: nothing comes after stage '" + (*stage)->name + "'");
    options.startFrom = *stage;
    if (StringRef(options.path).ends_with(".recur"))
      return makeError("--start-from: '" + options.path +
                       "' is a .recur file, and --start-from reads .mlir that a stage "
                       "gave (--dump-stages, --emit=mlir); leave --start-from out");
    if (!options.instantiation.dims.empty() || !options.instantiation.constants.empty())
      return makeError("--start-from: the file is instantiated already; leave --dim and -D out");
  }
  return options;
}

Expected<SpecOptions> driver::parseRecurrenceOptions(const opt::InputArgList &args, StringRef verb) {
  Expected<SpecOptions> options = parseSpecOptions(args);
  if (options && options->startFrom && options->startFrom->op != dgps::RecurrenceOp::getOperationName())
    return makeError("--start-from: '" + verb + "' reads a .recur file or stage 'recurrence', not stage '" +
                     options->startFrom->name + "'");
  return options;
}

Expected<PipelineOptions> driver::parsePipelineOptions(const opt::InputArgList &args) {
  StringRef list = args.getLastArgValue(OPT_target);
  if (list.contains(','))
    return makeError("--target: one target is taken here, but '" + list + "' names several; 'build' takes several");
  return parsePipelineOptionsOfTargets(args);
}

Expected<PipelineOptions> driver::parsePipelineOptionsOfTargets(const opt::InputArgList &args) {
  auto word = [&](OptionID option) -> std::optional<StringRef> {
    const opt::Arg *arg = args.getLastArg(option);
    return arg ? std::optional<StringRef>(arg->getValue()) : std::nullopt;
  };
  Expected<Effort> effort = parseEffort(args);
  if (!effort)
    return effort.takeError();
  Expected<PipelineOptions> options =
      compile::parsePipeline({word(OPT_target), word(OPT_dtype), word(OPT_precision), word(OPT_plan), word(OPT_chunk)});
  if (!options)
    return options.takeError();
  options->effort = *effort;
  options->summaries = args.hasArg(OPT_summaries);
  options->trees = args.hasArg(OPT_trees);
  if (Error error = parseBackward(args, *options))
    return std::move(error);
  return options;
}

Error driver::parseBackward(const opt::InputArgList &args, PipelineOptions &options) {
  const opt::Arg *arg = args.getLastArg(OPT_backward, OPT_backward_of);
  options.backward = arg;
  return arg && arg->getOption().matches(OPT_backward_of) ? compile::parseGradients(arg->getValue(), options)
                                                          : Error::success();
}

Expected<Effort> driver::parseEffort(const opt::InputArgList &args) {
  StringRef name = args.getLastArgValue(OPT_effort, "full");
  if (name == "full")
    return Effort::Full;
  if (name == "quick")
    return Effort::Quick;
  return makeUnknownValueError("--effort", name, {"full", "quick"});
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

Specification::Specification(SpecOptions options) : options(std::move(options)), context(compile::makeContext()) {}

Expected<std::unique_ptr<Specification>> Specification::open(SpecOptions options) {
  std::unique_ptr<Specification> specification(new Specification(std::move(options)));
  std::string error;
  specification->source = SourceBuffer::fromFile(specification->options.path, error);
  if (!specification->source)
    return makeError(error);
  addSourceToReproducer(specification->options.startFrom ? "file.mlir" : "file.recur",
                        specification->source->getText());
  return specification;
}

Error Specification::report(Error error, const DiagnosticEngine &diagnostics) {
  if (options.jsonDiagnostics)
    renderDiagnosticsAsJSON(errs(), *source, diagnostics);
  else
    renderDiagnosticsForStream(errs(), *source, diagnostics);
  if (!error.isA<compile::SourceError>())
    return error;
  consumeError(std::move(error));
  return make_error<AlreadyReported>();
}

Expected<std::vector<frontend::RecurrenceInfo>> Specification::describe() {
  DiagnosticEngine diagnostics;
  Expected<std::vector<frontend::RecurrenceInfo>> all =
      compile::describeSource(*source, options.instantiation, diagnostics);
  if (!all && all.errorIsA<compile::SourceError>())
    return report(all.takeError(), diagnostics);
  return all;
}

Error Specification::compile(const frontend::InstantiationOptions &instantiation) {
  if (options.startFrom)
    return readModule();
  // A name that the file has not is said before anything else is.
  if (!instantiation.onlyRecurrence.empty())
    if (Error error = describe().takeError())
      return error;
  DiagnosticEngine diagnostics;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> compiled =
      compile::compileSource(*source, instantiation, *context, diagnostics, &info);
  if (compiled)
    module = std::move(*compiled);
  return report(compiled.takeError(), diagnostics);
}

Error Specification::readModule() {
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, context.get(), errs());
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(source->getText(), source->getName()), SMLoc());
  module = mlir::parseSourceFile<mlir::ModuleOp>(sources, context.get());
  if (!module)
    return make_error<AlreadyReported>();
  std::vector<StringRef> names;
  std::vector<mlir::SymbolOpInterface> ops;
  for (auto op : module->getOps<mlir::SymbolOpInterface>())
    if (op->getName().getStringRef() == options.startFrom->op) {
      ops.push_back(op);
      names.push_back(op.getName());
    }
  if (names.empty())
    return makeError("'" + source->getName() + "' holds no " + options.startFrom->op);
  StringRef only = options.instantiation.onlyRecurrence;
  if (only.empty())
    return Error::success();
  if (!is_contained(names, only))
    return compile::makeNoSuchRecurrenceError(only, names);
  for (mlir::SymbolOpInterface op : ops)
    if (op.getName() != only)
      op.erase();
  return Error::success();
}

std::vector<dgps::RecurrenceOp> Specification::getRecurrences() {
  auto recurrences = module->getOps<dgps::RecurrenceOp>();
  return {recurrences.begin(), recurrences.end()};
}
