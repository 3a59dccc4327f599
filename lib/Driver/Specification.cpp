#include "Driver/Specification.h"
#include "Driver/Reporting.h"
#include "Pipelines/Registration.h"
#include "Support/DiagnosticRenderer.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static bool isName(StringRef text) {
  return !text.empty() && !isDigit(text.front()) && all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

static Error parseDims(StringRef list, std::map<std::string, int64_t> &dims) {
  for (StringRef item : split(list, ',')) {
    auto [name, size] = item.split('=');
    int64_t value;
    if (!isName(name) || size.empty())
      return makeError("--dim: '" + item + "' is not of the form NAME=SIZE, such as K=128");
    if (size.getAsInteger(10, value))
      return makeError("--dim: '" + size + "' is not a whole number that dim '" + name + "' could be");
    auto [entry, isNew] = dims.insert({name.str(), value});
    if (!isNew && entry->second != value)
      return makeError("--dim: dim '" + name + "' is given as " + Twine(entry->second) + " and as " + Twine(value));
  }
  return Error::success();
}

static Error parseDefine(StringRef text, std::map<std::string, double> &constants) {
  auto [name, number] = text.split('=');
  double value;
  if (!isName(name) || number.empty() || number.getAsDouble(value))
    return makeError("-D: '" + text + "' is not of the form NAME=NUMBER, such as x=1.25");
  if (!constants.insert({name.str(), value}).second)
    return makeError("-D: const '" + name + "' is given twice");
  return Error::success();
}

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
    if (Error error = parseDims(list, options.instantiation.dims))
      return std::move(error);
  for (const std::string &define : args.getAllArgValues(OPT_define))
    if (Error error = parseDefine(define, options.instantiation.constants))
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

template <typename T>
static Expected<T> parseChoice(const opt::InputArgList &args, OptionID id, StringRef option, T otherwise,
                               ArrayRef<std::pair<StringRef, T>> choices) {
  const opt::Arg *arg = args.getLastArg(id);
  if (!arg)
    return otherwise;
  std::vector<StringRef> known;
  for (const auto &[name, value] : choices) {
    if (name == arg->getValue())
      return value;
    known.push_back(name);
  }
  return makeUnknownValueError(option, arg->getValue(), known);
}

Expected<Plan> driver::parsePlan(const opt::InputArgList &args) {
  return parseChoice<Plan>(args, OPT_plan, "--plan", Plan::Auto,
                           {{"auto", Plan::Auto},
                            {"step", Plan::Step},
                            {"chunk", Plan::Chunk},
                            {"segment", Plan::Segment},
                            {"scan", Plan::Scan},
                            {"token-loop", Plan::TokenLoop}});
}

/// The targets of a comma list, those that ask for most first.
static Expected<std::vector<Target>> parseTargets(StringRef list) {
  std::vector<Target> found;
  for (StringRef name : split(list, ',')) {
    std::optional<Target> target = findTarget(name);
    if (!target)
      return makeUnknownValueError("--target", name, getTargetNames());
    if (is_contained(map_range(found, [](const Target &other) { return StringRef(other.name); }), name))
      return makeError("--target: '" + name + "' is given twice");
    if (!target->isCPU() && list.contains(','))
      return makeError("--target: several targets are processors of one kind, among which a program chooses when it "
                       "runs; give '" +
                       name + "' by itself");
    found.push_back(std::move(*target));
  }
  llvm::sort(found, [](const Target &a, const Target &b) {
    return a.features.size() != b.features.size() ? a.features.size() > b.features.size() : a.name < b.name;
  });
  return found;
}

Expected<PipelineOptions> driver::parsePipelineOptions(const opt::InputArgList &args) {
  StringRef list = args.getLastArgValue(OPT_target, "host");
  if (list.contains(','))
    return makeError("--target: one target is taken here, but '" + list + "' names several; 'build' takes several");
  return parsePipelineOptionsOfTargets(args);
}

Expected<PipelineOptions> driver::parsePipelineOptionsOfTargets(const opt::InputArgList &args) {
  PipelineOptions options;
  Expected<std::vector<Target>> targets = parseTargets(args.getLastArgValue(OPT_target, "host"));
  if (!targets)
    return targets.takeError();
  options.target = targets->front();
  options.lowerTargets.assign(targets->begin() + 1, targets->end());
  Expected<DataType> dataType =
      parseChoice<DataType>(args, OPT_dtype, "--dtype", options.dataType,
                            {{"f32", DataType::F32}, {"bf16", DataType::BF16}, {"f16", DataType::F16}});
  if (!dataType)
    return dataType.takeError();
  Expected<Plan> plan = parsePlan(args);
  if (!plan)
    return plan.takeError();
  Expected<int64_t> chunk =
      parseChoice<int64_t>(args, OPT_chunk, "--chunk", 0, {{"16", 16}, {"32", 32}, {"64", 64}, {"128", 128}});
  if (!chunk)
    return chunk.takeError();
  options.dataType = *dataType;
  options.plan = *plan;
  if (*chunk)
    options.chunk = *chunk;
  return options;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Specification::Specification(SpecOptions options)
    : options(std::move(options)), context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
  context.loadDialect<dgps::DGPSDialect>();
}

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

Error Specification::reportDiagnostics(const DiagnosticEngine &diagnostics) {
  if (options.jsonDiagnostics)
    renderDiagnosticsAsJSON(errs(), *source, diagnostics);
  else
    renderDiagnosticsForStream(errs(), *source, diagnostics);
  return diagnostics.hasErrors() ? make_error<AlreadyReported>() : Error::success();
}

static Error makeNoSuchRecurrenceError(StringRef name, ArrayRef<StringRef> known) {
  StringRef nearest = findNearest(name, known);
  if (!nearest.empty())
    return makeError("--recurrence: the file has no recurrence '" + name + "'; did you mean '" + nearest + "'?");
  return makeError("--recurrence: the file has no recurrence '" + name + "'; it has " + join(known, ", "));
}

Expected<std::vector<frontend::RecurrenceInfo>> Specification::describe() {
  DiagnosticEngine diagnostics;
  frontend::InstantiationOptions everything = options.instantiation;
  everything.onlyRecurrence.clear();
  std::vector<frontend::RecurrenceInfo> all = frontend::describe(*source, everything, diagnostics);
  if (diagnostics.hasErrors())
    return reportDiagnostics(diagnostics);
  StringRef only = options.instantiation.onlyRecurrence;
  if (only.empty())
    return all;
  std::vector<StringRef> names;
  for (const frontend::RecurrenceInfo &recurrence : all)
    names.push_back(recurrence.name);
  auto chosen = find(names, only);
  if (chosen == names.end())
    return makeNoSuchRecurrenceError(only, names);
  return std::vector<frontend::RecurrenceInfo>{all[chosen - names.begin()]};
}

Error Specification::compile(const frontend::InstantiationOptions &instantiation) {
  if (options.startFrom)
    return readModule();
  DiagnosticEngine diagnostics;
  module = frontend::compile(*source, instantiation, context, diagnostics, &info);
  if (Error error = reportDiagnostics(diagnostics))
    return error;
  if (!module || mlir::failed(mlir::verify(*module)))
    return make_error<InternalError>("the front end made invalid IR");
  return Error::success();
}

Error Specification::readModule() {
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, errs());
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(source->getText(), source->getName()), SMLoc());
  module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
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
    return makeNoSuchRecurrenceError(only, names);
  for (mlir::SymbolOpInterface op : ops)
    if (op.getName() != only)
      op.erase();
  return Error::success();
}

std::vector<dgps::RecurrenceOp> Specification::getRecurrences() {
  auto recurrences = module->getOps<dgps::RecurrenceOp>();
  return {recurrences.begin(), recurrences.end()};
}

std::string driver::printDims(dgps::RecurrenceOp recurrence) {
  std::string text;
  for (mlir::NamedAttribute dim : recurrence.getDims())
    if (auto size = dyn_cast<mlir::IntegerAttr>(dim.getValue()))
      text += (text.empty() ? "" : ", ") + dim.getName().str() + " = " + std::to_string(size.getInt());
  return text;
}
