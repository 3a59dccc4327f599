// What candidates are compared by: the cycles of a call, and the room that a multiprocessor has left.
#pragma once
#include "Plan/GPUPlan.h"

namespace recur::plan {

/// Of a call of so many tokens, whose heads are fewer than multiprocessors.
inline constexpr double tokensOfCall = 4096, headsOfCall = 32;
double estimateCall(const GPUKernels &kernels, const GPUProfile &gpu);

/// How many chunks ahead of their use the chains together have room for.
int64_t countStages(const GPUKernels &kernels);

/// Whether a second CTA has room on a multiprocessor, for all launches whose chunks are apart.
bool leavesRoom(const GPUPlan &plan, const GPUProfile &gpu);

/// How many tokens a kernel takes at a time.
int64_t countTokensAtOnce(tile::KernelOp kernel);

} // namespace recur::plan
