#include "Plan/Search.h"
#include "Plan/Cost.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::plan;

std::string plan::explainInMemory(const GPUPlan &plan) {
  return fmt::format("{:.1f} KiB of a CTA's tiles would lie in the device's memory",
                     double(plan.workspaceBytes) / 1024);
}

Search::Search(chunk::ProgramOp program, const PipelineOptions &pipeline, Form from,
               std::vector<tile::LeftRows> offered)
    : program(program), pipeline(pipeline), offered(std::move(offered)) {
  taken.chunk = int64_t(program.getChunk());
  taken.form = from;
  taken.summarises = !program.getSummaryOf(); // what a segment makes of a state is not cut into segments
}

Built &Search::get(const Candidate &candidate) {
  for (auto &[other, kernels] : built)
    if (other == candidate)
      return *kernels;
  built.emplace_back(candidate, std::make_unique<Built>(build(program, pipeline, candidate, offered)));
  return *built.back().second;
}

Verdict *Search::findVerdict(const Candidate &candidate) {
  auto found = find_if(verdicts, [&](const Verdict &one) { return one.candidate == candidate; });
  return found == verdicts.end() ? nullptr : &*found;
}

static bool isWantedMore(const Candidate &candidate, const Verdict &other) {
  return std::pair(candidate.hasPrologue, candidate.form) <
         std::pair(other.candidate.hasPrologue, other.candidate.form);
}

void Search::judge(const Candidate &candidate, const Twine &whyNot) {
  Verdict *verdict = findVerdict(candidate);
  if (!verdict) {
    verdict = &*verdicts.insert(upper_bound(verdicts, candidate, isWantedMore), {candidate, 0, ""});
    for (auto &[other, kernels] : built)
      if (other == candidate && kernels->kernels)
        verdict->cycles = kernels->kernels->plan.cycles;
  }
  verdict->whyNot = whyNot.str();
}

/// Inverses that are not rounded must cost neither a stage of the chain, nor the second CTA of the launches before it
/// on a multiprocessor.
std::string Search::findObjectionToPrecise(const Candidate &candidate) {
  const GPUKernels &precise = *get(candidate).kernels;
  Candidate rounded = candidate;
  rounded.form = Form::OutputsInChain;
  const Built &other = get(rounded);
  if (!other.kernels)
    return "without this there is no such plan: " + other.whyNot;
  if (countStages(precise) < countStages(*other.kernels))
    return "inverses that are rounded leave room for more chunks ahead";
  if (!leavesRoom(precise.plan, *pipeline.target.gpu))
    return "only one CTA of a launch before the chain has room on a multiprocessor";
  return "";
}

std::string Search::findObjection(const Candidate &candidate) {
  const Built &own = get(candidate);
  if (!own.kernels)
    return own.whyNot;
  // Tiles in device memory cost more than values that are left for another launch there.
  const GPUPlan &plan = own.kernels->plan;
  if (candidate.form != Form::InPhases && plan.workspaceBytes)
    return explainInMemory(plan);
  if (candidate.form == Form::PreciseInChain)
    return findObjectionToPrecise(candidate);
  if (candidate.form != Form::OutputsInChain || leavesRoom(plan, *pipeline.target.gpu))
    return "";
  // Interactions of the outputs may take the room of a second CTA from what is early, which outweighs a launch less.
  Candidate apart = candidate;
  apart.form = Form::InPhases;
  const Built &other = get(apart);
  bool isBetter =
      other.kernels && !other.kernels->plan.workspaceBytes && leavesRoom(other.kernels->plan, *pipeline.target.gpu);
  return isBetter ? "a second CTA has room on a multiprocessor where outputs have a launch of their own" : "";
}

std::optional<Candidate> Search::findInPhases(Form form, bool hasPrologue) {
  bool lacksPrecise = false;
  for (; form != Form::Plain; form = getNext(form)) {
    if (form == Form::PreciseInChain && !roundsFactors(program))
      continue;
    Candidate candidate = taken;
    candidate.form = form;
    candidate.hasPrologue = hasPrologue;
    std::string objection = findObjection(candidate);
    Built &made = get(candidate);
    if (objection.empty()) {
      made.kernels->plan.lacksPrecise = lacksPrecise;
      return candidate;
    }
    judge(candidate, objection);
    if (form == Form::PreciseInChain)
      lacksPrecise = made.kernels || made.lacksRegisters;
  }
  return std::nullopt;
}

std::optional<Candidate> Search::findWithPrologue(const std::optional<Candidate> &without) {
  if (taken.form == Form::Plain || program.getBody().getOps<chunk::PreviousOp>().empty())
    return without;
  // Of the form that it has without: a launch for rows alone is no reason to round outputs on their way.
  std::optional<Candidate> apart = findInPhases(without ? without->form : taken.form, /*hasPrologue=*/true);
  if (!apart)
    return without;
  const GPUPlan &plan = get(*apart).kernels->plan, *other = without ? &get(*without).kernels->plan : nullptr;
  constexpr double margin = 0.85; // estimates are off by as much
  std::string objection;
  if (plan.workspaceBytes)
    objection = explainInMemory(plan);
  else if (other && !other->workspaceBytes && plan.cycles >= margin * other->cycles)
    objection = fmt::format("its estimate is not below {} times that of the one without this launch", margin);
  if (!objection.empty()) {
    judge(*apart, objection);
    return without;
  }
  if (without)
    judge(*without, "the one with a launch for rows of several tokens takes less time");
  return apart;
}

Expected<GPUKernels> Search::find() {
  std::optional<Candidate> found = findWithPrologue(findInPhases(taken.form, /*hasPrologue=*/false));
  if (found) {
    taken = *found;
  } else {
    taken.form = Form::Plain;
    taken.hasPrologue = false;
  }
  Built &best = get(taken);
  judge(taken, best.whyNot);
  if (!best.kernels)
    return createStringError(best.whyNot);
  for (const auto &[other, kernels] : built)
    if (!findVerdict(other))
      judge(other, "one that is wanted more stands");
  GPUKernels kernels = std::move(*best.kernels);
  built.clear();
  return std::move(kernels);
}

void Search::refuse(StringRef why) {
  judge(taken, why);
  Candidate next;
  next.chunk = taken.chunk;
  next.form = getNext(taken.form);
  next.summarises = !program.getSummaryOf();
  next.isInTurn = taken.isInTurn;
  taken = std::move(next);
}

void Search::refuseSummaries(StringRef why) {
  judge(taken, why);
  taken.summarises = taken.hasPrologue = false;
  taken.changes.clear();
}

void Search::refuseAhead(StringRef why) {
  judge(taken, why);
  taken.isInTurn = true;
  taken.changes.clear();
}

void Search::change(StringRef why, ArrayRef<Change> changes) {
  double cycles = findVerdict(taken)->cycles;
  judge(taken, why);
  for (const Change &change : changes) {
    erase_if(taken.changes, [&](const Change &earlier) { return earlier.about == change.about; });
    taken.changes.push_back(change);
  }
  judge(taken, "");
  findVerdict(taken)->cycles = cycles;
}
