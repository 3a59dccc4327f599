// Gradients of sequences that are cut into segments, which are worked on at the same time.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Computes all of the call but the sums of gradients of params.
void runGradientSteps(const Call &call);

} // namespace recur::runtime
