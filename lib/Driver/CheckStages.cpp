#include "Driver/CheckStages.h"
#include "Driver/Reporting.h"
#include "Interpreter/DGPSInterpreter.h"
#include "mlir/Transforms/Passes.h"

using namespace llvm;
using namespace recur;
using namespace recur::driver;

/// A module of its own that holds a copy of the recurrence.
static std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> copyAlone(dgps::RecurrenceOp recurrence) {
  auto module = std::make_shared<mlir::OwningOpRef<mlir::ModuleOp>>(mlir::ModuleOp::create(recurrence.getLoc()));
  (*module)->push_back(recurrence->clone());
  return module;
}

/// The rewrites of dgps itself: they are right over the reals, and may round otherwise.
static Expected<std::optional<PreparedStage>> prepareCanonicalized(dgps::RecurrenceOp recurrence,
                                                                   const PipelineOptions &options) {
  auto module = copyAlone(recurrence);
  if (mlir::failed(runStages(**module, nullptr, *findStage("recurrence"), options)))
    return make_error<InternalError>("the passes of stage 'recurrence' failed");
  return PreparedStage{1e-11, [module](const interpreter::Data &data) {
                         return interpreter::interpret(*(*module)->getOps<dgps::RecurrenceOp>().begin(), data);
                       }};
}

static constexpr CheckStage stages[] = {
    {"canonicalized", prepareCanonicalized},
};

ArrayRef<CheckStage> driver::getCheckStages() { return stages; }
