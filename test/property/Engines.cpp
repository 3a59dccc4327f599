#include "property/Engines.h"
#include "Frontend/Frontend.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Support/DiagnosticRenderer.h"
#include "llvm/Support/raw_ostream.h"

using namespace recur;
using namespace recur::property;

mlir::MLIRContext &property::getContext() {
  static thread_local mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<dgps::DGPSDialect>();
  return context;
}

llvm::Expected<Compiled> property::compile(llvm::StringRef text) {
  SourceBuffer buffer("drawn.recur", text.str());
  DiagnosticEngine diagnostics;
  Compiled result;
  result.module = frontend::compile(buffer, {}, getContext(), diagnostics);
  if (result.module)
    for (auto recurrence : result.module->getOps<dgps::RecurrenceOp>())
      result.recurrence = recurrence;
  if (result.recurrence)
    return std::move(result);
  std::string message;
  llvm::raw_string_ostream os(message);
  renderDiagnostics(os, buffer, diagnostics);
  return llvm::createStringError(message);
}

llvm::ArrayRef<Engine> property::getEngines() {
  static const Engine engines[] = {
      {"recurrence", interpreter::interpret, 0},
  };
  return engines;
}

llvm::Expected<interpreter::Results> property::judge(llvm::StringRef text, const interpreter::Data &data) {
  llvm::Expected<Compiled> compiled = compile(text);
  if (!compiled)
    return compiled.takeError();
  return getEngines().front().run(compiled->recurrence, data);
}

static double distance(const interpreter::NamedArrays &got, const interpreter::NamedArrays &want) {
  double worst = 0;
  for (const auto &[name, wanted] : want) {
    auto found = got.find(name);
    if (found == got.end() || found->second.shape != wanted.shape)
      return std::numeric_limits<double>::infinity();
    double difference = 0, norm = 0;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      double off = found->second.values[i] - wanted.values[i];
      difference += off * off;
      norm += wanted.values[i] * wanted.values[i];
    }
    double relative = std::sqrt(difference) / std::max(std::sqrt(norm), 1e-3);
    if (!(relative <= worst)) // also not a number
      worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
  }
  return got.size() == want.size() ? worst : std::numeric_limits<double>::infinity();
}

double property::distance(const interpreter::Results &got, const interpreter::Results &want) {
  return std::max(::distance(got.outputs, want.outputs), ::distance(got.final, want.final));
}
