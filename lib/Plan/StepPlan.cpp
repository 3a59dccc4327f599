#include "Plan/StepPlan.h"
#include "Analysis/Crowd.h"
#include "Analysis/HeldStates.h"
#include "Analysis/ListedArrays.h"
#include "Analysis/StateParts.h"
#include "Analysis/Trees.h"

using namespace llvm;
using namespace recur;
using namespace recur::plan;

/// How many CTAs of a kernel that waits for memory a multiprocessor may have, which is worth a few registers.
static int64_t findOccupancy(const GPUProfile &gpu, const tile::Launch &launch, int64_t heldNumbers) {
  constexpr int64_t fewRegisters = 80, besideStates = 64;
  int64_t registers = heldNumbers ? std::max(fewRegisters, heldNumbers + besideStates) : fewRegisters;
  return std::max<int64_t>(1, analysis::countCTAs(gpu, launch.sharedBytes, launch.threads, registers));
}

/// What a kernel of one token after another needs; states that threads hold need no shared memory.
static void fitStep(const GPUProfile &gpu, tile::KernelOp tiles, tile::Launch &launch) {
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(tiles);
  if (held)
    launch.sharedBytes = held->countShared(launch.sharedBytes);
  launch.sharedBytes = analysis::endOfLists(tiles, launch.sharedBytes);
  tiles.setOccupancy(findOccupancy(gpu, launch, held ? held->countNumbers() : 0));
}

static void setParts(tile::KernelOp tiles, tile::Launch &launch, int64_t parts) {
  launch.threads = launch.threads * analysis::getStateParts(tiles) / parts;
  launch.stateParts = parts == 1 ? 0 : parts;
  tiles.setThreads(uint64_t(launch.threads));
  tiles->setAttr(analysis::statePartsAttribute,
                 mlir::IntegerAttr::get(mlir::IntegerType::get(tiles.getContext(), 64), parts));
}

/// Two CTAs for a head, where neither needs anything of the other: while one waits for memory or for its warps, others
/// compute.
static void partStates(tile::KernelOp tiles, tile::Launch &launch) {
  constexpr int64_t parts = 2, fewestThreads = 128;
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(tiles);
  if (held && launch.threads >= parts * fewestThreads && analysis::haveParts(tiles, *held))
    setParts(tiles, launch, parts);
}

/// A kernel that can keep its states gets another one beside it for tokens that are tried as trees: what these need
/// more would take registers of the one for chains.
static void addTrees(mlir::ModuleOp tiles, GPUPlan &plan) {
  tile::Launch &launch = plan.launches.front();
  if (launch.arrays.empty())
    return;
  auto kernel = tiles.lookupSymbol<tile::KernelOp>(launch.symbol);
  tile::KernelOp trees = kernel.clone();
  plan.trees = launch;
  plan.trees->symbol += analysis::treesSuffix;
  trees.setSymName(plan.trees->symbol);
  trees->setAttr(analysis::treesAttribute, mlir::UnitAttr::get(kernel.getContext()));
  tiles.push_back(trees);
}

void plan::completeStep(GPUKernels &kernels, const GPUProfile &gpu, bool trees) {
  for (auto [kernel, launch] : zip(kernels.tiles->getOps<tile::KernelOp>(), kernels.plan.launches)) {
    if (analysis::shouldListArrays(kernel))
      kernel->setAttr(analysis::listsArraysAttribute, mlir::UnitAttr::get(kernel.getContext()));
    partStates(kernel, launch);
    fitStep(gpu, kernel, launch);
  }
  if (trees)
    addTrees(*kernels.tiles, kernels.plan);
}

// Rows first come token by token. One CTA alone that holds states, which computes while memory rests, is slower than
// more of them that hold none; but of CTAs that have parts of heads one fewer does little. A kernel for trees holds
// states where the one for chains does: sums of held states have another order, and a token that is tried has the bits
// of one that is taken.
std::string plan::holdLess(GPUKernels &kernels, const GPUProfile &gpu, tile::KernelOp kernel) {
  constexpr int64_t fewest = 2;
  GPUPlan &plan = kernels.plan;
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(kernel);
  int64_t occupancy = analysis::getOccupancy(kernel);
  if (!held || occupancy > fewest * analysis::getStateParts(kernel) || (!held->rows.tokens && occupancy > fewest))
    return "";
  auto unit = mlir::UnitAttr::get(kernel.getContext());
  if (held->rows.tokens) {
    kernel->setAttr(analysis::tokenByTokenAttribute, unit);
    if (tile::Launch *launch = plan.findLaunch(kernel.getSymName()))
      launch->sharedBytes = analysis::endOfLists(kernel, held->moveDown(int64_t(*kernel.getShared())));
    return "takes rows token by token";
  }
  SmallVector<StringRef> symbols{kernel.getSymName()};
  if (plan.trees)
    symbols = {plan.launches.front().symbol, plan.trees->symbol};
  for (StringRef symbol : symbols) {
    auto one = kernels.tiles->lookupSymbol<tile::KernelOp>(symbol);
    one->setAttr(analysis::placesStatesAttribute, unit);
    if (tile::Launch *launch = plan.findLaunch(symbol)) {
      setParts(one, *launch, 1);
      launch->sharedBytes = int64_t(*one.getShared());
      fitStep(gpu, one, *launch);
    }
  }
  return "has states in shared memory";
}
