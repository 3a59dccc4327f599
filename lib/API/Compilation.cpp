#include "API/Compilation.h"
#include "Codegen/Embed/Combine.h"
#include "Compile/ArrayTypes.h"
#include "Compile/Choices.h"
#include "Compile/Source.h"
#include "Support/DiagnosticRenderer.h"
#include "Support/Errors.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include <new>

using namespace llvm;
using namespace recur;
using namespace recur::api;
using namespace recur::compile;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static recur_place getPlace(const SourceBuffer &source, SourceRange range) {
  if (!range.isValid())
    return {0, 0, 0, 0};
  LineColumn begin = source.getLineColumn(range.begin), end = source.getLineColumn(range.end);
  return {int32_t(begin.line), int32_t(begin.column), int32_t(end.line), int32_t(end.column)};
}

static void add(recur_compilation &to, const SourceBuffer &source, const Diagnostic &from) {
  std::vector<recur_remark> &remarks = to.remarks.emplace_back();
  for (const DiagnosticNote &note : from.notes)
    remarks.push_back({RECUR_NOTE, getPlace(source, note.range), to.keep(note.message), nullptr});
  for (const Suggestion &help : from.suggestions)
    remarks.push_back({RECUR_HELP, getPlace(source, help.range), to.keep(help.message),
                       help.range.isValid() ? to.keep(help.replacement) : nullptr});
  recur_diagnostic diagnostic = {};
  diagnostic.severity = from.severity == Severity::Error ? RECUR_ERROR : RECUR_WARNING;
  diagnostic.place = getPlace(source, from.range);
  diagnostic.code = from.code == ErrorCode::None ? nullptr : to.keep(getErrorCodeText(from.code));
  diagnostic.file = to.keep(source.getName());
  diagnostic.message = to.keep(from.message);
  diagnostic.remarks = remarks.data();
  diagnostic.remark_count = int64_t(remarks.size());
  to.diagnostics.push_back(diagnostic);
}

void api::add(recur_compilation &to, recur_severity severity, StringRef message) {
  recur_diagnostic diagnostic = {};
  diagnostic.severity = severity;
  diagnostic.message = to.keep(message);
  to.diagnostics.push_back(diagnostic);
  if (severity == RECUR_ERROR)
    to.rendered += "error: " + message.str() + "\n";
}

static void refuse(recur_compilation &result, Error error) {
  handleAllErrors(
      std::move(error), [&](const SourceError &) { result.status = std::max(result.status, RECUR_REFUSED); },
      [&](const InternalError &fault) {
        result.status = RECUR_FAULT;
        add(result, RECUR_ERROR, fault.message());
      },
      [&](const ErrorInfoBase &mistake) {
        result.status = std::max(result.status, RECUR_REFUSED);
        add(result, RECUR_ERROR, mistake.message());
      });
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static StringRef orEmpty(const char *text) { return text ? text : ""; }

/// Names and sizes as the command line has them, so that they are held to the same.
static Error readInstantiation(const recur_compile_options &options, frontend::InstantiationOptions &instantiation) {
  if (options.dim_count < 0 || (options.dim_count && !options.dims))
    return makeError("--dim: there are " + Twine(options.dim_count) + " dims, and none to read");
  if (options.constant_count < 0 || (options.constant_count && !options.constants))
    return makeError("-D: there are " + Twine(options.constant_count) + " consts, and none to read");
  for (const recur_dim &dim : ArrayRef(options.dims, size_t(options.dim_count)))
    if (Error error = parseDims((orEmpty(dim.name) + "=" + Twine(dim.size)).str(), instantiation.dims))
      return error;
  for (const recur_constant &constant : ArrayRef(options.constants, size_t(options.constant_count)))
    if (orEmpty(constant.name).empty())
      return makeError("-D: a const has no name");
    else if (!instantiation.constants.insert({constant.name, constant.value}).second)
      return makeError("-D: const '" + Twine(constant.name) + "' is given twice");
  instantiation.onlyRecurrence = orEmpty(options.recurrence).str();
  return Error::success();
}

static Expected<Request> readOptions(const recur_compile_options &options) {
  if (options.version != RECUR_COMPILER_VERSION)
    return makeError("the options are of version " + Twine(options.version) + ", and this compiler is of version " +
                     Twine(RECUR_COMPILER_VERSION) + "; set `version` to RECUR_COMPILER_VERSION");
  Request request;
  if (Error error = readInstantiation(options, request.instantiation))
    return std::move(error);
  auto word = [](const char *text) { return text ? std::optional<StringRef>(text) : std::nullopt; };
  std::string chunk = std::to_string(options.chunk);
  Expected<PipelineOptions> pipeline =
      parsePipeline({word(options.target), word(options.dtype), word(options.precision), word(options.plan),
                     options.chunk ? word(chunk.c_str()) : std::nullopt});
  if (!pipeline)
    return pipeline.takeError();
  request.pipeline = std::move(*pipeline);
  request.pipeline.backward = options.backward != 0;
  request.pipeline.summaries = options.summaries != 0;
  request.pipeline.trees = options.trees != 0;
  if (options.gradients && !options.backward)
    return makeError("--backward: gradients are named, and `backward` is 0");
  if (options.gradients)
    if (Error error = parseGradients(options.gradients, request.pipeline))
      return std::move(error);
  if (options.quick)
    request.pipeline.effort = Effort::Quick;
  request.names = {orEmpty(options.prefix).str(), options.source_name ? options.source_name : "source"};
  if (Error error = checkPrefix(request.names.prefix))
    return std::move(error);
  if (options.emit)
    for (StringRef artifact : split(options.emit, ',')) {
      if (!is_contained(getArtifactNames(), artifact))
        return makeUnknownValueError("--emit", artifact, getArtifactNames());
      request.emit.push_back(artifact.str());
    }
  return request;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Expected<mlir::OwningOpRef<mlir::ModuleOp>> api::makeModule(const SourceBuffer &source, const Request &request,
                                                            mlir::MLIRContext &context, DiagnosticEngine &diagnostics,
                                                            std::vector<frontend::RecurrenceInfo> *info) {
  std::shared_lock<std::shared_mutex> lock(codegen::getLinkerMutex());
  if (!request.instantiation.onlyRecurrence.empty())
    if (Error error = describeSource(source, request.instantiation, diagnostics).takeError())
      return std::move(error);
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      compileSource(source, request.instantiation, context, diagnostics, info);
  if (module)
    if (Error error = checkArrayTypes(to_vector((**module).getOps<dgps::RecurrenceOp>()), request.pipeline.dataTypes))
      return std::move(error);
  return module;
}

recur_compilation *api::perform(const char *text, int64_t bytes, const recur_compile_options *options, Work work) {
  auto *result = new (std::nothrow) recur_compilation;
  if (!result)
    return nullptr;
  if (!text || bytes < 0 || uint64_t(bytes) > SourceBuffer::kMaxBytes || !options) {
    refuse(*result, makeError("the source or the options are null, or the source has too many bytes"));
    return result;
  }
  Expected<Request> request = readOptions(*options);
  if (!request) {
    refuse(*result, request.takeError());
    return result;
  }
  SourceBuffer source(request->names.sourceName, std::string(text, size_t(bytes)));
  DiagnosticEngine diagnostics;
  Error error = work(*result, source, *request, diagnostics);
  std::vector<recur_diagnostic> notes = std::move(result->diagnostics);
  result->diagnostics.clear();
  for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
    add(*result, source, diagnostic);
  raw_string_ostream rendered(result->rendered);
  renderDiagnostics(rendered, source, diagnostics);
  append_range(result->diagnostics, notes);
  refuse(*result, std::move(error));
  return result;
}

static Error emit(recur_compilation &result, const SourceBuffer &source, Request &request,
                  DiagnosticEngine &diagnostics) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::string faults; // of passes
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      faults += "\n" + diagnostic.str();
    return mlir::success();
  });
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = makeModule(source, request, *context, diagnostics);
  if (!module)
    return module.takeError();
  if (request.emit.empty())
    return Error::success();
  auto recurrences = to_vector((*module)->getOps<dgps::RecurrenceOp>());
  Expected<Emission> emission = emitArtifacts(recurrences, request.pipeline, request.names, request.emit);
  if (!emission) {
    Error error = emission.takeError();
    if (!error.isA<InternalError>())
      return error;
    return make_error<InternalError>(toString(std::move(error)) + faults);
  }
  result.artifacts = std::move(emission->artifacts);
  for (const std::string &note : emission->notes)
    add(result, RECUR_NOTE, note);
  return Error::success();
}

RECUR_EXPORTED recur_compilation *recur_compile(const char *text, int64_t bytes, const recur_compile_options *options) {
  return perform(text, bytes, options, emit);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

RECUR_EXPORTED void recur_compilation_free(recur_compilation *compilation) { delete compilation; }

RECUR_EXPORTED recur_compile_status recur_compilation_status(const recur_compilation *compilation) {
  return compilation->status;
}

RECUR_EXPORTED const recur_diagnostic *recur_compilation_diagnostics(const recur_compilation *compilation,
                                                                     int64_t *count) {
  *count = int64_t(compilation->diagnostics.size());
  return compilation->diagnostics.data();
}

RECUR_EXPORTED const char *recur_compilation_text(const recur_compilation *compilation) {
  return compilation->rendered.c_str();
}

RECUR_EXPORTED const char *recur_compilation_artifact(const recur_compilation *compilation, const char *name,
                                                      int64_t *bytes) {
  for (const Artifact &artifact : compilation->artifacts)
    if (artifact.name == name) {
      if (bytes)
        *bytes = int64_t(artifact.bytes.size());
      return artifact.bytes.c_str();
    }
  return nullptr;
}

RECUR_EXPORTED const char *recur_compiler_target(int32_t index) {
  ArrayRef<StringRef> names = getTargetNames(); // of literals, which end in zeros
  return index >= 0 && size_t(index) < names.size() ? names[index].data() : nullptr;
}

RECUR_EXPORTED const char *recur_compiler_version(void) { return RECUR_VERSION; }
