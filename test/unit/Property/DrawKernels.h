// How the kernels of a drawn recurrence are made.
#pragma once
#include "Compile/KernelPlans.h"
#include "Data/Random.h"
#include "llvm/ADT/STLExtras.h"

namespace recur::property {

/// Every type of data on every processor that this one can stand for, and now and then a list of them. LLVM's
/// optimisations are ten times as much work as all the rest, and so for some only.
inline void drawKernelOptions(data::Random &random, PipelineOptions &options) {
  options.dataTypes = random.pick<DataType>({DataType::F32, DataType::BF16, DataType::F16});
  std::vector<Target> targets;
  for (const Target &target : getTargets())
    if (target.runsHere && !explainNoVectorKernels(target) &&
        (options.dataTypes.all != DataType::F16 || target.vectors.hasF16))
      targets.push_back(target);
  if (targets.empty())
    return;
  options.target = random.pick(targets);
  if (random.chance(0.2) && !options.target.isHost())
    for (const Target &target : targets)
      if (!target.isHost() && target.features.size() < options.target.features.size())
        options.lowerTargets = {target};
  options.effort = random.chance(0.2) ? Effort::Full : Effort::Quick;
}

/// In every second case arrays have types of their own. Each follows from the seed and the array's name, so that it
/// stays while a recurrence is reduced.
inline void drawArrayTypes(dgps::RecurrenceOp recurrence, uint64_t seed, PipelineOptions &options) {
  if (data::Random(seed).chance(0.5))
    return;
  bool hasF16 = !options.target.isCPU() || options.target.vectors.hasF16;
  for (const Target &lower : options.lowerTargets)
    hasF16 &= lower.vectors.hasF16;
  auto draw = [&](auto arrays) {
    for (auto array : arrays) {
      uint64_t hash = seed;
      for (char letter : array.getName())
        hash = hash * 1000003 + uint64_t(letter);
      data::Random random(hash);
      DataType type = random.pick<DataType>({DataType::F32, DataType::BF16, DataType::F16});
      if (random.chance(0.5) && (type != DataType::F16 || hasF16))
        options.dataTypes.named[array.getName().str()] = type;
    }
  };
  draw(recurrence.getInputs());
  draw(recurrence.getParams());
  draw(recurrence.getStates());
  draw(recurrence.getOutputs());
}

/// One of the plans that kernels of the recurrence have.
inline Plan pickPlan(dgps::RecurrenceOp recurrence, const PipelineOptions &options, data::Random &random) {
  std::vector<Plan> has = {Plan::Auto};
  if (auto kernels = compile::listKernelPlans(recurrence, options)) {
    for (Plan plan : {Plan::Step, Plan::Chunk, Plan::Segment, Plan::Scan, Plan::TokenLoop})
      if (llvm::any_of(*kernels, [wanted = compile::getRuntimePlan(plan)](const compile::KernelPlan &kernel) {
            return kernel.plan == wanted && kernel.whyNot.empty();
          }))
        has.push_back(plan);
  } else {
    llvm::consumeError(kernels.takeError()); // compiling it will say the same
  }
  return random.pick(has);
}

/// For messages: `bf16, target x86-64-v4,x86-64-v3, optimised`.
inline std::string describeOptions(const PipelineOptions &options) {
  std::string text = options.dataTypes.print() + ", target " + options.target.name;
  for (const Target &lower : options.lowerTargets)
    text += "," + lower.name;
  return text + (options.effort == Effort::Full ? ", optimised" : "");
}

} // namespace recur::property
