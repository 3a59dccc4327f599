#include "Analysis/ChannelCarry.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

static bool isConstant(Value number, int64_t wanted) {
  APInt known;
  return matchPattern(number, m_ConstantInt(&known)) && known.getSExtValue() == wanted;
}

namespace {

/// Goes through the ops in their order, and knows which tiles hold something.
class CarryFinder {
public:
  explicit CarryFinder(KernelOp kernel) : kernel(kernel) {}
  std::optional<ChannelCarry> find();

private:
  bool isRow(TileType type);
  bool take(Operation &op);
  bool take(LoadOp op);
  bool take(StoreOp op);
  bool take(MapOp op);
  bool take(ScanOp op);
  bool takeNest(Operation *op, Region &body);
  bool takeLoop(scf::ForOp op);
  bool reads(Value tile) { return isRow(tileOf(tile)) && filled.contains(getWholeTile(tile)); }
  bool writes(Value tile, bool hasChannels);

  KernelOp kernel;
  ChannelCarry carry;
  llvm::DenseSet<Value> filled, before; // now, and before the loop
};

} // namespace

/// A number, or one for each channel.
bool CarryFinder::isRow(TileType type) {
  int64_t elements = llvm::product_of(type.getShape());
  if (llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; }) > 1)
    return false;
  if (elements == 1)
    return true;
  if (carry.channels == 1)
    carry.channels = elements;
  return carry.channels == elements;
}

bool CarryFinder::writes(Value tile, bool hasChannels) {
  Value whole = getWholeTile(tile);
  if (!isRow(tileOf(tile)) || (hasChannels && llvm::product_of(tileOf(tile).getShape()) == 1))
    return false;
  bool isCarried = carry.loop && before.contains(whole) && !llvm::is_contained(carry.carried, whole);
  if (isCarried)
    carry.carried.push_back(whole);
  filled.insert(whole);
  return true;
}

/// The array's row is the tile's.
static bool isRowOf(Value rows, Value array, Value tile) {
  ArrayRef<int64_t> shape = tileOf(array).getShape();
  return isConstant(rows, 1) && shape.size() <= 2 &&
         llvm::product_of(shape.drop_front()) == llvm::product_of(tileOf(tile).getShape());
}

bool CarryFinder::take(LoadOp op) {
  if (carry.loop)
    carry.loads.push_back(op);
  return isRowOf(op.getRows(), op.getArray(), op.getTile()) && writes(op.getTile(), false);
}

bool CarryFinder::take(StoreOp op) { return isRowOf(op.getRows(), op.getArray(), op.getTile()) && reads(op.getTile()); }

/// The body asks for nothing but elements.
bool CarryFinder::takeNest(Operation *op, Region &body) {
  return llvm::none_of(body.front(), [](Operation &inner) { return isa<IndexOp>(inner); });
}

bool CarryFinder::take(MapOp op) {
  bool hasChannels = false;
  for (Value input : op.getInputs()) {
    if (!reads(input))
      return false;
    hasChannels |= llvm::product_of(tileOf(input).getShape()) > 1;
  }
  return !op.getBlocks() && takeNest(op, op.getBody()) && isConstant(op.getRows(), tileOf(op.getResult()).getSize(0)) &&
         writes(op.getResult(), hasChannels);
}

/// Of one row: then the running value is the initial one, and the last what the body makes of it.
bool CarryFinder::take(ScanOp op) {
  bool hasChannels = false;
  for (auto [input, dims] : llvm::zip(op.getInputs(), op.getDims())) {
    ArrayRef<int64_t> places = cast<DenseI64ArrayAttr>(dims).asArrayRef();
    const auto *row = llvm::find(places, 0);
    if (!reads(input) || (row != places.end() && tileOf(input).getSize(unsigned(row - places.begin())) != 1))
      return false;
    hasChannels |= llvm::product_of(tileOf(input).getShape()) > 1;
  }
  if (Value initial = op.getInitial()) {
    if (!reads(initial))
      return false;
    hasChannels |= llvm::product_of(tileOf(initial).getShape()) > 1;
  }
  if (!isConstant(op.getRows(), 1) || !takeNest(op, op.getBody()))
    return false;
  if (Value all = op.getAll(); all && (tileOf(all).getSize(0) != 1 || !writes(all, hasChannels)))
    return false;
  return !op.getLast() || writes(op.getLast(), hasChannels);
}

bool CarryFinder::takeLoop(scf::ForOp op) {
  APInt step;
  bool isOfChunks = matchPattern(op.getStep(), m_ConstantInt(&step)) && step.getSExtValue() > 1;
  if (carry.loop || op.getNumResults() || !isOfChunks)
    return false;
  carry.loop = op;
  before = filled;
  if (!llvm::all_of(op.getBody()->without_terminator(), [&](Operation &inner) { return take(inner); }))
    return false;
  // Behind the loop tiles hold what they held before, or what was carried.
  filled = before;
  return true;
}

bool CarryFinder::take(Operation &op) {
  if (isa<AllocOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto view = dyn_cast<ViewOp>(op))
    return !view.getRow() && view.getOffset() == 0 &&
           llvm::product_of(tileOf(view.getSource()).getShape()) == llvm::product_of(view.getType().getShape());
  if (auto load = dyn_cast<LoadOp>(op))
    return take(load);
  if (auto store = dyn_cast<StoreOp>(op))
    return take(store);
  if (auto map = dyn_cast<MapOp>(op))
    return take(map);
  if (auto scan = dyn_cast<ScanOp>(op))
    return take(scan);
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop && takeLoop(loop);
}

std::optional<ChannelCarry> CarryFinder::find() {
  if (!kernel.getThreads() || kernel.getTeams() || kernel.getAwaits())
    return std::nullopt;
  for (Operation &op : kernel.getBody().front())
    if (!take(op))
      return std::nullopt;
  if (!carry.loop)
    return std::nullopt;
  constexpr int64_t mostDepth = 16, mostLoaded = 32; // numbers of a thread
  carry.depth = mostDepth;
  while (carry.depth > 1 && carry.depth * int64_t(carry.loads.size()) > mostLoaded)
    carry.depth /= 2;
  return carry;
}

std::optional<ChannelCarry> recur::analysis::findChannelCarry(KernelOp kernel) {
  std::optional<ChannelCarry> carry = CarryFinder(kernel).find();
  return carry && carry->channels <= int64_t(*kernel.getThreads()) ? carry : std::nullopt;
}

int64_t recur::analysis::countCarriedChannels(KernelOp kernel) {
  std::optional<ChannelCarry> carry = CarryFinder(kernel).find();
  return carry ? carry->channels : 0;
}
