#include "Plan/Cost.h"
#include "Analysis/Crowd.h"
#include "Analysis/StateChain.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace llvm;
using namespace recur;
using namespace recur::plan;

int64_t plan::countTokensAtOnce(tile::KernelOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front()) {
    auto inTurn = dyn_cast<mlir::scf::ForOp>(op);
    auto atOnce = dyn_cast<mlir::scf::ParallelOp>(op);
    if (!inTurn && !atOnce)
      continue;
    mlir::Value step = inTurn ? inTurn.getStep() : atOnce.getStep()[0];
    if (auto cast = step.getDefiningOp<mlir::arith::IndexCastOp>())
      step = cast.getIn();
    mlir::IntegerAttr size;
    if (matchPattern(step, mlir::m_Constant(&size)))
      return size.getInt();
  }
  return 0;
}

int64_t plan::countStages(const GPUKernels &kernels) {
  int64_t stages = 0;
  for (tile::KernelOp kernel : kernels.tiles.get().getOps<tile::KernelOp>())
    if (std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel))
      stages += chain->stages;
  return stages;
}

bool plan::leavesRoom(const GPUPlan &plan, const GPUProfile &gpu) {
  return all_of(plan.launches, [&](const tile::Launch &launch) {
    return !launch.chunksAreApart || analysis::countCTAs(gpu, launch.sharedBytes) > 1;
  });
}

/// Whether a kernel begins with the last chunks of a sequence.
static bool beginsLate(tile::KernelOp kernel) {
  auto loops = kernel.getBody().front().getOps<mlir::scf::ForOp>();
  auto segments = kernel.getBody().front().getOps<tile::SegmentOp>(); // whose beginning depends on the launch
  return !loops.empty() && segments.empty() && !matchPattern((*loops.begin()).getLowerBound(), mlir::m_Constant());
}

double plan::estimateCall(const GPUKernels &kernels, const GPUProfile &gpu) {
  const double multiprocessors = double(gpu.getModel().multiprocessors);
  constexpr double lastChunks = 2;
  double cycles = 0, before = 0;
  for (auto [launch, time, kernel] :
       zip(kernels.plan.launches, kernels.plan.times, kernels.tiles.get().getOps<tile::KernelOp>())) {
    if (launch.bounds)
      continue;
    double parts = double(std::max<int64_t>(1, launch.parts)), own = 0;
    double chunks = beginsLate(kernel) ? lastChunks : tokensOfCall / double(countTokensAtOnce(kernel));
    if (launch.chunksAreApart) {
      own =
          headsOfCall * chunks / multiprocessors * analysis::estimateChunk(time, analysis::countNeighbourCTAs(kernel));
    } else {
      std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel);
      own = chunks * std::ceil(headsOfCall * parts / multiprocessors) *
            (chain ? analysis::estimateChain(*chain, time) : time.critical);
    }
    cycles += own;
    double left = multiprocessors - headsOfCall * parts;
    if (launch.awaits && left > 0)
      cycles = std::min(cycles, cycles - own - before + std::max(own, before * multiprocessors / left));
    before = own;
  }
  return cycles;
}
