#include "Explain/GradientReport.h"
#include "Analysis/StoredTypes.h"
#include "Compile/Backend.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "Compile/SegmentPrograms.h"
#include "Explain/CandidateReport.h"
#include "Explain/ChunkEquations.h"
#include "Explain/ChunkReport.h"
#include "dialects/Chunk/ChunkSummaryParts.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::explain;

namespace {
/// How segments of a sequence are gone over at the same time. Times are in those of a chunk of the gradient.
struct Segments {
  std::string whyNot;     // empty where they are
  std::string whyTwo;     // empty where there may be more
  double states = 0;      // of going ahead for the states that the gradient takes
  double chain = 0;       // of going back for the cotangents of states alone
  double maps = 0;        // of what a segment between others makes of states
  int64_t bytes = 0;      // of a segment of a head, beside the states that are kept in it
  bool isApart = true;    // no chunk needs another
  bool needsKept = false; // cotangents of states alone take states too
};

struct GradientReport {
  int64_t chunk;
  std::vector<std::string> equations;
  Cost gradient, program, states; // of one token of one head; `states`: going over a chunk for its states alone
  double stateBytes;              // of all states of a head; 0 where the gradient takes none
  Segments segments;
  compile::KernelReport kernels; // of a processor nothing
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
    return {{"nothing: these gradients need no states", 0, flops, 1}};
  double each = report.stateBytes / double(report.chunk);
  double part = 16; // chunks, of a long sequence whose states are too many
  std::vector<Keeping> all{
      {"every chunk's states, by the forward call", each, flops},
      {fmt::format("states every {} chunks, by the forward call", part), each / part, flops + again},
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

static double countBytes(chunk::ProgramOp states, function_ref<bool(StringRef)> isWanted) {
  double bytes = 0;
  for (chunk::StateOp state : states.getStates())
    if (isWanted(state.getName()))
      bytes += double(getByteSize(analysis::getStoredDataType(state.getKept()))) *
               double(chunk::tensorOf(state).getNumElements());
  return bytes;
}

/// Of those states that the gradient takes.
static double countTakenBytes(const compile::GradientPrograms &programs) {
  StringSet<> taken;
  for (chunk::KeptOp kept : chunk::ProgramOp(programs.gradient).getKept())
    taken.insert(kept.getName());
  return countBytes(programs.states, [&](StringRef name) { return taken.contains(name); });
}

static int64_t countBytes(chunk::StateOp state) { return 4 * chunk::tensorOf(state).getNumElements(); }

static Expected<Segments> findSegments(compile::GradientPrograms &programs) {
  Segments segments;
  Expected<chunk::ProgramOp> chain = compile::makeChainProgram(programs);
  if (!chain)
    return chain.takeError();
  SmallVector<StringRef> params;
  for (chunk::ParamOp param : programs.gradient.getParams())
    params.push_back(param.getName());
  bool carriesStates = any_of(programs.gradient.getStates(), [&](chunk::StateOp state) {
    return !is_contained(params, state.getName().drop_front(StringRef("gradient.").size()));
  });
  if (carriesStates && !*chain) {
    segments.whyNot = "only gradients of states are asked for, which go from chunk to chunk";
    return segments;
  }
  double cost = compile::estimateCost(programs.gradient);
  bool takesStates = !programs.gradient.getKept().empty();
  segments.isApart = !carriesStates && !takesStates;
  segments.states = takesStates ? compile::estimateCost(programs.states) / cost : 0;
  segments.chain = *chain ? compile::estimateCost(*chain) / cost : 0;
  segments.needsKept = *chain && !chunk::ProgramOp(*chain).getKept().empty();
  auto stateBytes = int64_t(countBytes(programs.states, [](StringRef) { return true; }));
  segments.bytes = takesStates ? 2 * stateBytes : 0;
  for (chunk::StateOp carried : programs.gradient.getStates())
    segments.bytes += countBytes(carried);
  if (segments.isApart)
    return segments;
  segments.whyTwo = compile::explainNoPlan(programs.program, RECUR_PLAN_SEGMENT).value_or("");
  if (!segments.whyTwo.empty())
    return segments;
  Expected<compile::SegmentPrograms> maps = compile::makeSegmentPrograms(programs.program);
  if (!maps)
    return maps.takeError();
  segments.bytes += 2 * stateBytes;
  for (const compile::SegmentProgram &state : maps->states) {
    segments.maps += double(state.facts.cost) * compile::estimateCost(programs.program) / cost;
    chunk::SummaryParts parts = chunk::getSummaryParts(state.summary);
    segments.bytes += countBytes(parts.map) + (parts.scales ? countBytes(parts.scales) : 0);
  }
  return segments;
}

static Expected<GradientReport> makeReport(dgps::RecurrenceOp recurrence, const PipelineOptions &given) {
  const compile::Backend &backend = compile::getBackend(given.target);
  Expected<PipelineOptions> options = given.target.isCPU() ? given : backend.completeGradient(recurrence, given);
  if (!options)
    return options.takeError();
  Expected<compile::GradientPrograms> programs = compile::makeKernelGradients(recurrence, *options);
  if (!programs)
    return programs.takeError();
  Expected<compile::KernelReport> kernels = backend.explainGradient(recurrence, given);
  if (!kernels)
    return kernels.takeError();
  Expected<Segments> segments = findSegments(*programs);
  if (!segments)
    return segments.takeError();
  return GradientReport{int64_t(programs->gradient.getChunk()),
                        writeEquations(programs->gradient),
                        countCost(programs->gradient),
                        countCost(programs->program),
                        countCost(programs->states),
                        countTakenBytes(*programs),
                        std::move(*segments),
                        std::move(*kernels)};
}

static std::vector<std::string> describeSegments(const Segments &segments) {
  if (!segments.whyNot.empty())
    return {"no: " + segments.whyNot};
  std::vector<std::string> lines{"auto may take them if there are fewer sequences and groups of heads than processors, "
                                 "and if they save a twelfth of the time"};
  if (segments.needsKept)
    lines.push_back("only if the forward call kept every chunk's states, because cotangents of states need them");
  if (!segments.whyTwo.empty())
    lines.push_back("two at most: " + segments.whyTwo);
  std::string times;
  for (auto [what, time] : {std::pair("its states", segments.states),
                            {"cotangents of states alone", segments.chain},
                            {"its maps of states", segments.maps}})
    if (time > 0)
      times += fmt::format("{}{} {:.2f}", times.empty() ? "relative to a chunk's gradients: " : ", ", what, time);
  lines.push_back(times.empty() ? "no chunk needs another" : times);
  lines.push_back(fmt::format("{:.1f} KiB for each segment of a head", double(segments.bytes) / 1024));
  return lines;
}

static json::Object toJson(const Segments &segments) {
  json::Object object{{"available", segments.whyNot.empty()}};
  if (!segments.whyNot.empty()) {
    object["reason"] = segments.whyNot;
    return object;
  }
  if (!segments.whyTwo.empty()) {
    object["most"] = 2;
    object["most_reason"] = segments.whyTwo;
  }
  object["needs_kept_states"] = segments.needsKept;
  object["bytes_per_segment"] = segments.bytes;
  object["states_time"] = segments.states;
  object["cotangents_time"] = segments.chain;
  object["maps_time"] = segments.maps;
  return object;
}

static std::string writeText(const GradientReport &report, const PipelineOptions &options) {
  std::string text = fmt::format("\ngradient, {} tokens at once, from the last chunk to the first\n", report.chunk);
  for (const std::string &equation : report.equations)
    text += "  " + equation + "\n";
  auto line = [&](const char *what, const std::string &value) { text += fmt::format("  {:<14}{}\n", what, value); };
  line("where",
       "A^T: transposed; cotangent.NAME: the loss's derivative by NAME; a state: its value at the chunk's start;");
  line("", "range_sums: the gradient of each log decay, from the products that the decay scales");
  line("flops", fmt::format("{:.0f} a token; chunkwise form {:.0f}, ratio {:.2f}", report.gradient.flops,
                            report.program.flops, report.gradient.flops / std::max(1.0, report.program.flops)));
  line("bytes", fmt::format("{:.0f} a token in float32; chunkwise form {:.0f}, ratio {:.2f}", report.gradient.bytes,
                            report.program.bytes, report.gradient.bytes / std::max(1.0, report.program.bytes)));
  StringRef title = "kept";
  for (const Keeping &keeping : listKeepings(report)) {
    line(title.data(), fmt::format("{:<44}{:>5.0f} bytes and {:.0f} flops a token, time {:.2f}", keeping.what,
                                   keeping.bytes, keeping.flops, keeping.time));
    title = "";
  }
  if (!options.target.isCPU()) {
    for (const compile::Remark &remark : report.kernels.remarks)
      line(remark.about.c_str(), remark.text);
    return text + writeCandidates(report.kernels, options.target);
  }
  title = "segments";
  for (const std::string &what : describeSegments(report.segments)) {
    line(title.data(), what);
    title = "";
  }
  return text;
}

static json::Value toJson(const GradientReport &report, const PipelineOptions &options) {
  json::Array kept;
  for (const Keeping &keeping : listKeepings(report))
    kept.push_back(json::Object{{"what", keeping.what},
                                {"bytes_per_token", keeping.bytes},
                                {"flops_per_token", keeping.flops},
                                {"relative_time", keeping.time}});
  json::Object object{{"size", report.chunk},
                      {"kept", std::move(kept)},
                      {"equations", json::Array(report.equations)},
                      {"flops_per_token", report.gradient.flops},
                      {"bytes_per_token", report.gradient.bytes},
                      {"program_flops_per_token", report.program.flops},
                      {"program_bytes_per_token", report.program.bytes}};
  if (options.target.isCPU()) {
    object["segments"] = toJson(report.segments);
    return json::Value(std::move(object));
  }
  json::Array kernels;
  for (const compile::Remark &remark : report.kernels.remarks)
    kernels.push_back(json::Object{{"about", remark.about}, {"text", remark.text}});
  object["kernels"] = std::move(kernels);
  object["candidates"] = listCandidates(report.kernels);
  return json::Value(std::move(object));
}

Expected<Report> explain::explainGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  Expected<GradientReport> report = makeReport(recurrence, options);
  if (!report)
    return report.takeError();
  return Report{writeText(*report, options), toJson(*report, options)};
}
