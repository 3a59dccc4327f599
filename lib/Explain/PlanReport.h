// The last part of `recurc explain --target`: the plans that the recurrence has on a target, their memory, and why it
// has not the others.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/JSON.h"

namespace recur::explain {

/// Lines that follow the other text of the report.
llvm::Expected<std::string> explainPlansText(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);
llvm::Expected<llvm::json::Value> explainPlansJson(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

} // namespace recur::explain
