// The kernel that summarises segments is the chain over the chunks without what it leaves: the steps on which its state
// depends.
#include "Analysis/ChainSummary.h"
#include "Conversion/ChunkToTile/Segments.h"
#include "dialects/Tile/FragmentLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;
using namespace recur::tile;

/// Whether an op behind it takes what this one writes.
static bool isTaken(Operation *op) {
  auto isBehind = [&](Operation *user) {
    Operation *around = op->getBlock()->findAncestorOpInBlock(*user);
    return around && around != op && (isa<ViewOp>(user) ? !user->use_empty() : op->isBeforeInBlock(around));
  };
  SmallVector<Value> written;
  if (auto scan = dyn_cast<ScanOp>(op))
    written = {scan.getAll(), scan.getLast()};
  else if (auto load = dyn_cast<LoadOp>(op))
    written = {load.getTile()};
  else if (auto choice = dyn_cast<scf::IfOp>(op))
    written = {matchEarlierRows(choice)->tile};
  else if (auto map = dyn_cast<MapOp>(op))
    written = {map.getResult()};
  else
    written = {cast<ProductOp>(op).getResult()};
  return llvm::any_of(written, [&](Value tile) { return tile && llvm::any_of(tile.getUsers(), isBehind); });
}

/// Erases ops of the loop that nobody needs, and then what was there for them: those that make something for other ops
/// are in their order.
static void reduce(KernelOp kernel, ArrayRef<Operation *> superfluous, ArrayRef<Operation *> makers) {
  for (Operation *op : superfluous)
    op->erase();
  for (Operation *op : llvm::reverse(makers))
    if (!isTaken(op))
      op->erase();
  SmallVector<Operation *> all;
  kernel.walk([&](Operation *op) { all.push_back(op); });
  for (Operation *op : llvm::reverse(all))
    if (isa<AllocOp, ViewOp>(op) && op->use_empty())
      op->erase();
}

static void addSegment(const StateChain &chain, Summaries summaries, IntegerAttr parts, DenseI64ArrayAttr maps,
                       bool forgets) {
  LoadOp initial = chain.initial;
  StoreOp final = chain.final;
  scf::ForOp loop = chain.loop;
  OpBuilder builder(initial);
  std::optional<int64_t> size = getConstantIntValue(loop.getStep());
  auto segment = SegmentOp::create(builder, loop.getLoc(), loop->getBlock()->getArguments().back(), *size,
                                   initial.getArray(), final.getArray());
  segment.setSummaries(summaries);
  segment.setPartsAttr(parts);
  segment.setMapsAttr(maps);
  segment.setForgets(forgets);
  conversion::takeSegment(builder, segment, loop);
}

/// The kernel's arrays that have the rows of values.
static SmallVector<int64_t> findValues(const StateChain &chain, const ChainSummary &summary) {
  SmallVector<int64_t> numbers;
  for (unsigned number : summary.values) {
    LoadOp load = chain.loads[number].op;
    numbers.push_back(cast<BlockArgument>(load.getArray()).getArgNumber());
    if (const std::optional<EarlierRows> &earlier = chain.loads[number].earlier) {
      LoadOp given = earlier->given;
      numbers.push_back(cast<BlockArgument>(given.getArray()).getArgNumber());
    }
  }
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  return numbers;
}

/// Whether both halves of a matrix that is a summary have room where chunks lie.
static bool hasRoom(const StateChain &chain) {
  return 2 * PanelLayout{chain.keys, /*elementBytes=*/2}.bytes(chain.keys) <= chain.stages * chain.stageBytes;
}

KernelOp conversion::addSummaries(KernelOp chain, int64_t parts, StringRef name) {
  std::optional<StateChain> whole = findStateChain(chain);
  if (!whole || whole->segment || !getConstantIntValue(whole->loop.getStep()))
    return {};
  std::optional<ChainSummary> summary = summarise(*whole);
  if (!summary || (summary->hasMaps && !hasRoom(*whole)))
    return {};
  OpBuilder builder(chain);
  IRMapping copies;
  auto kernel = cast<KernelOp>(builder.clone(*chain, copies));
  kernel.setSymName(name);
  SmallVector<Operation *> superfluous;
  for (auto [number, step] : llvm::enumerate(whole->steps))
    if (!summary->steps.contains(unsigned(number)))
      superfluous.push_back(copies.lookup(step.op));
  if (whole->kept)
    superfluous.push_back(copies.lookup(whole->kept.getOperation()));
  SmallVector<Operation *> makers;
  auto addMaker = [&](Operation *op) { makers.push_back(copies.lookup(op)); };
  for (StateChain::Load &load : whole->loads)
    if (load.op) {
      addMaker(load.op);
      if (load.earlier)
        addMaker(load.earlier->op);
    }
  llvm::for_each(whole->numbers, addMaker);
  for (StateChain::Interaction &interaction : whole->interactions) {
    addMaker(interaction.product);
    llvm::for_each(interaction.maps, addMaker);
  }
  llvm::sort(makers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  reduce(kernel, superfluous, makers);
  std::optional<StateChain> reduced = findStateChain(kernel);
  if (!reduced) {
    kernel.erase();
    return {};
  }
  auto maps = [&](ArrayRef<int64_t> numbers) {
    return summary->hasMaps ? builder.getDenseI64ArrayAttr(numbers) : DenseI64ArrayAttr();
  };
  SmallVector<int64_t> values = findValues(*whole, *summary);
  bool forgets = summary->hasMaps && findForgotten(*reduced);
  addSegment(*reduced, Summaries::Made, builder.getI64IntegerAttr(parts), maps(values), forgets);
  addSegment(*whole, Summaries::Taken, {}, maps({}), forgets);
  kernel.setThreads(reduced->threads());
  kernel.setShared(std::max<int64_t>(*kernel.getShared(), reduced->sharedBytes));
  return kernel;
}
