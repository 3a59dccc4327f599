// The whole report on a recurrence, for a person and for a program: what `recurc explain` and the C API give.
#pragma once
#include "Explain/Explain.h"

namespace recur::explain {

struct Report {
  std::string text;
  llvm::json::Value json = nullptr;
};

/// Of a recurrence after the stage `recurrence`. With `hasTarget` the report has the plans on the pipeline's target
/// too, and with the pipeline's `backward` the gradient.
llvm::Expected<Report> report(dgps::RecurrenceOp recurrence, llvm::ArrayRef<frontend::RecurrenceInfo> declared,
                              const PipelineOptions &pipeline, bool hasTarget);

} // namespace recur::explain
