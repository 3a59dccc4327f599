// The plans that a recurrence has on a target, as far as two spellings of one recurrence must have the same.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace recur::property {

/// How long one part of a plan takes, in whatever unit the target counts.
struct PlanCost {
  std::string what;
  double cost;
};

struct PlansOfTarget {
  std::string text; // a line for each plan and launch: which there are, and what each is like
  std::vector<PlanCost> costs;
};

/// Plans kernels without making any: neither LLVM nor an assembler is asked.
llvm::Expected<PlansOfTarget> findPlans(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

/// What differs: the text, or a cost by more than the tolerance, as a part of it; empty when nothing does.
std::string comparePlans(const PlansOfTarget &a, const PlansOfTarget &b, double tolerance);

} // namespace recur::property
