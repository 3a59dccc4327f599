// What came of a compilation, as data that a program in any language can read.
#pragma once
#include "Compile/Artifacts.h"
#include "Frontend/Frontend.h"
#include "recur/Compiler.h"
#include <deque>

#define RECUR_EXPORTED extern "C" __attribute__((visibility("default")))

struct recur_compilation {
  recur_compile_status status = RECUR_COMPILED;
  std::vector<recur_diagnostic> diagnostics;
  std::vector<recur::compile::Artifact> artifacts;
  std::deque<std::string> texts; // that the diagnostics point to
  std::deque<std::vector<recur_remark>> remarks;
  std::string rendered; // the diagnostics for a person

  const char *keep(llvm::StringRef text) { return texts.emplace_back(text.str()).c_str(); }
};

namespace recur::api {

/// What the caller asks for, in the compiler's own terms.
struct Request {
  frontend::InstantiationOptions instantiation;
  PipelineOptions pipeline;
  compile::KernelNames names;
  std::vector<std::string> emit;
};

/// What a function of the API does with the source. It adds what it makes to the artifacts, and remarks to the notes.
using Work = llvm::function_ref<llvm::Error(recur_compilation &result, const SourceBuffer &source, Request &request,
                                            DiagnosticEngine &diagnostics)>;

/// Reads the options, does the work, and turns what is wrong into diagnostics. Null where there is no memory.
recur_compilation *perform(const char *text, int64_t bytes, const recur_compile_options *options, Work work);

/// The module of the recurrences that the request names. The linker may not run at the same time.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> makeModule(const SourceBuffer &source, const Request &request,
                                                             mlir::MLIRContext &context, DiagnosticEngine &diagnostics,
                                                             std::vector<frontend::RecurrenceInfo> *info = nullptr);

/// A diagnostic that is not about the source.
void add(recur_compilation &to, recur_severity severity, llvm::StringRef message);

} // namespace recur::api
