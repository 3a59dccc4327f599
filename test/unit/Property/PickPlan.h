// Plans of drawn recurrences.
#pragma once
#include "Compile/KernelPlans.h"
#include "llvm/ADT/STLExtras.h"

namespace recur::property {

/// One of the plans that kernels of the recurrence have.
inline Plan pickPlan(dgps::RecurrenceOp recurrence, uint64_t number) {
  std::vector<Plan> has = {Plan::Auto};
  if (auto kernels = compile::listKernelPlans(recurrence, {})) {
    for (Plan plan : {Plan::Step, Plan::Chunk, Plan::Segment, Plan::Scan, Plan::TokenLoop})
      if (llvm::any_of(*kernels, [wanted = compile::getRuntimePlan(plan)](const compile::KernelPlan &kernel) {
            return kernel.plan == wanted && kernel.whyNot.empty();
          }))
        has.push_back(plan);
  } else {
    llvm::consumeError(kernels.takeError()); // compiling it will say the same
  }
  return has[number % has.size()];
}

} // namespace recur::property
