#pragma once

#include "Frontend/Frontend.h"
#include "Support/DiagnosticRenderer.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <string>

namespace recur::frontend::testing {

/// One run of the front end on a text, and what came of it.
struct Compiled {
  explicit Compiled(std::string text, InstantiationOptions options = {}, std::string name = "test.recur")
      : buffer(std::move(name), std::move(text)) {
    module = compile(buffer, options, context, diagnostics, &info);
  }

  /// The diagnostics as a user reads them.
  std::string render() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    renderDiagnostics(os, buffer, diagnostics);
    return text;
  }
  /// The IR, or the empty string.
  std::string print() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (module)
      module.get()->print(os);
    return text;
  }
  /// The codes of the diagnostics in the order of the source: "R0201 R0301".
  std::string codes() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
      text += (text.empty() ? "" : " ") +
              (diagnostic.code == ErrorCode::None ? std::string("none") : getErrorCodeText(diagnostic.code).str());
    return text;
  }

  SourceBuffer buffer;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  DiagnosticEngine diagnostics;
  std::vector<RecurrenceInfo> info;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Sizes for the dims that most tests use.
inline InstantiationOptions sized() {
  InstantiationOptions options;
  options.assumedDim = 8;
  return options;
}

/// `statements` in a recurrence over dims K = 4 and V = 3 with vectors k, q: [K], v: [V], scalars g, beta, a state S:
/// [V, K] that is updated, and an output that uses them all.
inline std::string inRecurrence(const std::string &statements) {
  return "recurrence r {\n  dim K = 4, V = 3\n  input k: [K], q: [K], v: [V], g, beta\n  state S: [V, K]\n" +
         statements + "\n  S = exp(g) * S + beta * outer(v, k)\n  output o: [V] = S @ q\n}\n";
}

} // namespace recur::frontend::testing
