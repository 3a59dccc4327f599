#include "Compile/GradientPrograms.h"
#include "Support/Errors.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

Expected<GradientPrograms> compile::makeGradientPrograms(dgps::RecurrenceOp recurrence,
                                                         const PipelineOptions &options) {
  GradientPrograms result;
  result.module = mlir::ModuleOp::create(recurrence.getLoc());
  result.module->push_back(recurrence->clone());
  if (mlir::failed(runStages(*result.module, nullptr, *findStage("chunk"), options)))
    return make_error<InternalError>("the passes of stage 'chunk' failed");
  mlir::PassManager passes(recurrence.getContext());
  populateGradients(passes);
  std::string reason;
  mlir::ScopedDiagnosticHandler collect(recurrence.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (reason.empty())
      reason = diagnostic.str();
  });
  if (mlir::failed(passes.run(*result.module)))
    return makeError("recurrence '" + recurrence.getSymName() + "' has no gradient: " + reason);
  for (auto program : result.module->getOps<chunk::ProgramOp>())
    (program.getBackward() ? result.gradient : program.getKeeps() ? result.states : result.program) = program;
  return result;
}
