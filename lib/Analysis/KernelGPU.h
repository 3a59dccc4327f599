// The GPU that a kernel is planned for.
#pragma once
#include "Target/GPUProfile.h"
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// Where the kernel names none that is known, that of `sm_90a`.
const GPUProfile &gpuOf(tile::KernelOp kernel);

/// Why the kernel cannot run on its GPU: nobody knows that, or it takes more than there is. None where it can.
std::optional<std::string> explainNoGPU(tile::KernelOp kernel);

} // namespace recur::analysis
