#include "Explain/GradientReport.h"
#include "Compile/GradientPrograms.h"
#include "Explain/ChunkEquations.h"
#include "Explain/ChunkReport.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::explain;

namespace {
struct GradientReport {
  int64_t chunk;
  std::vector<std::string> equations;
  Cost gradient, program; // of one token of one head
};
} // namespace

/// Flops are of all ops; bytes of what comes in and leaves: streams as float32, and states once a chunk.
static Cost countCost(chunk::ProgramOp program) {
  Cost cost;
  double chunk = double(program.getChunk());
  auto bytes = [](mlir::Value value) { return 4 * double(chunk::tensorOf(value).getNumElements()); };
  cost.flops = double(chunk::countFlops(program.getBody().front())) / chunk;
  for (chunk::InputOp input : program.getInputs())
    cost.bytes += bytes(input) / chunk;
  for (chunk::OutputOp output : program.getOutputs())
    cost.bytes += bytes(output.getValue()) / chunk;
  for (chunk::StateOp state : program.getStates())
    cost.bytes += 2 * bytes(state) / chunk;
  for (chunk::KeptOp state : program.getKept())
    cost.bytes += bytes(state) / chunk;
  return cost;
}

static Expected<GradientReport> makeReport(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<compile::GradientPrograms> programs = compile::makeGradientPrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  return GradientReport{int64_t(programs->gradient.getChunk()), writeEquations(programs->gradient),
                        countCost(programs->gradient), countCost(programs->program)};
}

Expected<std::string> explain::explainGradientText(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<GradientReport> report = makeReport(recurrence, options);
  if (!report)
    return report.takeError();
  std::string text = fmt::format("\ngradient, {} tokens at once, from the last chunk to the first\n", report->chunk);
  for (const std::string &equation : report->equations)
    text += "  " + equation + "\n";
  auto line = [&](const char *what, const std::string &value) { text += fmt::format("  {:<14}{}\n", what, value); };
  line("where", "A^T: transposed; cotangent.NAME: what comes in; a state is as the chunk began with it;");
  line("", "range_sums: how much each decay matters to what rows see of the writes before it");
  line("flops", fmt::format("{:.0f} a token; chunkwise form {:.0f}, ratio {:.2f}", report->gradient.flops,
                            report->program.flops, report->gradient.flops / std::max(1.0, report->program.flops)));
  line("bytes", fmt::format("{:.0f} a token in float32; chunkwise form {:.0f}, ratio {:.2f}", report->gradient.bytes,
                            report->program.bytes, report->gradient.bytes / std::max(1.0, report->program.bytes)));
  return text;
}

Expected<json::Value> explain::explainGradientJson(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<GradientReport> report = makeReport(recurrence, options);
  if (!report)
    return report.takeError();
  return json::Value(json::Object{{"size", report->chunk},
                                  {"equations", json::Array(report->equations)},
                                  {"flops_per_token", report->gradient.flops},
                                  {"bytes_per_token", report->gradient.bytes},
                                  {"program_flops_per_token", report->program.flops},
                                  {"program_bytes_per_token", report->program.bytes}});
}
