// Recurrences of examples/ for the search.
#pragma once
#include "../Codegen/Judging.h"
#include "Compile/CUDAKernel.h"
#include "Compile/KernelPlans.h"

namespace recur::test {

inline PipelineOptions makeOptions(llvm::StringRef target, DataType type) {
  PipelineOptions pipeline;
  pipeline.target = *findTarget(target);
  pipeline.dataTypes = type;
  return pipeline;
}

} // namespace recur::test
