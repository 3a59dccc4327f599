// The gradient of a chunkwise form as equations, and what it costs.
#pragma once

#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace recur::explain {

/// An error says what of the recurrence has no gradient.
llvm::Expected<std::string> explainGradientText(dgps::RecurrenceOp recurrence, const PipelineOptions &options);
llvm::Expected<llvm::json::Value> explainGradientJson(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

} // namespace recur::explain
