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

static bool isOf(StringRef kernel, ArrayRef<Complaint> complaints) {
  return any_of(complaints, [&](const Complaint &complaint) { return complaint.kernel == kernel; });
}

static bool isOf(tile::KernelOp kernel, ArrayRef<Complaint> complaints) {
  return isOf(kernel.getSymName(), complaints);
}

static bool spills(StringRef kernel, ArrayRef<Complaint> complaints) {
  return any_of(complaints, [&](const Complaint &complaint) { return complaint.spills && complaint.kernel == kernel; });
}

static Change makeChange(StringRef symbol, StringRef does) {
  return {(symbol + " " + does).str(), (symbol + " " + does).str()};
}

/// A chain that does no chunk again may read ahead once more, until it is found to spill: both are one change.
static Change makeReadingChange(tile::KernelOp kernel, StringRef does) {
  return {(kernel.getSymName() + " reads").str(), (kernel.getSymName() + " " + does).str()};
}

static constexpr StringLiteral readsLateText = "reads late what it adds to products",
                               noneAgainText = "does no chunk again";

/// Lets each chain that spills read what passes over sums take besides only when these sums are there.
static Changes readLate(mlir::ModuleOp tiles, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    std::optional<analysis::StateChain> chain =
        spills(kernel.getSymName(), complaints) ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || !chain->readsAhead)
      continue;
    kernel->setAttr(analysis::readsLateAttribute, mlir::UnitAttr::get(kernel.getContext()));
    changes.push_back(makeReadingChange(kernel, kernel->hasAttr(analysis::addsRestsAttribute)
                                                    ? (noneAgainText + ", " + readsLateText).str()
                                                    : readsLateText.str()));
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
    changes.push_back(makeReadingChange(kernel, noneAgainText));
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

/// The kernels whose form for lists of packed sequences is complained of, and not they themselves, with their launches.
static std::vector<std::pair<tile::KernelOp, tile::Launch *>> findListed(GPUKernels &kernels,
                                                                         ArrayRef<Complaint> complaints) {
  std::vector<std::pair<tile::KernelOp, tile::Launch *>> found;
  for (tile::Launch &launch : kernels.plan.launches)
    if (!launch.listed.empty() && launch.listed != launch.symbol && isOf(launch.listed, complaints))
      found.push_back({kernels.tiles->lookupSymbol<tile::KernelOp>(launch.symbol), &launch});
  return found;
}

/// Lets forms for lists read late by themselves. Nothing else is changed for them alone: a sequence has the same bits
/// in a packed call, and the other changes give others.
static Changes readListedLate(GPUKernels &kernels, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto [kernel, launch] : findListed(kernels, complaints)) {
    std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel);
    if (!spills(launch->listed, complaints) || !chain || !chain->readsAhead ||
        kernel->hasAttr(analysis::listedReadsLateAttribute))
      continue;
    kernel->setAttr(analysis::listedReadsLateAttribute, mlir::UnitAttr::get(kernel.getContext()));
    changes.push_back({launch->listed, (launch->listed + " " + readsLateText).str()});
  }
  return changes;
}

/// Leaves them out: calls of packed sequences do without them.
static Changes leaveOutListed(GPUKernels &kernels, ArrayRef<Complaint> complaints) {
  Changes changes;
  for (auto [kernel, launch] : findListed(kernels, complaints)) {
    kernel.setUnlisted(true);
    kernel->removeAttr(analysis::listedReadsLateAttribute);
    changes.push_back(
        {launch->listed, fmt::format("no {}", launch->listed),
         fmt::format("'{}' is left out, and packed sequences are not sorted by their length", launch->listed)});
    launch->listed.clear();
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
    changes = readListedLate(kernels, complaints);
  if (changes.empty())
    changes = leaveOutListed(kernels, complaints);
  return changes.empty() ? thinOut(kernels, gpu, complaints) : changes;
}
