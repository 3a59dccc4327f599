#include "Conversion/TileToLLVM/JoinedMaps.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {

/// A tile as a part of what was allocated.
struct Part {
  AllocOp whole;
  int64_t offset = 0;           // of its first element
  Value row;                    // from which the offset counts, where that is not the first one
  bool isKnown = true;          // with one such row at most
  SmallVector<int64_t> strides; // of its last two dimensions

  bool isSame(const Part &other) const {
    return isKnown && other.isKnown && whole == other.whole && offset == other.offset && row == other.row &&
           strides == other.strides;
  }
};

/// What an op of the pass does with a part: element by element in the order of the pass, or in another.
struct Access {
  Part part;
  bool inOrder;
};

/// The rows and columns that an op goes over. One matrix is its rows.
struct Space {
  Value rows;
  std::optional<int64_t> count; // of the rows, where it is known
  ArrayRef<int64_t> shape;

  bool isSame(const Space &other) const {
    return shape == other.shape && ((rows && rows == other.rows) || (count && count == other.count));
  }
};

/// Finds how many maps go with an op.
class Joining {
public:
  Joining(Emitter &emitter, Operation *first) : emitter(emitter), first(first) {}
  std::optional<JoinedPass> run();

private:
  bool begin();
  bool add(MapOp map);
  bool isInTheWay(Operation *op);
  int64_t findSource(const Part &part) const;
  void leaveOutStores();
  bool isReadElsewhere(Value tile);

  Emitter &emitter;
  Operation *first;
  Space space;
  JoinedPass pass;
  std::optional<Part> ofProduct;
  SmallVector<Part> written;     // by the maps
  SmallVector<Access> read;      // by the ops, where no op of the pass gives it
  SmallVector<Operation *> next; // what stands before the next map
};

} // namespace

static std::optional<int64_t> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantIntOp>())
    return constant.value();
  return std::nullopt;
}

static Part partOf(Value tile) {
  Part part;
  ArrayRef<int64_t> strides = tileOf(tile).getStrides();
  part.strides.append(strides.end() - std::min<size_t>(2, strides.size()), strides.end());
  while (auto view = tile.getDefiningOp<ViewOp>()) {
    part.offset += view.getOffset();
    if (view.getRow()) {
      part.isKnown &= !part.row;
      part.row = view.getRow();
    }
    tile = view.getSource();
  }
  part.whole = tile.getDefiningOp<AllocOp>();
  return part;
}

/// The bytes of what was allocated, with the rows and columns behind the last ones that whole register tiles reach.
static std::pair<int64_t, int64_t> bytesOf(AllocOp whole) {
  TileType type = whole.getType();
  int64_t rows = type.getRank() == 3 ? type.getSize(0) : int64_t(llvm::alignTo(type.getSize(0), 16));
  int64_t begin = whole.getOffset().value_or(0);
  return {begin, begin + (rows * type.getStride(0) + 16) * type.getElementBytes()};
}

static bool overlap(const Part &a, const Part &b) {
  if (!a.whole || !b.whole || a.whole == b.whole)
    return true;
  auto [beginA, endA] = bytesOf(a.whole);
  auto [beginB, endB] = bytesOf(b.whole);
  return beginA < endB && beginB < endA;
}

/// Whether a part may be written element by element beside the access.
static bool agree(const Access &access, const Part &written) {
  return (access.inOrder && access.part.isSame(written)) || !overlap(access.part, written);
}

static Space spaceOf(MapOp map) {
  ArrayRef<int64_t> shape = map.getResult().getType().getShape();
  if (shape.size() == 3 && shape[0] == 1 && constantOf(map.getRows()) == 1)
    return {{}, shape[1], shape.drop_front()};
  return {map.getRows(), constantOf(map.getRows()), shape};
}

/// Whether the input has an element of its own for each place of the space.
static bool isInOrder(MapOp map, unsigned input) {
  auto dims = cast<DenseI64ArrayAttr>(map.getDims()[input]).asArrayRef();
  return tileOf(map.getInputs()[input]).getShape() == map.getResult().getType().getShape() &&
         llvm::equal(dims, llvm::seq<int64_t>(0, dims.size()));
}

/// Whether rows behind the last one may be written, as products do, which make whole blocks of rows.
static bool hasRoomForBlocks(Value tile) {
  Part part = partOf(tile);
  TileType whole = part.whole.getType(), type = tileOf(tile);
  int64_t rows = type.getSize(type.getRank() - 2);
  return part.offset == 0 && !part.row && whole.getSize(whole.getRank() - 2) == rows &&
         (whole.getRank() == 2 || (whole.getSize(0) == 1 && rows % 16 == 0));
}

/// The last op of the pass that gives the part.
int64_t Joining::findSource(const Part &part) const {
  for (int64_t i = int64_t(written.size()) - 1; i >= 0; --i)
    if (written[i].isSame(part))
      return i;
  return ofProduct && ofProduct->isSame(part) ? JoinedMap::ofProduct : JoinedMap::isLoaded;
}

/// Products of bf16 in tiles of the processor store whole tiles, and those that skip blocks do not make all elements.
bool Joining::begin() {
  if (auto product = dyn_cast<ProductOp>(first)) {
    TileType type = product.getResult().getType();
    bool inTiles = emitter.shape.hasAMX && product.getRight().getType().getRank() == 3;
    if (inTiles || product.getResultTriangle() || type.getRank() != 2 || !type.getElementType().isF32())
      return false;
    space = {product.getRows(), constantOf(product.getRows()), type.getShape()};
    pass.product = product;
    ofProduct = partOf(product.getResult());
    for (Value operand : product->getOperands())
      if (auto tile = dyn_cast<TileType>(operand.getType());
          tile && tile.getMemory() == Memory::Local && operand != product.getResult())
        read.push_back({partOf(operand), operand == product.getPlus()});
    return bool(ofProduct->whole);
  }
  auto map = dyn_cast<MapOp>(first);
  if (!map)
    return false;
  space = spaceOf(map);
  return space.shape.size() == 2 && add(map);
}

bool Joining::add(MapOp map) {
  Part result = partOf(map.getResult());
  if (!spaceOf(map).isSame(space) || !result.whole || !isPlainMap(emitter, map))
    return false;
  if (ofProduct && !ofProduct->isSame(result) && !hasRoomForBlocks(map.getResult()))
    return false;
  JoinedPass::Step step{map, {}};
  SmallVector<Access> loaded;
  bool takes = false, shares = false;
  for (auto [i, input] : llvm::enumerate(map.getInputs())) {
    Access access{partOf(input), isInOrder(map, i)};
    int64_t source = access.inOrder ? findSource(access.part) : int64_t(JoinedMap::isLoaded);
    step.sources.push_back(source);
    if (source != JoinedMap::isLoaded) {
      takes = true;
      if (source >= 0 && !pass.steps[source].map.getResult().getType().getElementType().isF32())
        return false; // what is stored is rounded
      continue;
    }
    // What the pass writes is there only later, or is there too early.
    auto isApart = [&](const Part &other) { return !overlap(access.part, other); };
    if (!llvm::all_of(written, isApart) || (ofProduct && !isApart(*ofProduct)) || !agree(access, result))
      return false;
    shares |= llvm::any_of(
        read, [&](const Access &other) { return other.inOrder && access.inOrder && other.part.isSame(access.part); });
    loaded.push_back(access);
  }
  // Loops are joined for what they have in common.
  if (map != first && !takes && (!shares || pass.product))
    return false;
  auto agrees = [&](const Access &access) { return agree(access, result); };
  auto agreesWith = [&](const Part &part) { return agree({part, true}, result); };
  if (!llvm::all_of(read, agrees) || !llvm::all_of(written, agreesWith) || (ofProduct && !agreesWith(*ofProduct)))
    return false;
  for (Operation *op : next)
    if (auto store = dyn_cast<StoreOp>(op); store && overlap(partOf(store.getTile()), result))
      return false;
  llvm::append_range(read, loaded);
  written.push_back(result);
  pass.steps.push_back(std::move(step));
  return true;
}

/// What is stored for the caller stays where it is: maps behind it come before it.
bool Joining::isInTheWay(Operation *op) {
  return !isa<AllocOp, ViewOp, StoreOp>(op) && (isa<TileDialect>(op->getDialect()) || op->getNumRegions() > 0);
}

/// Whether anything but ops of the pass reads the tile, or these from memory.
bool Joining::isReadElsewhere(Value tile) {
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<ViewOp>(use.getOwner()))
      return isReadElsewhere(view);
    if (use.getOwner() == pass.product)
      return use.get() != pass.product.getResult() || use.get() == pass.product.getPlus();
    for (JoinedPass::Step &step : pass.steps)
      if (step.map == use.getOwner()) {
        unsigned input = use.getOperandNumber();
        return input < step.sources.size() && step.sources[input] == JoinedMap::isLoaded;
      }
    return true;
  });
}

void Joining::leaveOutStores() {
  auto isStored = [&](const Part &part, size_t from) {
    for (size_t later = from; later < written.size(); ++later)
      if (written[later].isSame(part))
        return false;
    return isReadElsewhere(AllocOp(part.whole).getResult());
  };
  for (auto [i, step] : llvm::enumerate(pass.steps))
    step.isStored = isStored(written[i], i + 1);
  if (ofProduct)
    pass.storesProduct = isStored(*ofProduct, 0);
}

std::optional<JoinedPass> Joining::run() {
  if (!begin())
    return std::nullopt;
  for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
    if (auto map = dyn_cast<MapOp>(op)) {
      if (!add(map))
        break;
      llvm::copy_if(next, std::back_inserter(pass.between), [](Operation *op) { return !isa<StoreOp>(op); });
      llvm::erase_if(next, [](Operation *op) { return !isa<StoreOp>(op); });
    } else if (isInTheWay(op)) {
      break;
    } else {
      next.push_back(op);
    }
  }
  if (pass.steps.size() < (pass.product ? 1 : 2))
    return std::nullopt;
  leaveOutStores();
  return std::move(pass);
}

std::optional<JoinedPass> conversion::findJoinedPass(Emitter &emitter, Operation *first) {
  return Joining(emitter, first).run();
}
