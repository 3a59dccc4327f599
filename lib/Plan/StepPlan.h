// What a kernel of one token after another has besides: parts of states, its occupancy, and a second kernel for trees.
#pragma once
#include "Plan/GPUPlan.h"

namespace recur::plan {

/// With `trees`, a kernel for tokens that are tried as trees where it can have one.
void completeStep(GPUKernels &kernels, const GPUProfile &gpu, bool trees);

/// Where threads hold states beside too few registers, lets them hold less. What the kernel does then, for a report;
/// empty: nothing else.
std::string holdLess(GPUKernels &kernels, const GPUProfile &gpu, tile::KernelOp kernel);

} // namespace recur::plan
