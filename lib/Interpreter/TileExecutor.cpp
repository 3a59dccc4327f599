// One op after another, and the loops and conditions of a plan.
#include "Interpreter/TileExecutor.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
namespace scf = mlir::scf;

const TileMeanings &TileMeanings::get() {
  static const TileMeanings meanings = [] {
    TileMeanings all;
    addMemoryMeanings(all);
    addNestMeanings(all);
    addProductMeanings(all);
    addConjugateGradientsMeanings(all);
    addScaledSumMeanings(all);
    addScalarMeanings(all);
    addControlMeanings(all);
    addRoleMeanings(all);
    return all;
  }();
  return meanings;
}

Error TileExecutor::run(mlir::Block &block) {
  start(block);
  while (true) {
    Expected<Progress> progress = step();
    if (!progress)
      return progress.takeError();
    if (*progress == Progress::Finished)
      return Error::success();
    if (*progress == Progress::Waits)
      return makeTileError(&*frames.back().next, "waits for what nobody does");
  }
}

Expected<TileExecutor::Progress> TileExecutor::step() {
  if (frames.empty())
    return Progress::Finished;
  // Entering a block moves the frames, so that this one is found again by its number.
  size_t number = frames.size() - 1;
  mlir::Block::iterator next = frames[number].next;
  if (next == frames[number].block->end() || next->hasTrait<mlir::OpTrait::IsTerminator>()) {
    leaveFrame();
    return frames.empty() ? Progress::Finished : Progress::Ran;
  }
  TileMeanings::Function function = TileMeanings::get().find(&*next);
  if (!function)
    return makeTileError(&*next, "the op has no meaning in a plan");
  waits = false;
  if (Error error = function(*this, &*next))
    return std::move(error);
  if (waits)
    return Progress::Waits;
  ++frames[number].next;
  return Progress::Ran;
}

mlir::Operation *TileExecutor::peek() const {
  if (frames.empty() || frames.back().next == frames.back().block->end())
    return nullptr;
  return &*frames.back().next;
}

void TileExecutor::copy(ArrayRef<mlir::Value> from, ArrayRef<mlir::Value> to) {
  // All are read before the first is written.
  SmallVector<std::pair<int64_t, Tile>> read;
  for (mlir::Value value : from)
    read.push_back({getNumber(value), getTile(value)});
  for (auto [value, both] : zip(to, read)) {
    if (isa<tile::TileType>(value.getType()))
      tiles[value] = both.second;
    else
      numbers[value] = both.first;
  }
}

/// At the end of a block: once more, or on behind the op that has it.
void TileExecutor::leaveFrame() {
  Frame &frame = frames.back();
  if (!frame.parent) {
    frames.pop_back();
    return;
  }
  SmallVector<mlir::Value> yielded(frame.block->getTerminator()->getOperands());
  if (auto loop = dyn_cast<scf::ForOp>(frame.parent)) {
    copy(yielded, SmallVector<mlir::Value>(loop.getRegionIterArgs()));
    frame.induction += frame.stride;
    if (frame.induction < frame.end) {
      numbers[loop.getInductionVar()] = frame.induction;
      frame.next = frame.block->begin();
      return;
    }
  }
  if (auto loop = dyn_cast<scf::ParallelOp>(frame.parent)) {
    frame.induction -= frame.stride;
    if (frame.induction >= frame.end) {
      forgetInside(loop);
      numbers[loop.getInductionVars()[0]] = frame.induction;
      frame.next = frame.block->begin();
      return;
    }
  }
  copy(yielded, SmallVector<mlir::Value>(frame.parent->getResults()));
  frames.pop_back();
}

static bool isUsedInsideOnly(mlir::Value tile, mlir::Operation *loop) {
  return all_of(tile.getUsers(), [&](mlir::Operation *user) {
    auto view = dyn_cast<tile::ViewOp>(user);
    return loop->isProperAncestor(user) && (!view || isUsedInsideOnly(view, loop));
  });
}

/// Iterations in any order share nothing: what an earlier one left has no meaning.
void TileExecutor::forgetInside(mlir::Operation *loop) {
  for (auto &[op, tile] : allocated)
    if (isUsedInsideOnly(op->getResult(0), loop))
      machine.forget(tile);
}

Expected<Tile> TileExecutor::allocate(tile::AllocOp op) {
  if (auto known = allocated.find(op); known != allocated.end()) {
    machine.forget(known->second);
    return known->second;
  }
  Expected<Tile> tile = machine.allocate(op);
  if (tile)
    allocated[op] = *tile;
  return tile;
}

//===----------------------------------------------------------------------===//
// Loops and conditions
//===----------------------------------------------------------------------===//

static Error runFor(TileExecutor &e, scf::ForOp op) {
  int64_t begin = e.getNumber(op.getLowerBound()), end = e.getNumber(op.getUpperBound()),
          stride = e.getNumber(op.getStep());
  if (stride <= 0)
    return makeTileError(op, "the step of a loop is " + Twine(stride));
  SmallVector<mlir::Value> initial(op.getInitArgs());
  if (begin >= end) {
    e.copy(initial, SmallVector<mlir::Value>(op.getResults()));
    return Error::success();
  }
  e.copy(initial, SmallVector<mlir::Value>(op.getRegionIterArgs()));
  e.setNumber(op.getInductionVar(), begin);
  e.enter(*op.getBody(), op, begin, end, stride);
  return Error::success();
}

/// Runs the last iteration first, so that a plan that needs them in order gives wrong results.
static Error runParallel(TileExecutor &e, scf::ParallelOp op) {
  if (op.getInductionVars().size() != 1 || op.getNumReductions())
    return makeTileError(op, "has one induction variable and reduces nothing");
  int64_t begin = e.getNumber(op.getLowerBound()[0]), end = e.getNumber(op.getUpperBound()[0]),
          stride = e.getNumber(op.getStep()[0]);
  if (stride <= 0)
    return makeTileError(op, "the step of a loop is " + Twine(stride));
  if (begin >= end)
    return Error::success();
  int64_t last = begin + (end - begin - 1) / stride * stride;
  e.setNumber(op.getInductionVars()[0], last);
  e.enter(*op.getBody(), op, last, begin, stride);
  return Error::success();
}

/// Goes back chunk by chunk, for as long as anything remains of the state there. Gives the chunk to begin with.
static Expected<int64_t> findBegin(TileExecutor &e, tile::SegmentOp op, int64_t first) {
  CallerArray remains = e.machine.arrays.lookup(op.getRemains());
  auto type = mlir::cast<tile::TileType>(op.getRemains().getType());
  std::vector<double> products(type.getRank() == 2 ? type.getSize(1) : 1, 1.0);
  auto isLittle = [](double x) { return x <= tile::SegmentOp::little; };
  int64_t begin = first;
  while (begin > 0 && !all_of(products, isLittle)) {
    if (--begin >= remains.rows)
      return makeTileError(op, "nothing is known of chunk " + Twine(begin));
    for (auto [i, product] : enumerate(products))
      product *= remains.data[begin * remains.stride + int64_t(i)];
  }
  return begin;
}

static Error runSegment(TileExecutor &e, tile::SegmentOp op) {
  const TileOptions &options = e.machine.options;
  int64_t tokens = e.getNumber(op.getTokens()), size = op.getSize(), chunks = (tokens + size - 1) / size,
          segment = options.segment, segments = options.segments;
  if (segments < 1 || segment < 0 || segment >= segments)
    return makeTileError(op, "segment " + Twine(segment) + " of " + Twine(segments) + " is none");
  int64_t first = segment * chunks / segments, end = (segment + 1) * chunks / segments;
  CallerArray initial = e.machine.arrays.lookup(op.getInitial()), start = segment == 0 ? initial : options.start;
  if (options.mapsState)
    start = options.start;
  Expected<int64_t> begin = first;
  if (op.getRemains()) {
    begin = findBegin(e, op, first);
    if (!begin)
      return begin.takeError();
    start = *begin == 0 ? initial : CallerArray();
  }
  e.setNumber(op.getBegin(), *begin * size);
  e.setNumber(op.getFirst(), first * size);
  e.setNumber(op.getEnd(), std::min(end * size, tokens));
  e.machine.arrays[op.getStart()] = start;
  CallerArray final = segment == segments - 1 ? e.machine.arrays.lookup(op.getFinal()) : CallerArray();
  e.machine.arrays[op.getStore()] = op.makesSummaries() ? options.summary : final;
  if (options.mapsState && op.getMaps())
    for (int64_t number : op.getMapsAttr().asArrayRef())
      e.machine.arrays[e.machine.kernel.getBody().getArgument(unsigned(number))] = {};
  return Error::success();
}

static Error runIf(TileExecutor &e, scf::IfOp op) {
  mlir::Region &region = e.getNumber(op.getCondition()) ? op.getThenRegion() : op.getElseRegion();
  if (!region.empty())
    e.enter(region.front(), op);
  return Error::success();
}

void interpreter::addControlMeanings(TileMeanings &meanings) {
  meanings.add<scf::ForOp, runFor>();
  meanings.add<scf::ParallelOp, runParallel>();
  meanings.add<scf::IfOp, runIf>();
  meanings.add<tile::SegmentOp, runSegment>();
}
