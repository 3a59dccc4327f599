#include "Explain/PlanReport.h"
#include "Analysis/StoredTypes.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Compile/Backend.h"
#include "Compile/KernelPlans.h"
#include "Explain/CandidateReport.h"
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <unistd.h>

using namespace llvm;
using namespace recur;
using namespace recur::explain;
using namespace recur::compile;

namespace {
struct PlanReport {
  std::vector<KernelPlan> plans;
  int64_t stateBytes = 0; // of one head
  int64_t cacheBytes = 0; // of the second level, where known
  KernelReport kernels;
};
} // namespace

static int64_t countStateBytes(dgps::RecurrenceOp recurrence) {
  int64_t bytes = 0;
  for (dgps::StateOp state : recurrence.getStates()) {
    int64_t count = 1;
    for (int64_t side : cast<dgps::RealType>(state.getType()).getShape())
      count *= side;
    bytes += count * getByteSize(analysis::getStoredDataType(state.getStored()));
  }
  return bytes;
}

/// What the precision that was asked for changes.
static Expected<std::string> explainTF32(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  if (pipeline.target.isCPU())
    return "tf32 changes nothing: processors multiply float32 as it is";
  auto module = copyTo("chunk", recurrence, pipeline);
  if (!module)
    return module.takeError();
  bool rounds = (*(**module).getOps<chunk::ProgramOp>().begin()).hasTF32Factors();
  return rounds ? "tf32: products of float32 data round each factor to 11 bits"
                : "tf32 changes nothing: the data have 16 bits, and products round factors to bf16";
}

static Expected<PlanReport> makeReport(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                       std::vector<plan::Verdict> lostChunks) {
  PlanReport report;
  report.stateBytes = countStateBytes(recurrence);
  Expected<std::vector<KernelPlan>> plans = listKernelPlans(recurrence, pipeline);
  if (!plans)
    return plans.takeError();
  report.plans = std::move(*plans);
  Expected<KernelReport> kernels = getBackend(pipeline.target).explainKernels(recurrence, pipeline);
  if (!kernels)
    return kernels.takeError();
  report.kernels = std::move(*kernels);
  report.kernels.lostChunks = std::move(lostChunks);
  if (pipeline.precision == Precision::TF32) {
    Expected<std::string> text = explainTF32(recurrence, pipeline);
    if (!text)
      return text.takeError();
    report.kernels.remarks.insert(report.kernels.remarks.begin(), {"precision", std::move(*text)});
  }
  if (pipeline.target.isHost())
    report.cacheBytes = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
  return report;
}

static std::string printBytes(int64_t bytes) {
  return bytes < 1024 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} KiB", double(bytes) / 1024);
}

/// When a call that is left alone takes the plan.
static std::string explainChoice(const PlanReport &report, const KernelPlan &plan, const Target &target) {
  auto isMain = [](const KernelPlan &other) {
    return other.isAvailable() && other.plan != RECUR_PLAN_STEP && other.plan != RECUR_PLAN_SEGMENT;
  };
  if (plan.plan == RECUR_PLAN_SEGMENT)
    return getBackend(target).explainSegmentChoice(plan.tokensFrom);
  if (isMain(plan) && plan.tokensFrom == 0)
    return "auto takes it always";
  if (isMain(plan) && plan.tokensFrom == noTokens)
    return "auto does not take it: going token by token is faster";
  if (isMain(plan))
    return fmt::format("auto takes it from {} tokens on", plan.tokensFrom);
  auto main = find_if(report.plans, isMain);
  if (main == report.plans.end())
    return "auto takes it always";
  return main->tokensFrom == noTokens ? "auto takes it for any number of tokens"
                                      : fmt::format("auto takes it below {} tokens", main->tokensFrom);
}

/// Whether workspaces stay in the cache, of which each processor has its own.
static std::string explainCache(const PlanReport &report) {
  SmallVector<StringRef> fitting, larger;
  for (const KernelPlan &plan : report.plans)
    if (plan.isAvailable())
      (plan.workspaceBytes <= report.cacheBytes ? fitting : larger).push_back(codegen::getPlanName(plan.plan));
  std::string text = "second-level cache of " + printBytes(report.cacheBytes);
  if (!fitting.empty())
    text += ", which holds the workspace of " + join(fitting, ", ");
  if (!larger.empty())
    text += (fitting.empty() ? ", too small for that of " : "; too small for that of ") + join(larger, ", ");
  return text;
}

static std::string writeText(const PlanReport &report, const PipelineOptions &pipeline) {
  std::string text = fmt::format("\nplans for {}\n", pipeline.target.name);
  auto line = [&](StringRef name, const std::string &what) { text += fmt::format("  {:<15}{}\n", name.str(), what); };
  for (const KernelPlan &plan : report.plans) {
    StringRef name = codegen::getPlanName(plan.plan);
    if (!plan.whyNot.empty())
      line(name, "no: " + plan.whyNot);
    else if (plan.segmentBytes)
      line(name, fmt::format("{} tokens at once, in {} of workspace and {} for each segment", plan.chunk,
                             printBytes(plan.workspaceBytes), printBytes(plan.segmentBytes)));
    else if (plan.chunk)
      line(name, fmt::format("{} tokens at once, in {} of workspace", plan.chunk, printBytes(plan.workspaceBytes)));
    else
      line(name, fmt::format("a token at once, in {} of workspace", printBytes(plan.workspaceBytes)));
    if (plan.isAvailable())
      line("", explainChoice(report, plan, pipeline.target));
  }
  for (const Remark &remark : report.kernels.remarks)
    line(remark.about, remark.text);
  line("memory", fmt::format("states {} a head; each head that is computed at the same time has a workspace",
                             printBytes(report.stateBytes)));
  if (report.cacheBytes)
    line("cache", explainCache(report));
  return text + writeCandidates(report.kernels, pipeline.target);
}

static json::Value toJson(const PlanReport &report, const PipelineOptions &pipeline) {
  json::Array plans;
  for (const KernelPlan &plan : report.plans) {
    json::Object object{{"plan", codegen::getPlanName(plan.plan)}, {"available", plan.whyNot.empty()}};
    if (!plan.whyNot.empty()) {
      object["reason"] = plan.whyNot;
    } else {
      object["workspace_bytes_per_thread"] = plan.workspaceBytes;
      object["auto_tokens_from"] = plan.tokensFrom;
      if (report.cacheBytes)
        object["fits_second_level_cache"] = plan.workspaceBytes <= report.cacheBytes;
      if (plan.chunk)
        object["chunk"] = plan.chunk;
      if (plan.segmentBytes)
        object["workspace_bytes_per_segment"] = plan.segmentBytes;
    }
    plans.push_back(std::move(object));
  }
  json::Object result{
      {"target", pipeline.target.name}, {"plans", std::move(plans)}, {"state_bytes_per_head", report.stateBytes}};
  if (report.cacheBytes)
    result["second_level_cache_bytes"] = report.cacheBytes;
  json::Array remarks;
  for (const Remark &remark : report.kernels.remarks)
    remarks.push_back(json::Object{{"about", remark.about}, {"text", remark.text}});
  if (!remarks.empty())
    result["remarks"] = std::move(remarks);
  if (json::Array candidates = listCandidates(report.kernels); !candidates.empty())
    result["candidates"] = std::move(candidates);
  return json::Value(std::move(result));
}

Expected<Report> explain::explainPlans(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                       std::vector<plan::Verdict> lostChunks) {
  Expected<PlanReport> report = makeReport(recurrence, pipeline, std::move(lostChunks));
  if (!report)
    return report.takeError();
  return Report{writeText(*report, pipeline), toJson(*report, pipeline)};
}
