#include "property/Plans.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Compile/CUDAKernel.h"
#include "Compile/KernelPlans.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace recur;
using namespace recur::property;
using plan::GPUPlan;

/// What a launch is for, by whatever names: `_chain_0` of `mesa_net_chain_G`.
static std::string kindOf(llvm::StringRef symbol, dgps::RecurrenceOp recurrence) {
  symbol.consume_front(recurrence.getSymName());
  std::string kind = (symbol + "_").str();
  for (auto [i, state] : llvm::enumerate(recurrence.getStates())) {
    std::string name = "_" + state.getName().str() + "_";
    if (size_t place = kind.find(name); place != std::string::npos)
      kind.replace(place, name.size(), "_" + std::to_string(i) + "_");
  }
  return kind;
}

static void add(PlansOfTarget &plans, llvm::StringRef what, int64_t chunk, const GPUPlan &plan,
                dgps::RecurrenceOp recurrence) {
  plans.text += fmt::format("{}: {} tokens, {}{}\n", what.str(), chunk, plan::getName(plan.form).str(),
                            plan.workspaceBytes ? ", tiles in the device's memory" : "");
  for (auto [launch, time] : llvm::zip(plan.launches, plan.times)) {
    std::string kind = kindOf(launch.symbol, recurrence);
    plans.text += fmt::format("  launch{}: {} threads, {} parts, chunks {}{}{}{}{}\n", kind, launch.threads,
                              launch.parts, launch.chunksAreApart ? "apart" : "in order",
                              launch.teams ? fmt::format(", {} teams", launch.teams) : "",
                              launch.awaits ? ", awaits the one before" : "", launch.cuts ? ", cut into segments" : "",
                              launch.bounds ? ", for segments" : "");
    plans.costs.push_back({what.str() + kind + " at best", time.getBound()});
    plans.costs.push_back({what.str() + kind + " where ops wait", time.critical});
  }
  // Which is named first is chance.
  std::vector<std::string> left;
  for (const tile::LeftRows &array : plan.left)
    left.push_back(fmt::format("  left: {} rows of [{}], {} bytes each\n", array.rows, fmt::join(array.shape, ", "),
                               array.elementBytes));
  llvm::sort(left);
  for (const std::string &line : left)
    plans.text += line;
}

static llvm::Error addGPUPlans(PlansOfTarget &plans, dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  llvm::Expected<plan::ChunkChoice> choice = compile::chooseChunk(recurrence, options);
  if (!choice)
    return choice.takeError();
  add(plans, "chunk", choice->chunk, choice->kernels.plan, recurrence);
  PipelineOptions ofStep = options;
  auto module = compile::makeStepProgram(recurrence, ofStep);
  if (!module)
    return module.takeError();
  auto step = plan::Search(*(**module).getOps<chunk::ProgramOp>().begin(), ofStep, plan::Form::Plain).find();
  if (!step)
    return step.takeError();
  add(plans, "step", 1, step->plan, recurrence);
  return llvm::Error::success();
}

static llvm::Error addCorePlans(PlansOfTarget &plans, dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  llvm::Expected<compile::RecurrencePlans> decided = compile::decidePlans(recurrence, options);
  if (!decided)
    return decided.takeError();
  for (const compile::KernelPlan &plan : decided->plans)
    if (plan.isAvailable())
      plans.text += fmt::format("{}: {} tokens, from {} on\n", codegen::getPlanName(plan.plan).str(), plan.chunk,
                                plan.tokensFrom);
  chunk::ProgramOp program = decided->getProgram();
  plans.costs.push_back({"flops", double(chunk::countFlops(program.getBody().front()))});
  return llvm::Error::success();
}

llvm::Expected<PlansOfTarget> property::findPlans(dgps::RecurrenceOp recurrence, const PipelineOptions &options) {
  PlansOfTarget plans;
  llvm::Error error =
      options.target.isCPU() ? addCorePlans(plans, recurrence, options) : addGPUPlans(plans, recurrence, options);
  if (error)
    return std::move(error);
  return plans;
}

std::string property::comparePlans(const PlansOfTarget &a, const PlansOfTarget &b, double tolerance) {
  if (a.text != b.text)
    return "the plans differ:\n" + a.text + "against\n" + b.text;
  for (auto [one, other] : llvm::zip(a.costs, b.costs))
    if (std::fabs(one.cost - other.cost) > tolerance * std::max(one.cost, other.cost))
      return fmt::format("{} costs {:.0f} against {:.0f}\n", one.what, one.cost, other.cost);
  return {};
}
