// What a plan gives up where the assembler complains of its kernels.
#pragma once
#include "Plan/GPUPlan.h"

namespace recur::plan {

struct Complaint {
  llvm::StringRef kernel;
  bool spills; // numbers to memory; else it complains of something else
};

/// Changes kernels that are complained of so that they need fewer registers, in the way that costs least of those that
/// are left. What changed, for a report; empty: no way is left.
std::vector<Change> relieve(GPUKernels &kernels, const GPUProfile &gpu, llvm::ArrayRef<Complaint> complaints);

} // namespace recur::plan
