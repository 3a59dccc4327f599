#include "Explain/Report.h"
#include "Compile/Backend.h"
#include "Explain/GradientReport.h"
#include "Explain/PlanReport.h"

using namespace llvm;
using namespace recur;
using namespace recur::explain;

static Error addPart(Report &report, StringRef name, Expected<Report> part) {
  if (!part)
    return part.takeError();
  report.text += part->text;
  (*report.json.getAsObject())[name] = std::move(part->json);
  return Error::success();
}

Expected<Report> explain::report(dgps::RecurrenceOp recurrence, ArrayRef<frontend::RecurrenceInfo> declared,
                                 const PipelineOptions &pipeline, bool hasTarget) {
  // What a target chooses shows only where one is asked for: the rest of the report is the same on every machine.
  std::vector<plan::Verdict> lostChunks;
  Expected<PipelineOptions> shown =
      hasTarget ? compile::getBackend(pipeline.target).complete(recurrence, pipeline, &lostChunks) : pipeline;
  if (!shown)
    return shown.takeError();
  ExplainOptions options;
  options.pipeline = *shown;
  options.takeDeclarations(declared, recurrence.getSymName());
  Report result = {explainText(recurrence, options), explainJson(recurrence, options)};
  if (pipeline.backward)
    // A GPU chooses the gradient's chunk apart from the recurrence's.
    if (Error error =
            addPart(result, "gradient", explainGradient(recurrence, pipeline.target.isCPU() ? *shown : pipeline)))
      return std::move(error);
  if (hasTarget)
    if (Error error = addPart(result, "kernels", explainPlans(recurrence, *shown, std::move(lostChunks))))
      return std::move(error);
  return result;
}
