// What recurc says of a specification, for programs: its declaration, and the reports of explain and check.
#include "API/Compilation.h"
#include "Check/RecurrenceCheck.h"
#include "Check/Reference.h"
#include "Compile/Source.h"
#include "Explain/Report.h"
#include "Support/Errors.h"
#include "dialects/DGPS/DGPS.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace recur;
using namespace recur::api;
using namespace recur::explain;
using frontend::RecurrenceInfo;

static void add(recur_compilation &to, StringRef artifact, std::string bytes) {
  to.artifacts.push_back({artifact.str(), std::move(bytes)});
}

//===----------------------------------------------------------------------===//
// Declaration
//===----------------------------------------------------------------------===//

/// A side is a number where it is known whatever the dims are, else the name of a dim or const.
static json::Value printShape(const frontend::ValueInfo &value) {
  if (!value.hasShape)
    return nullptr;
  json::Array sides;
  for (const frontend::ShapeEntry &side : value.shape) {
    if (!side.isDim && side.value)
      sides.push_back(*side.value);
    else
      sides.push_back(side.name);
  }
  return sides;
}

static json::Array printValues(ArrayRef<frontend::ValueInfo> values) {
  json::Array list;
  for (const frontend::ValueInfo &value : values) {
    json::Object object{{"name", value.name}, {"shared", value.shared}, {"shape", printShape(value)}};
    if (value.hasStart)
      object["has_start"] = true;
    if (!value.complexName.empty())
      object["complex"] = value.complexName;
    if (value.integer)
      object["integer"] = true;
    list.push_back(std::move(object));
  }
  return list;
}

static json::Value printDeclaration(const RecurrenceInfo &recurrence) {
  json::Array dims, constants;
  for (const frontend::DimInfo &dim : recurrence.dims)
    dims.push_back(json::Object{{"name", dim.name}, {"size", dim.value}, {"has_default", dim.hasDefault}});
  for (const frontend::ConstInfo &constant : recurrence.constants)
    constants.push_back(json::Object{{"name", constant.name}, {"value", constant.value}});
  return json::Object{{"name", recurrence.name},
                      {"dims", std::move(dims)},
                      {"consts", std::move(constants)},
                      {"inputs", printValues(recurrence.inputs)},
                      {"params", printValues(recurrence.params)},
                      {"states", printValues(recurrence.states)},
                      {"has_implicit_states", recurrence.hasImplicitStates},
                      {"outputs", printValues(recurrence.outputs)}};
}

static Error describe(recur_compilation &result, const SourceBuffer &source, Request &request,
                      DiagnosticEngine &diagnostics) {
  Expected<std::vector<RecurrenceInfo>> recurrences =
      compile::describeSource(source, request.instantiation, diagnostics);
  if (!recurrences)
    return recurrences.takeError();
  json::Array list;
  for (const RecurrenceInfo &recurrence : *recurrences)
    list.push_back(printDeclaration(recurrence));
  add(result, "json", formatv("{0}", json::Value(std::move(list))));
  return Error::success();
}

RECUR_EXPORTED recur_compilation *recur_describe(const char *text, int64_t bytes,
                                                 const recur_compile_options *options) {
  return perform(text, bytes, options, describe);
}

//===----------------------------------------------------------------------===//
// Explain
//===----------------------------------------------------------------------===//

static Error explainTo(recur_compilation &result, const SourceBuffer &source, Request &request, bool hasTarget,
                       DiagnosticEngine &diagnostics) {
  std::unique_ptr<mlir::MLIRContext> context = compile::makeContext();
  mlir::ScopedDiagnosticHandler silent(context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  request.instantiation.assumedDim = kAssumedDim;
  std::vector<RecurrenceInfo> infos;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = makeModule(source, request, *context, diagnostics, &infos);
  if (!module)
    return module.takeError();
  if (failed(runStages(**module, nullptr, *findStage("recurrence"), request.pipeline)))
    return make_error<InternalError>("the passes of stage 'recurrence' failed");
  std::string text;
  json::Array list;
  for (dgps::RecurrenceOp recurrence : (*module)->getOps<dgps::RecurrenceOp>()) {
    Expected<Report> report = explain::report(recurrence, infos, request.pipeline, hasTarget);
    if (!report)
      return report.takeError();
    text += (text.empty() ? "" : "\n") + report->text;
    list.push_back(std::move(report->json));
  }
  add(result, "text", std::move(text));
  add(result, "json", formatv("{0}", json::Value(std::move(list))));
  return Error::success();
}

RECUR_EXPORTED recur_compilation *recur_explain(const char *text, int64_t bytes, const recur_compile_options *options) {
  return perform(
      text, bytes, options,
      [&](recur_compilation &result, const SourceBuffer &source, Request &request, DiagnosticEngine &diagnostics) {
        return explainTo(result, source, request, options->target != nullptr, diagnostics);
      });
}

//===----------------------------------------------------------------------===//
// Check
//===----------------------------------------------------------------------===//

/// What to check, of the caller's options.
static Expected<check::CheckOptions> readCheckOptions(const recur_compile_options &options) {
  check::CheckOptions check;
  check.compiles = options.target != nullptr;
  check.seed = options.seed;
  check.backward = options.backward != 0;
  check.isHard = options.hard != 0;
  if (options.token_count < 0 || (options.token_count && !options.tokens))
    return makeError("--tokens: there are " + Twine(options.token_count) + " lengths, and none to read");
  if (options.token_count)
    check.tokens.assign(options.tokens, options.tokens + options.token_count);
  for (int64_t tokens : check.tokens)
    if (tokens < 0 || tokens > check::kMostTokens)
      return makeError("--tokens: '" + Twine(tokens) + "' is not a number of tokens, from 0 to " +
                       Twine(check::kMostTokens));
  return check;
}

static Error checkTo(recur_compilation &result, const SourceBuffer &source, Request &request,
                     const recur_compile_options &given, DiagnosticEngine &diagnostics) {
  Expected<check::CheckOptions> options = readCheckOptions(given);
  if (!options)
    return options.takeError();
  if (options->backward && options->isHard)
    return makeError("--backward: it takes no --hard; gradients are checked on tame and on hard data");
  auto note = [&](const Twine &message) { add(result, RECUR_NOTE, message.str()); };
  Expected<std::vector<RecurrenceInfo>> described = compile::describeSource(source, request.instantiation, diagnostics);
  if (!described)
    return described.takeError();
  if (std::string assumed = check::assumeDims(*described, request.instantiation.dims); !assumed.empty())
    note("checked with " + assumed);
  std::unique_ptr<mlir::MLIRContext> context = compile::makeContext();
  mlir::ScopedDiagnosticHandler silent(context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = makeModule(source, request, *context, diagnostics);
  if (!module)
    return module.takeError();
  std::string text, growth;
  json::Array list;
  for (dgps::RecurrenceOp recurrence : (*module)->getOps<dgps::RecurrenceOp>()) {
    Expected<check::RecurrenceReport> report = check::checkRecurrence(recurrence, *options, request.pipeline, note);
    if (!report)
      return report.takeError();
    text += check::printAsText(*report, *options);
    list.push_back(check::printAsJSON(*report, *options));
    if (report->passes() && growth.empty())
      growth = report->growth;
  }
  add(result, "text", std::move(text));
  add(result, "json", formatv("{0}", json::Value(std::move(list))));
  return growth.empty() ? Error::success() : makeError(growth);
}

RECUR_EXPORTED recur_compilation *recur_check(const char *text, int64_t bytes, const recur_compile_options *options) {
  return perform(
      text, bytes, options,
      [&](recur_compilation &result, const SourceBuffer &source, Request &request, DiagnosticEngine &diagnostics) {
        return checkTo(result, source, request, *options, diagnostics);
      });
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

static Expected<check::ReferenceOptions> readReferenceOptions(const recur_compile_options &options,
                                                              const PipelineOptions &pipeline) {
  Expected<check::CheckOptions> check = readCheckOptions(options);
  if (!check)
    return check.takeError();
  check::ReferenceOptions reference;
  reference.sizes.batch = options.batch ? options.batch : 2;
  reference.sizes.heads = options.heads ? options.heads : 4;
  reference.sizes.groups = options.groups ? options.groups : reference.sizes.heads;
  if (Error error = data::checkSizes(reference.sizes))
    return std::move(error);
  if (options.token_count)
    reference.lengths = check->tokens;
  reference.seed = check->seed;
  reference.types = pipeline.dataTypes;
  reference.isHard = check->isHard;
  reference.startsAnew = options.starts_anew != 0;
  reference.forgetsFinal = options.forgets_final != 0;
  reference.backward = check->backward;
  return reference;
}

static Error addReference(recur_compilation &result, const SourceBuffer &source, Request &request,
                          const recur_compile_options &given, DiagnosticEngine &diagnostics) {
  Expected<check::ReferenceOptions> options = readReferenceOptions(given, request.pipeline);
  if (!options)
    return options.takeError();
  std::unique_ptr<mlir::MLIRContext> context = compile::makeContext();
  mlir::ScopedDiagnosticHandler silent(context.get(), [](mlir::Diagnostic &) { return mlir::success(); });
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = makeModule(source, request, *context, diagnostics);
  if (!module)
    return module.takeError();
  auto recurrences = to_vector((*module)->getOps<dgps::RecurrenceOp>());
  if (recurrences.size() != 1)
    return makeError("--recurrence: the source has " + Twine(recurrences.size()) + " recurrences; name one of them");
  Expected<std::vector<check::ReferenceArray>> arrays = check::makeReference(recurrences.front(), *options);
  if (!arrays)
    return arrays.takeError();
  json::Array list;
  std::string values;
  for (const check::ReferenceArray &array : *arrays) {
    json::Object object{{"role", array.role}, {"name", array.name}, {"shape", json::Array(array.array.shape)}};
    object["condition"] = std::isfinite(array.condition) ? json::Value(array.condition) : json::Value(nullptr);
    list.push_back(std::move(object));
    values.append(reinterpret_cast<const char *>(array.array.values.data()),
                  array.array.values.size() * sizeof(double));
  }
  add(result, "json", formatv("{0}", json::Value(std::move(list))));
  add(result, "values", std::move(values));
  return Error::success();
}

RECUR_EXPORTED recur_compilation *recur_reference(const char *text, int64_t bytes,
                                                  const recur_compile_options *options) {
  return perform(
      text, bytes, options,
      [&](recur_compilation &result, const SourceBuffer &source, Request &request, DiagnosticEngine &diagnostics) {
        return addReference(result, source, request, *options, diagnostics);
      });
}
