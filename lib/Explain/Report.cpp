#include "Explain/Report.h"
#include "Compile/Backend.h"
#include "Explain/GradientReport.h"
#include "Explain/PlanReport.h"

using namespace llvm;
using namespace recur;
using namespace recur::explain;

static Error addGradient(Report &report, dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  Expected<std::string> text = explainGradientText(recurrence, pipeline);
  if (!text)
    return text.takeError();
  Expected<json::Value> json = explainGradientJson(recurrence, pipeline);
  if (!json)
    return json.takeError();
  report.text += *text;
  (*report.json.getAsObject())["gradient"] = std::move(*json);
  return Error::success();
}

static Error addPlans(Report &report, dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  Expected<std::string> text = explainPlansText(recurrence, pipeline);
  if (!text)
    return text.takeError();
  Expected<json::Value> json = explainPlansJson(recurrence, pipeline);
  if (!json)
    return json.takeError();
  report.text += *text;
  (*report.json.getAsObject())["kernels"] = std::move(*json);
  return Error::success();
}

Expected<Report> explain::report(dgps::RecurrenceOp recurrence, ArrayRef<frontend::RecurrenceInfo> declared,
                                 const PipelineOptions &pipeline, bool hasTarget) {
  // What a target chooses shows only where one is asked for: the rest of the report is the same on every machine.
  Expected<PipelineOptions> shown =
      hasTarget ? compile::getBackend(pipeline.target).complete(recurrence, pipeline) : pipeline;
  if (!shown)
    return shown.takeError();
  ExplainOptions options;
  options.pipeline = *shown;
  options.takeDeclarations(declared, recurrence.getSymName());
  Report result = {explainText(recurrence, options), explainJson(recurrence, options)};
  if (pipeline.backward)
    // A GPU chooses the gradient's chunk apart from the recurrence's.
    if (Error error = addGradient(result, recurrence, pipeline.target.isCPU() ? *shown : pipeline))
      return std::move(error);
  if (hasTarget)
    if (Error error = addPlans(result, recurrence, pipeline))
      return std::move(error);
  return result;
}
