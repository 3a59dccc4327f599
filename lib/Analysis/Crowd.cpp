#include "Analysis/Crowd.h"

using namespace recur;

int64_t analysis::countNeighbourCTAs(tile::KernelOp kernel) {
  constexpr int64_t registers = 65536, enoughPerThread = 128, reservedBytes = 1024; // of shared memory, for each CTA
  if (kernel.getBody().front().getOps<mlir::scf::ParallelOp>().empty())
    return 1;
  int64_t byRegisters = registers / (enoughPerThread * int64_t(*kernel.getThreads()));
  int64_t byMemory = (tile::mostSharedBytes + reservedBytes) / (int64_t(*kernel.getShared()) + reservedBytes);
  return std::max<int64_t>(1, std::min(byRegisters, byMemory));
}
