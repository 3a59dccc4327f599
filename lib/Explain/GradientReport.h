// The gradient of a chunkwise form as equations, and what it costs.
#pragma once

#include "Explain/Report.h"

namespace recur::explain {

/// An error says what of the recurrence has no gradient.
llvm::Expected<Report> explainGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

} // namespace recur::explain
