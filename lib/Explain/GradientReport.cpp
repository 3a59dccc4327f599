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
  Cost gradient, program, states; // of one token of one head; `states`: going over a chunk for its states alone
  double stateBytes;              // of all states of a head; 0 where the gradient takes none
};

/// What is kept between forward and backward: bytes and flops of a token, and how long it takes, by these flops, over
/// the fastest way.
struct Keeping {
  std::string what;
  double bytes, flops, time = 1;
};
} // namespace

/// From the fastest to the one that takes least memory. Where the caller keeps nothing, the runtime has the states of
/// a part of the sequence in its workspace, and goes over the tokens twice where that is not all of it.
static std::vector<Keeping> listKeepings(const GradientReport &report) {
  double flops = report.gradient.flops, again = report.states.flops;
  if (report.stateBytes == 0)
    return {{"nothing, for these gradients take no states", 0, flops, 1}};
  double each = report.stateBytes / double(report.chunk);
  double part = 16; // chunks, of a long sequence whose states are too many
  std::vector<Keeping> all{
      {"every chunk's states, by the call forward", each, flops},
      {fmt::format("states every {} chunks, by the call forward", part), each / part, flops + again},
      {"nothing; states in the workspace", each, flops + again},
      {"nothing; states of a part in the workspace", 0, flops + 2 * again}};
  for (Keeping &keeping : all)
    keeping.time = keeping.flops / std::max(1.0, flops);
  return all;
}

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

static double countStateBytes(chunk::ProgramOp program) {
  double bytes = 0;
  for (chunk::StateOp state : program.getStates())
    bytes += 4 * double(chunk::tensorOf(state).getNumElements());
  return bytes;
}

static Expected<GradientReport> makeReport(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<compile::GradientPrograms> programs = compile::makeGradientPrograms(recurrence, options);
  if (!programs)
    return programs.takeError();
  return GradientReport{int64_t(programs->gradient.getChunk()),
                        writeEquations(programs->gradient),
                        countCost(programs->gradient),
                        countCost(programs->program),
                        countCost(programs->states),
                        programs->gradient.getKept().empty() ? 0 : countStateBytes(programs->states)};
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
  StringRef title = "kept";
  for (const Keeping &keeping : listKeepings(*report)) {
    line(title.data(), fmt::format("{:<44}{:>5.0f} bytes and {:.0f} flops a token, time {:.2f}", keeping.what,
                                   keeping.bytes, keeping.flops, keeping.time));
    title = "";
  }
  return text;
}

Expected<json::Value> explain::explainGradientJson(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<GradientReport> report = makeReport(recurrence, options);
  if (!report)
    return report.takeError();
  json::Array kept;
  for (const Keeping &keeping : listKeepings(*report))
    kept.push_back(json::Object{{"what", keeping.what},
                                {"bytes_per_token", keeping.bytes},
                                {"flops_per_token", keeping.flops},
                                {"relative_time", keeping.time}});
  return json::Value(json::Object{{"size", report->chunk},
                                  {"kept", std::move(kept)},
                                  {"equations", json::Array(report->equations)},
                                  {"flops_per_token", report->gradient.flops},
                                  {"bytes_per_token", report->gradient.bytes},
                                  {"program_flops_per_token", report->program.flops},
                                  {"program_bytes_per_token", report->program.bytes}});
}
