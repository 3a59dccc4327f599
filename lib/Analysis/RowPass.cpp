#include "Analysis/RowPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

//===----------------------------------------------------------------------===//
// Parts of tiles
//===----------------------------------------------------------------------===//

bool TilePart::isWhole() const {
  return llvm::all_of(at, [](int64_t place) { return place == 0; });
}

std::optional<TilePart> recur::analysis::findTilePart(Value tile) {
  TileType own = tileOf(tile);
  int64_t offset = 0;
  TilePart part{tile, {}, {}};
  while (auto view = part.whole.getDefiningOp<ViewOp>()) {
    if (view.getRow())
      return std::nullopt;
    offset += int64_t(view.getOffset());
    part.whole = view.getSource();
  }
  if (!part.whole.getDefiningOp<AllocOp>())
    return std::nullopt;
  TileType type = tileOf(part.whole);
  for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim) {
    bool isOne = type.getSize(dim) == 1;
    part.at.push_back(isOne ? 0 : offset / type.getStride(dim));
    offset -= part.at.back() * type.getStride(dim);
    if (offset < 0 || part.at.back() >= type.getSize(dim))
      return std::nullopt;
  }
  if (offset != 0)
    return std::nullopt;
  for (int64_t dim = 0; dim < int64_t(own.getRank()); ++dim) {
    int64_t size = own.getSize(dim), &found = part.dims.emplace_back(-1);
    for (int64_t other = 0; size != 1 && other < int64_t(type.getRank()); ++other)
      if (type.getSize(other) != 1 && type.getStride(other) == own.getStride(dim) &&
          part.at[other] + size <= type.getSize(other))
        found = other;
    if (size != 1 && found < 0)
      return std::nullopt;
  }
  return part;
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

static bool isConstant(Value number, int64_t wanted) {
  APInt known;
  return matchPattern(number, m_ConstantInt(&known)) && known.getSExtValue() == wanted;
}

/// Whether the value is the op of the two, in this order.
template <typename Op> static bool isOf(Value value, llvm::function_ref<bool(Value)> left, int64_t right) {
  auto op = value.getDefiningOp<Op>();
  return op && left(op.getLhs()) && isConstant(op.getRhs(), right);
}

static bool takesIndices(Region &body) { return !body.front().getOps<IndexOp>().empty(); }

static ArrayRef<int64_t> getDims(ArrayAttr dims, size_t input) {
  return cast<DenseI64ArrayAttr>(dims[input]).asArrayRef();
}

namespace {

/// Goes through the ops in their order.
class RowPassFinder {
public:
  explicit RowPassFinder(KernelOp kernel) : kernel(kernel) {}
  std::optional<RowPass> find();

private:
  /// An array's rows in a tile, with some rows before the first.
  struct Window {
    LoadOp own;
    int64_t before;
    SmallVector<RowPass::Initial> initial; // the oldest first
  };
  bool takeFixed(LoadOp op);
  bool takeFixed(MapOp op);
  bool takeLoop(scf::ParallelOp op);
  bool takeInLoop(Operation &op);
  bool take(LoadOp op);
  bool take(MapOp op);
  bool take(ReduceOp op);
  bool take(StoreOp op);
  bool takeFirst(scf::IfOp op);
  bool takeInitial(Operation &op);
  bool isWritten(Value whole) {
    return pass.fixed.contains(whole) || windows.contains(whole) || makers.contains(whole);
  }
  /// Parts are those of arrays.
  bool isFixed(const TilePart &part) {
    auto found = pass.fixed.find(part.whole);
    return found != pass.fixed.end() && (part.isWhole() || isa<LoadOp>(found->second));
  }
  bool isFirstToken(Value value) {
    auto cast = value.getDefiningOp<arith::IndexCastOp>();
    return cast && cast.getIn() == pass.loop.getInductionVars()[0];
  }
  bool isRows(Value first, Value count);
  bool addInput(RowPass::Step &step, Value tile, ArrayRef<int64_t> dims, ArrayRef<int64_t> nest);
  bool addResult(RowPass::Step &step, Value tile);
  std::optional<int64_t> findStream(const TilePart &part, int64_t width, int64_t back);
  bool makeParts();
  bool arrange(RowPass::Part &part);

  KernelOp kernel;
  RowPass pass;
  llvm::MapVector<Value, Window> windows;
  SmallVector<RowPass::Step> steps;
  llvm::DenseMap<Value, size_t> makers; // which step makes a tile
  SmallVector<RowPass::Stream> streams;
  SmallVector<Value> wholes; // of the streams
};

} // namespace

/// Whether a row of the array is a row of the tile, without padding.
template <typename Op> static bool hasWholeRows(Op op) {
  return tileOf(op.getArray()).getShape().drop_front() == tileOf(op.getTile()).getShape().drop_front() &&
         !tileOf(op.getArray()).getTransposed();
}

/// A tile that an op outside of the loop would load, wherever it does.
bool RowPassFinder::takeFixed(LoadOp op) {
  std::optional<TilePart> part = findTilePart(op.getTile());
  if (!part || !part->isWhole() || !hasWholeRows(op) || isWritten(part->whole) || !isConstant(op.getFirst(), 0) ||
      !isConstant(op.getRows(), 1))
    return false;
  pass.fixed[part->whole] = op;
  return true;
}

/// A number, or one of each column, made of such.
bool RowPassFinder::takeFixed(MapOp op) {
  TileType type = tileOf(op.getResult());
  std::optional<TilePart> part = findTilePart(op.getResult());
  bool hasRows = type.getRank() > 1 && llvm::any_of(type.getShape().drop_back(), [](int64_t size) { return size > 1; });
  bool isOne = type.getRank() == 1 && (isConstant(op.getRows(), type.getSize(0)) || type.getSize(0) == 1);
  if (!part || !part->isWhole() || isWritten(part->whole) || op.getBlocks() || takesIndices(op.getBody()) || hasRows ||
      !(isOne || (type.getRank() == 2 && type.getSize(0) == 1)))
    return false;
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    std::optional<TilePart> from = findTilePart(input);
    if (!from || !isFixed(*from))
      return false;
    for (auto [dim, place] : llvm::zip(from->dims, getDims(op.getDims(), number)))
      if (dim >= 0 && place + 1 != int64_t(type.getRank()))
        return false;
  }
  pass.fixed[part->whole] = op;
  return true;
}

/// Whether these are the rows of the chunk's tokens.
bool RowPassFinder::isRows(Value first, Value count) {
  if (!isFirstToken(first) || !count.getDefiningOp<arith::MinSIOp>() ||
      !isConstant(count.getDefiningOp<arith::MinSIOp>().getRhs(), pass.rows))
    return false;
  if (!pass.first)
    pass.first = first, pass.count = count;
  return pass.first == first && pass.count == count;
}

bool RowPassFinder::take(LoadOp op) {
  if (isConstant(op.getFirst(), 0))
    return takeFixed(op);
  std::optional<TilePart> part = findTilePart(op.getTile());
  if (!part || !hasWholeRows(op))
    return false;
  TileType type = tileOf(part->whole), own = tileOf(op.getTile());
  bool hasAllColumns = type.getRank() == own.getRank() && type.getRank() <= 2 &&
                       type.getShape().drop_front() == own.getShape().drop_front() &&
                       llvm::all_of(llvm::drop_begin(part->at), [](int64_t place) { return place == 0; });
  if (!hasAllColumns)
    return false;
  if (isRows(op.getFirst(), op.getRows())) {
    int64_t before = part->at[0];
    if (isWritten(part->whole) || own.getSize(0) != pass.rows || type.getSize(0) != pass.rows + before)
      return false;
    windows[part->whole] = {op, before, SmallVector<RowPass::Initial>(size_t(before))};
    return true;
  }
  // Those right before the chunk, of which the sequence's first one has none.
  auto window = windows.find(part->whole);
  if (window == windows.end() || window->second.own.getArray() != op.getArray())
    return false;
  int64_t before = window->second.before;
  auto isFirst = [&](Value value) { return isFirstToken(value); };
  auto isBefore = [&](Value value) { return isOf<arith::SubIOp>(value, isFirst, before); };
  return part->at[0] == 0 && own.getSize(0) == before && isOf<arith::MaxSIOp>(op.getFirst(), isBefore, 0) &&
         isOf<arith::MinSIOp>(op.getRows(), isFirst, before);
}

/// What the rows before the first are where the sequence begins with the chunk.
bool RowPassFinder::takeInitial(Operation &op) {
  auto set = [&](Value tile, LoadOp load, int64_t column) {
    std::optional<TilePart> part = findTilePart(tile);
    auto window = part ? windows.find(part->whole) : windows.end();
    if (window == windows.end() || part->at[0] >= window->second.before || tileOf(tile).getSize(0) != 1 ||
        tileOf(tile).getShape().drop_front() != tileOf(part->whole).getShape().drop_front())
      return false;
    window->second.initial[size_t(part->at[0])] = {load, column};
    return true;
  };
  if (auto load = dyn_cast<LoadOp>(op))
    return hasWholeRows(load) && isConstant(load.getFirst(), 0) && isConstant(load.getRows(), 1) &&
           (set(load.getTile(), load, 0) || takeFixed(load));
  auto copy = dyn_cast<MapOp>(op);
  if (!copy || copy.getInputs().size() != 1 || copy.getBlocks() ||
      copy.getBody().front().getTerminator()->getOperand(0) != copy.getBody().getArgument(0))
    return false;
  std::optional<TilePart> from = findTilePart(copy.getInputs()[0]);
  auto known = from ? pass.fixed.find(from->whole) : pass.fixed.end();
  auto load = known == pass.fixed.end() ? LoadOp() : dyn_cast<LoadOp>(known->second);
  // One row of columns side by side, in the array as in the tile.
  return load && tileOf(load.getTile()).getRank() <= 2 &&
         tileOf(copy.getInputs()[0]).getShape() == tileOf(copy.getResult()).getShape() &&
         set(copy.getResult(), load, from->at.back());
}

bool RowPassFinder::takeFirst(scf::IfOp op) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq || !isFirstToken(compare.getLhs()) ||
      !isConstant(compare.getRhs(), 0) || op.getNumResults() || op.elseBlock())
    return false;
  return llvm::all_of(op.thenBlock()->without_terminator(), [&](Operation &inner) {
    return isa<ViewOp, AllocOp>(inner) || isa<arith::ArithDialect>(inner.getDialect()) || takeInitial(inner);
  });
}

std::optional<int64_t> RowPassFinder::findStream(const TilePart &part, int64_t width, int64_t back) {
  const Window &window = windows.find(part.whole)->second;
  int64_t column = part.at.size() > 1 ? part.at[1] : 0;
  for (int64_t i = 0; i < back; ++i)
    if (!window.initial[size_t(window.before - 1 - i)].load)
      return std::nullopt;
  size_t number = 0;
  while (number < streams.size() &&
         !(wholes[number] == part.whole && streams[number].column == column && streams[number].width == width))
    ++number;
  if (number == streams.size()) {
    streams.push_back({window.own, column, width, 0, {}});
    wholes.push_back(part.whole);
  }
  RowPass::Stream &stream = streams[number];
  for (; stream.before < back; ++stream.before) {
    RowPass::Initial initial = window.initial[size_t(window.before - 1 - stream.before)];
    stream.initial.push_back({initial.load, initial.column + column});
  }
  return int64_t(number);
}

bool RowPassFinder::addInput(RowPass::Step &step, Value tile, ArrayRef<int64_t> dims, ArrayRef<int64_t> nest) {
  std::optional<TilePart> part = findTilePart(tile);
  if (!part)
    return false;
  TileType type = tileOf(tile);
  // A dimension of the tile is the rows, or the columns.
  auto isDim = [&](size_t dim, int64_t ofNest) {
    return dims[dim] == ofNest && type.getSize(dim) == nest[size_t(ofNest)];
  };
  if (isFixed(*part)) {
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (type.getSize(dim) != 1 && !(nest.size() == 2 && isDim(dim, 1)))
        return false;
    step.inputs.push_back({RowPass::Operand::Fixed, tile});
    return true;
  }
  bool hasRows = type.getRank() <= 2 && part->dims[0] == 0 && isDim(0, 0);
  bool hasColumns = type.getRank() == 2 && type.getSize(1) != 1;
  if (!hasRows || (hasColumns && !(nest.size() == 2 && part->dims[1] == 1 && isDim(1, 1))))
    return false;
  RowPass::Operand operand{RowPass::Operand::Made, part->whole, 0, 0, !hasColumns};
  if (auto window = windows.find(part->whole); window != windows.end()) {
    operand.kind = RowPass::Operand::Loaded;
    operand.back = window->second.before - part->at[0];
    std::optional<int64_t> stream =
        operand.back < 0 ? std::nullopt : findStream(*part, hasColumns ? type.getSize(1) : 1, operand.back);
    if (!stream)
      return false;
    operand.stream = size_t(*stream);
  } else if (!makers.contains(part->whole) || !part->isWhole() || type.getShape() != tileOf(part->whole).getShape()) {
    return false;
  }
  step.inputs.push_back(operand);
  return true;
}

bool RowPassFinder::addResult(RowPass::Step &step, Value tile) {
  std::optional<TilePart> part = findTilePart(tile);
  TileType type = tileOf(tile);
  if (!part || !part->isWhole() || isWritten(part->whole) || type.getShape() != tileOf(part->whole).getShape() ||
      type.getRank() > 2 || type.getSize(0) != pass.rows)
    return false;
  step.result = part->whole;
  makers[part->whole] = steps.size();
  steps.push_back(step);
  return true;
}

bool RowPassFinder::take(MapOp op) {
  if (takeFixed(op))
    return true;
  TileType type = tileOf(op.getResult());
  if (op.getBlocks() || takesIndices(op.getBody()))
    return false;
  RowPass::Step step{op, {}};
  step.width = type.getRank() == 2 ? type.getSize(1) : 1;
  for (auto [number, input] : llvm::enumerate(op.getInputs()))
    if (!addInput(step, input, getDims(op.getDims(), number), type.getShape()))
      return false;
  return addResult(step, op.getResult());
}

bool RowPassFinder::take(ReduceOp op) {
  if (op.getOver() != ArrayRef<int64_t>({1}) || op.getSizes().size() != 2 || takesIndices(op.getBody()))
    return false;
  RowPass::Step step{op, {}};
  step.width = op.getSizes()[1];
  for (auto [number, input] : llvm::enumerate(op.getInputs()))
    if (!addInput(step, input, getDims(op.getDims(), number), op.getSizes()))
      return false;
  return addResult(step, op.getResult());
}

bool RowPassFinder::take(StoreOp op) {
  TileType type = tileOf(op.getTile());
  if (!isRows(op.getFirst(), op.getRows()) || type.getRank() > 2 || !hasWholeRows(op))
    return false;
  RowPass::Step step{op, {}};
  step.width = type.getRank() == 2 ? type.getSize(1) : 1;
  if (!addInput(step, op.getTile(), ArrayRef<int64_t>({0, 1}).take_front(type.getRank()), type.getShape()))
    return false;
  steps.push_back(step);
  return true;
}

bool RowPassFinder::takeInLoop(Operation &op) {
  if (isa<ViewOp, AllocOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto load = dyn_cast<LoadOp>(op))
    return take(load);
  if (auto map = dyn_cast<MapOp>(op))
    return take(map);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return take(reduce);
  if (auto store = dyn_cast<StoreOp>(op))
    return take(store);
  auto choice = dyn_cast<scf::IfOp>(op);
  return choice && takeFirst(choice);
}

bool RowPassFinder::takeLoop(scf::ParallelOp op) {
  APInt step;
  if (pass.loop || op.getInductionVars().size() != 1 || op.getNumReductions())
    return false;
  Value size = op.getStep()[0];
  if (auto cast = size.getDefiningOp<arith::IndexCastOp>())
    size = cast.getIn();
  if (!matchPattern(size, m_ConstantInt(&step)) || step.getSExtValue() < 2)
    return false;
  pass.loop = op;
  pass.rows = step.getSExtValue();
  return llvm::all_of(op.getBody()->without_terminator(), [&](Operation &inner) { return takeInLoop(inner); });
}

/// How lanes share a row, and how many registers that takes.
bool RowPassFinder::arrange(RowPass::Part &part) {
  constexpr int64_t warpThreads = 32, mostColumns = 8, mostNumbers = 16, mostBefore = 64, mostLoaded = 24;
  int64_t widest = 1, before = 0, kept = 0, loaded = 0;
  part.columns = mostColumns;
  auto fit = [&](int64_t number) {
    while (number % part.columns)
      part.columns /= 2;
  };
  for (const RowPass::Step &step : part.steps) {
    if (step.width == 1)
      continue;
    widest = std::max(widest, step.width);
    fit(step.width);
    for (const RowPass::Operand &input : step.inputs)
      if (input.kind == RowPass::Operand::Fixed)
        fit(findTilePart(input.tile)->at.back());
  }
  for (const RowPass::Stream &stream : part.streams)
    if (stream.width != 1)
      fit(stream.width), fit(stream.column);
  if (widest == 1)
    part.columns = 1;
  int64_t perRow = llvm::divideCeil(widest, part.columns);
  part.lanes = std::min<int64_t>(warpThreads, int64_t(llvm::PowerOf2Ceil(uint64_t(perRow))));
  part.pieces = llvm::divideCeil(perRow, part.lanes);
  for (const RowPass::Stream &stream : part.streams) {
    int64_t numbers = part.countNumbers(stream.width);
    before = std::max(before, stream.before);
    kept += stream.before * numbers;
    loaded += llvm::divideCeil(numbers * tileOf(stream.getArray()).getElementBytes(), 4);
  }
  part.rowsEach = std::max<int64_t>(llvm::divideCeil(pass.rows, RowPass::threads / part.lanes),
                                    before ? int64_t(llvm::PowerOf2Ceil(uint64_t(before))) : 1);
  part.rowsInStep = 4;
  while (part.rowsInStep > 1 && (part.rowsEach % part.rowsInStep || part.rowsInStep * loaded > mostLoaded))
    part.rowsInStep /= 2;
  return part.columns * part.pieces <= mostNumbers && kept <= mostBefore && before <= pass.rows;
}

bool RowPassFinder::makeParts() {
  llvm::EquivalenceClasses<size_t> classes;
  for (auto [number, step] : llvm::enumerate(steps)) {
    classes.insert(number);
    for (const RowPass::Operand &input : step.inputs)
      if (input.kind == RowPass::Operand::Made)
        classes.unionSets(number, makers.lookup(input.tile));
  }
  llvm::MapVector<size_t, SmallVector<size_t>> members;
  for (size_t number = 0; number < steps.size(); ++number)
    members[classes.getLeaderValue(number)].push_back(number);
  for (auto &[leader, numbers] : members) {
    if (llvm::none_of(numbers, [&](size_t number) { return isa<StoreOp>(steps[number].op); }))
      continue;
    RowPass::Part part;
    llvm::DenseMap<size_t, size_t> own; // streams
    for (size_t number : numbers) {
      RowPass::Step &step = part.steps.emplace_back(steps[number]);
      for (RowPass::Operand &input : step.inputs)
        if (input.kind == RowPass::Operand::Loaded) {
          auto [known, isNew] = own.insert({input.stream, part.streams.size()});
          if (isNew)
            part.streams.push_back(streams[input.stream]);
          input.stream = known->second;
        }
    }
    if (!arrange(part))
      return false;
    pass.parts.push_back(std::move(part));
  }
  return !pass.parts.empty();
}

std::optional<RowPass> RowPassFinder::find() {
  if (!kernel.getThreads())
    return std::nullopt;
  llvm::DenseSet<Value> read, stored;
  kernel.walk([&](LoadOp load) { read.insert(load.getArray()); });
  kernel.walk([&](StoreOp store) { stored.insert(store.getArray()); });
  if (llvm::any_of(stored, [&](Value array) { return read.contains(array); }))
    return std::nullopt;
  for (Operation &op : kernel.getBody().front()) {
    auto load = dyn_cast<LoadOp>(op);
    auto map = dyn_cast<MapOp>(op);
    auto loop = dyn_cast<scf::ParallelOp>(op);
    bool isKnown = isa<ViewOp, AllocOp>(op) || isa<arith::ArithDialect>(op.getDialect()) || (load && takeFixed(load)) ||
                   (map && takeFixed(map)) || (loop && takeLoop(loop));
    if (!isKnown)
      return std::nullopt;
  }
  if (!pass.loop || !pass.count || !makeParts())
    return std::nullopt;
  return std::move(pass);
}

std::optional<RowPass> recur::analysis::findRowPass(KernelOp kernel) { return RowPassFinder(kernel).find(); }

bool recur::analysis::takesRowsApart(KernelOp kernel) {
  return kernel.getThreads() == uint64_t(RowPass::threads) && kernel.getShared() == uint64_t(0) && !kernel.getTeams() &&
         kernel.getWorkspace() == 0 && !kernel.getBody().front().getOps<scf::ParallelOp>().empty();
}
