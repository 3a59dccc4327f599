// GPUs that are not listed, for whoever embeds the compiler.
#pragma once
#include "Target/GPUProfile.h"

namespace recur {

/// Kernels may name the profile from then on (`findGPUProfile`). Before the first of them is compiled, for threads that
/// compile do not wait for it.
void addGPUProfile(const GPUProfile &profile);

} // namespace recur
