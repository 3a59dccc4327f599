// Feeds the front end arbitrary text: it must neither crash, hang nor allocate without bound, and what it accepts must
// become IR that verifies; the formatter's result must be its own. Run `ninja fuzz-frontend`, which seeds it with
// examples/ and test/errors.

#include "Frontend/Format.h"
#include "Frontend/Frontend.h"
#include "Support/DiagnosticRenderer.h"

#include "mlir/IR/MLIRContext.h"

#include <cstdlib>
#include <memory>

using namespace recur;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceBuffer buffer("fuzz.recur", std::string(reinterpret_cast<const char *>(data), size));
  frontend::InstantiationOptions options;
  options.assumedDim = 4;
  DiagnosticEngine diagnostics;

  // Loops may unroll to a hundred thousand ops: to emit them all would leave time for little else, so most are only
  // checked.
  static unsigned numRuns = 0;
  bool hasLoop = buffer.getText().contains("for");
  if (++numRuns % 64 != 0 && hasLoop) {
    frontend::check(buffer, options, diagnostics);
  } else {
    // A context keeps every location that it has seen, so it is renewed from time to time.
    static std::unique_ptr<mlir::MLIRContext> context;
    if (!context || numRuns % 20000 == 0)
      context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    auto module = frontend::compile(buffer, options, *context, diagnostics);
    // `compile` verifies what it made; a module exists exactly when there were no errors.
    if (bool(module) == diagnostics.hasErrors())
      std::abort();
    for (const Diagnostic &diagnostic : diagnostics.getDiagnostics())
      if (diagnostic.code == ErrorCode::None)
        std::abort();
  }

  // What can be formatted is its own form then.
  DiagnosticEngine refusals;
  if (std::optional<std::string> once = frontend::format(buffer, refusals)) {
    SourceBuffer formatted("formatted.recur", *once);
    if (frontend::format(formatted, refusals) != once)
      std::abort();
  }

  std::string text;
  llvm::raw_string_ostream os(text);
  renderDiagnostics(os, buffer, diagnostics);
  renderDiagnosticsAsJSON(os, buffer, diagnostics);
  return 0;
}
