// The last part of `recurc explain --target`: the plans that the recurrence has on a target, their memory, and why it
// has not the others.
#pragma once
#include "Compile/Backend.h"
#include "Explain/Report.h"

namespace recur::explain {

/// Lines that follow the other text of the report, where the options are complete and candidates with other chunks lost
/// before. A GPU's kernels are compiled for it, once for both forms.
llvm::Expected<Report> explainPlans(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                    std::vector<plan::Verdict> lostChunks);

} // namespace recur::explain
