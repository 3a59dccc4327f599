#include "Analysis/Crowd.h"
#include "Analysis/KernelGPU.h"
#include "Analysis/RowPass.h"

using namespace recur;

int64_t analysis::countCTAs(const GPUProfile &gpu, int64_t sharedBytes) {
  return gpu.sharedOfMultiprocessor / (sharedBytes + gpu.reservedSharedBytes);
}

int64_t analysis::countCTAs(const GPUProfile &gpu, int64_t sharedBytes, int64_t threads, int64_t registersOfThread) {
  return std::min({countCTAs(gpu, sharedBytes), gpu.registers / (registersOfThread * threads),
                   gpu.threadsOfMultiprocessor / threads});
}

/// Whether threads only load, store and go through numbers, of which each has a few at a time.
static bool goesThroughNumbers(tile::KernelOp kernel) {
  return !kernel
              .walk([](mlir::Operation *op) {
                bool isSimple = !mlir::isa<tile::TileDialect>(op->getDialect()) ||
                                mlir::isa<tile::KernelOp, tile::AllocOp, tile::ViewOp, tile::LoadOp, tile::StoreOp,
                                          tile::MapOp, tile::ScanOp, tile::ReduceOp, tile::YieldOp, tile::IndexOp>(op);
                return isSimple ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
              })
              .wasInterrupted();
}

int64_t analysis::countNeighbourCTAs(tile::KernelOp kernel) {
  int64_t enoughRegisters = takesRowsApart(kernel) ? RowPass::registersOfThread : goesThroughNumbers(kernel) ? 64 : 128;
  if (kernel.getBody().front().getOps<mlir::scf::ParallelOp>().empty())
    return 1;
  return std::max<int64_t>(
      1, countCTAs(gpuOf(kernel), int64_t(*kernel.getShared()), int64_t(*kernel.getThreads()), enoughRegisters));
}

int64_t analysis::getOccupancy(tile::KernelOp kernel) {
  if (kernel.getOccupancy())
    return int64_t(*kernel.getOccupancy());
  return kernel.getTeams() ? int64_t(*kernel.getTeams()) : countNeighbourCTAs(kernel);
}
