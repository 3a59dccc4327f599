#include "Plan/Relief.h"
#include "Analysis/Crowd.h"
#include "Analysis/StateChain.h"
#include "Plan/StepPlan.h"
#include "dialects/Tile/Halves.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::plan;
using Changes = std::vector<Change>;

static bool isOf(tile::KernelOp kernel, ArrayRef<Complaint> complaints) {
  return any_of(complaints, [&](const Complaint &complaint) { return complaint.kernel == kernel.getSymName(); });
}

static Change makeChange(StringRef symbol, StringRef does) {
  return {(symbol + " " + does).str(), (symbol + " " + does).str()};
}

static constexpr StringLiteral readsLateText = " reads late what it adds to products";

/// Lets each chain that spills read what passes over sums take besides only when these sums are there.
static Changes readLate(mlir::ModuleOp tiles, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    bool spills = any_of(complaints, [&](const Complaint &complaint) {
      return complaint.spills && complaint.kernel == kernel.getSymName();
    });
    std::optional<analysis::StateChain> chain = spills ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || !chain->readsAhead)
      continue;
    kernel->setAttr(analysis::readsLateAttribute, mlir::UnitAttr::get(kernel.getContext()));
    changes.push_back({(kernel.getSymName() + readsLateText).str(), (kernel.getSymName() + readsLateText).str()});
  }
  return changes;
}

/// Lets each chain add what rounding to f16 left where it is found, and do no chunk again.
static Changes addRests(mlir::ModuleOp tiles, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    std::optional<analysis::StateChain> chain =
        isOf(kernel, complaints) ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || !chain->doneAgain)
      continue;
    kernel->setAttr(analysis::addsRestsAttribute, mlir::UnitAttr::get(kernel.getContext()));
    kernel->removeAttr(analysis::readsLateAttribute);
    // It reads ahead again.
    changes.push_back(
        {(kernel.getSymName() + readsLateText).str(), (kernel.getSymName() + " does no chunk again").str()});
  }
  return changes;
}

/// Lets each chain make bf16 of rows of f16 that it multiplied as they are, which takes registers.
static Changes convertHalves(mlir::ModuleOp tiles, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    std::optional<analysis::StateChain> chain =
        isOf(kernel, complaints) ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || none_of(chain->loads, [](const analysis::StateChain::Load &load) { return load.staysHalf; }))
      continue;
    kernel->setAttr(tile::convertsHalvesAttribute, mlir::UnitAttr::get(kernel.getContext()));
    for (analysis::StateChain::Load &load : chain->loads)
      if (load.op)
        load.op->removeAttr(tile::keepsHalvesAttribute);
    changes.push_back(makeChange(kernel.getSymName(), "converts rows of f16"));
  }
  return changes;
}

/// Leaves out kernels that go from sequence to sequence: calls of packed sequences do without them.
static Changes leaveOutListed(GPUKernels &kernels, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (tile::Launch &launch : kernels.plan.launches) {
    bool isOther = !launch.listed.empty() && launch.listed != launch.symbol;
    if (!isOther || none_of(complaints, [&](const Complaint &complaint) { return complaint.kernel == launch.listed; }))
      continue;
    kernels.tiles->lookupSymbol<tile::KernelOp>(launch.symbol).setUnlisted(true);
    changes.push_back({launch.listed, fmt::format("no {}", launch.listed)});
    launch.listed.clear();
  }
  return changes;
}

/// Lowers the occupancy by one, in CTAs or in teams of a CTA, or halves the threads of a CTA that has a multiprocessor
/// alone, so that each thread has more registers.
static Changes thinOut(GPUKernels &kernels, const GPUProfile &gpu, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto kernel : kernels.tiles->getOps<tile::KernelOp>()) {
    if (!isOf(kernel, complaints))
      continue;
    std::string symbol = kernel.getSymName().str();
    tile::Launch *launch = kernels.plan.findLaunch(symbol);
    int64_t occupancy = analysis::getOccupancy(kernel);
    if (std::string change = holdLess(kernels, gpu, kernel); !change.empty())
      return {makeChange(symbol, change)}; // a plan that holds states has no other kernels
    if (occupancy > 1) {
      kernel.setOccupancy(uint64_t(occupancy) - 1);
      if (launch && launch->teams)
        launch->teams = occupancy - 1;
      changes.push_back({symbol, fmt::format("{} of {} on a multiprocessor: {}",
                                             launch && launch->teams ? "teams" : "CTAs", symbol, occupancy - 1)});
    } else if (launch && launch->chunksAreApart && launch->threads > teamThreads) {
      launch->threads /= 2;
      kernel.setThreads(uint64_t(launch->threads));
      changes.push_back({symbol, fmt::format("threads in a CTA of {}: {}", symbol, launch->threads)});
    }
  }
  return changes;
}

Changes plan::relieve(GPUKernels &kernels, const GPUProfile &gpu, ArrayRef<Complaint> complaints) {
  Changes changes = readLate(*kernels.tiles, complaints);
  if (changes.empty())
    changes = addRests(*kernels.tiles, complaints);
  if (changes.empty())
    changes = convertHalves(*kernels.tiles, complaints);
  if (changes.empty())
    changes = leaveOutListed(kernels, complaints);
  return changes.empty() ? thinOut(kernels, gpu, complaints) : changes;
}
