// What recurc says of a specification, for programs: its declaration, and the reports of explain and check.
#include "API/Compilation.h"
#include "Check/RecurrenceCheck.h"
#include "Compile/Source.h"
#include "Explain/Explain.h"
#include "Explain/PlanReport.h"
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

static Error explainTo(recur_compilation &result, const SourceBuffer &source, Request &request, bool wantsPlans,
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
    ExplainOptions options;
    options.pipeline = request.pipeline;
    options.takeDeclarations(infos, recurrence.getSymName());
    text += (text.empty() ? "" : "\n") + explainText(recurrence, options);
    json::Value report = explainJson(recurrence, options);
    if (wantsPlans) {
      Expected<std::string> plansText = explainPlansText(recurrence, request.pipeline);
      if (!plansText)
        return plansText.takeError();
      Expected<json::Value> plans = explainPlansJson(recurrence, request.pipeline);
      if (!plans)
        return plans.takeError();
      text += *plansText;
      (*report.getAsObject())["kernels"] = std::move(*plans);
    }
    list.push_back(std::move(report));
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

static Error checkTo(recur_compilation &result, const SourceBuffer &source, Request &request, bool compiles,
                     DiagnosticEngine &diagnostics) {
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
  check::CheckOptions options;
  options.compiles = compiles;
  std::string text, growth;
  json::Array list;
  for (dgps::RecurrenceOp recurrence : (*module)->getOps<dgps::RecurrenceOp>()) {
    Expected<check::RecurrenceReport> report = check::checkRecurrence(recurrence, options, request.pipeline, note);
    if (!report)
      return report.takeError();
    text += check::printAsText(*report, options);
    list.push_back(check::printAsJSON(*report, options));
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
        return checkTo(result, source, request, options->target != nullptr, diagnostics);
      });
}
