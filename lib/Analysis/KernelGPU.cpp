#include "Analysis/KernelGPU.h"

using namespace recur;

const GPUProfile &analysis::gpuOf(tile::KernelOp kernel) {
  const GPUProfile *named = kernel.getGpu() ? findGPUProfile(*kernel.getGpu()) : nullptr;
  return named ? *named : getDefaultGPUProfile();
}

std::optional<std::string> analysis::explainNoGPU(tile::KernelOp kernel) {
  if (kernel.getGpu() && !findGPUProfile(*kernel.getGpu()))
    return "there is no GPU '" + kernel.getGpu()->str() + "'";
  int64_t teams = int64_t(kernel.getTeams().value_or(1));
  return gpuOf(kernel).explainNoRoom(teams * int64_t(kernel.getShared().value_or(0)));
}
