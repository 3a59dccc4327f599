// Compiles the text of a recurrence and analyses it.
#pragma once

#include "Analysis/Algebra/Print.h"
#include "Analysis/Axes.h"
#include "Explain/Explain.h"
#include "Frontend/Frontend.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace recur::test {

/// A recurrence and what the analysis says of it. The name of the recurrence is "r" if `text` is the body alone.
class Understood {
public:
  explicit Understood(std::string text) {
    if (text.find("recurrence") == std::string::npos)
      text = "recurrence r {\n" + text + "\n}\n";
    context.loadDialect<dgps::DGPSDialect>();
    SourceBuffer buffer("test.recur", text);
    frontend::InstantiationOptions options;
    options.assumedDim = 8;
    DiagnosticEngine diagnostics;
    module = frontend::compile(buffer, options, context, diagnostics);
    if (!module) {
      ADD_FAILURE() << "does not compile:\n" << text;
      return;
    }
    mlir::PassManager passes(&context);
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    EXPECT_TRUE(succeeded(passes.run(*module)));
    recurrence = *module->getOps<dgps::RecurrenceOp>().begin();
    facts = std::make_unique<analysis::RecurrenceAnalysis>(recurrence);
  }

  const analysis::StateFacts &state(llvm::StringRef name) const {
    for (const analysis::StateFacts &state : facts->getStates())
      if (dgps::StateOp(state.op).getName() == name)
        return state;
    ADD_FAILURE() << "no state " << name.str();
    std::abort();
  }
  std::string classOf(llvm::StringRef name) const { return analysis::nameOf(state(name).stateClass).str(); }
  const analysis::DeltaForm &delta(llvm::StringRef name) const {
    EXPECT_TRUE(state(name).delta.has_value()) << state(name).reason;
    return *state(name).delta;
  }
  std::string print(const algebra::Poly *poly) const {
    return algebra::Printer(facts->getAlgebra(), facts->getExpressions(), recurrence).print(poly);
  }
  size_t interactions(llvm::StringRef name) const {
    return analysis::interactionsOf(facts->getAlgebra(), delta(name)).size();
  }
  /// The report in canonical form: equal for programs that compute the same.
  std::string report() const {
    explain::ExplainOptions options;
    options.canonical = true;
    return explain::explainText(recurrence, options);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  dgps::RecurrenceOp recurrence;
  std::unique_ptr<analysis::RecurrenceAnalysis> facts;
};

} // namespace recur::test
