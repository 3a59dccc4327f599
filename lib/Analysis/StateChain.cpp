#include "Analysis/StateChain.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

namespace {

/// Goes through the ops of a kernel in their order, and keeps in mind what each tile holds.
class ChainFinder {
public:
  explicit ChainFinder(KernelOp kernel) : kernel(kernel) {}
  std::optional<StateChain> find();

private:
  enum class Kind { State, RoundedState, Loaded, Sums };
  struct Content {
    Kind kind;
    unsigned number; // of the load or read; of a state, how many advances made it
  };
  static Value whole(Value tile) {
    while (auto view = tile.getDefiningOp<ViewOp>())
      tile = view.getSource();
    return tile;
  }
  const Content *contentOf(Value tile, Kind kind) const {
    auto found = contents.find(whole(tile));
    return found != contents.end() && found->second.kind == kind ? &found->second : nullptr;
  }
  bool isInput(Value tile, ArrayRef<int64_t> shape) const {
    return contentOf(tile, Kind::Loaded) && isBF16(tile, shape);
  }
  static bool isBF16(Value tile, ArrayRef<int64_t> shape) {
    return tileOf(tile).getElementType().isBF16() && tileOf(tile).getShape() == shape;
  }
  bool isState(Value tile) const {
    TileType type = tileOf(tile);
    return type.getElementType().isF32() && type.getShape() == ArrayRef<int64_t>{StateChain::channels, chain.keys};
  }
  bool takeAround(Operation &op);
  bool take(Operation &op);
  bool take(LoadOp op);
  bool take(MapOp op);
  bool take(ProductOp op);
  bool takeRead(ProductOp op);
  bool takeAdvance(ProductOp op);
  bool take(StoreOp op);
  bool fitsRegisters() const;
  bool place();

  KernelOp kernel;
  StateChain chain;
  Value state; // the tile that has it between chunks
  llvm::DenseMap<Value, Content> contents;
};

} // namespace

bool ChainFinder::takeAround(Operation &op) {
  if (isa<AllocOp, ViewOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto load = dyn_cast<LoadOp>(op)) {
    bool isOnly = !chain.initial && !chain.loop;
    chain.initial = load;
    state = whole(load.getTile());
    chain.keys = tileOf(state).getShape().back();
    return isOnly && load.getArray().getType().getElementType().isF32() && tileOf(state).getRank() == 2 &&
           isState(state);
  }
  if (auto store = dyn_cast<StoreOp>(op)) {
    bool isOnly = !chain.final && chain.loop && whole(store.getTile()) == state;
    chain.final = store;
    return isOnly && store.getArray().getType().getElementType().isF32();
  }
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || chain.loop || !state || loop.getNumResults())
    return false;
  chain.loop = loop;
  contents[state] = {Kind::State, 0};
  return llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &inner) { return take(inner); });
}

bool ChainFinder::take(Operation &op) {
  if (isa<ViewOp>(op) || isa<arith::ArithDialect>(op.getDialect()))
    return true;
  if (auto load = dyn_cast<LoadOp>(op))
    return take(load);
  if (auto map = dyn_cast<MapOp>(op))
    return take(map);
  if (auto product = dyn_cast<ProductOp>(op))
    return product.getTransposed() ? takeAdvance(product) : takeRead(product);
  if (auto store = dyn_cast<StoreOp>(op))
    return take(store);
  return false;
}

/// Rows of bf16 whose pieces of 16 bytes can be copied as they are; or numbers for a chunk.
bool ChainFinder::take(LoadOp op) {
  TileType type = op.getTile().getType(), array = op.getArray().getType();
  if (!op.getTile().getDefiningOp<AllocOp>() || contents.contains(op.getTile()) ||
      type.getElementType() != array.getElementType())
    return false;
  bool isRows =
      type.getElementType().isBF16() && type.getRank() == 2 && type.getSize(0) % 16 == 0 && type.getSize(1) % 16 == 0;
  bool isNumbers = type.getElementType().isF32() && type.getSize(0) == 1 && type.getRank() <= 2;
  contents[op.getTile()] = {Kind::Loaded, unsigned(chain.loads.size())};
  chain.loads.push_back({op});
  return isRows || isNumbers;
}

/// The state rounded, or moved to where it lies between chunks.
bool ChainFinder::take(MapOp op) {
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  bool isCopy = op.getInputs().size() == 1 && !op.getBlocks() && op.getDims().size() == 1 &&
                yield.getValues()[0] == op.getBody().getArgument(0) &&
                cast<DenseI64ArrayAttr>(op.getDims()[0]).asArrayRef() == ArrayRef<int64_t>{0, 1};
  if (!isCopy || whole(op.getResult()) != op.getResult())
    return false;
  const Content *from = contentOf(op.getInputs()[0], Kind::State);
  if (!from || !isState(op.getInputs()[0]))
    return false;
  Content known = *from;
  if (isState(op.getResult())) {
    contents[op.getResult()] = known;
    return true;
  }
  bool isRounded = known.number == 0 && isBF16(op.getResult(), {StateChain::channels, chain.keys});
  contents[op.getResult()] = {Kind::RoundedState, 0};
  return isRounded;
}

bool ChainFinder::takeRead(ProductOp op) {
  int64_t count = op.getResult().getType().getSize(0);
  bool isPlain = op.getRightTransposed() && !op.getRowScale() && !op.getColumnScale() && !op.getLeftTriangle() &&
                 !op.getResultTriangle() && whole(op.getResult()) == op.getResult();
  if (!isPlain || !contentOf(op.getRight(), Kind::RoundedState) || !isInput(op.getLeft(), {count, chain.keys}) ||
      !isBF16(op.getResult(), {count, StateChain::channels}))
    return false;
  StateChain::Read read{contentOf(op.getLeft(), Kind::Loaded)->number, std::nullopt, count};
  if (Value plus = op.getPlus()) {
    if (!isInput(plus, {count, StateChain::channels}))
      return false;
    read.plus = contentOf(plus, Kind::Loaded)->number;
  }
  contents[op.getResult()] = {Kind::Sums, unsigned(chain.reads.size())};
  chain.reads.push_back(read);
  return true;
}

bool ChainFinder::takeAdvance(ProductOp op) {
  const Content *before = op.getPlus() ? contentOf(op.getPlus(), Kind::State) : nullptr;
  bool isPlain = before && before->number == chain.advances.size() && !op.getRightTransposed() && !op.getRowScale() &&
                 !op.getLeftTriangle() && !op.getResultTriangle() && isState(op.getResult()) &&
                 whole(op.getResult()) == op.getResult();
  if (!isPlain)
    return false;
  int64_t rows = op.getLeft().getType().getSize(0);
  const Content *sums = contentOf(op.getLeft(), Kind::Sums);
  if (!isBF16(op.getLeft(), {rows, StateChain::channels}) || !isInput(op.getRight(), {rows, chain.keys}) ||
      (!sums && !isInput(op.getLeft(), {rows, StateChain::channels})))
    return false;
  StateChain::Advance advance{sums != nullptr, sums ? sums->number : contentOf(op.getLeft(), Kind::Loaded)->number,
                              contentOf(op.getRight(), Kind::Loaded)->number, std::nullopt};
  if (Value scale = op.getColumnScale()) {
    const Content *loaded = contentOf(scale, Kind::Loaded);
    int64_t count = tileOf(whole(scale)).getShape().back();
    if (!loaded || !tileOf(scale).getElementType().isF32() || (count != 1 && count != chain.keys))
      return false;
    advance.scale = loaded->number;
  }
  chain.advances.push_back(advance);
  contents[op.getResult()] = {Kind::State, unsigned(chain.advances.size())};
  return true;
}

/// The state as it was when the chunk began, or what was read.
bool ChainFinder::take(StoreOp op) {
  if (!op.getArray().getType().getElementType().isBF16())
    return false;
  const Content *now = contentOf(op.getTile(), Kind::State);
  if (contentOf(op.getTile(), Kind::RoundedState) || (now && now->number == 0)) {
    bool isOnly = !chain.kept;
    chain.kept = op;
    return isOnly;
  }
  const Content *sums = contentOf(op.getTile(), Kind::Sums);
  if (!sums || chain.reads[sums->number].store)
    return false;
  chain.reads[sums->number].store = op;
  return true;
}

/// Of a thread that has a state, the state rounded, and what is read and added. The rest of the 168 that a thread of so
/// many can have is for addresses.
bool ChainFinder::fitsRegisters() const {
  constexpr int64_t most = 152;
  int64_t largest = 0, loaded = 0;
  for (const StateChain::Read &read : chain.reads)
    largest = std::max(largest, read.count / 2 + read.count / 4);
  for (const StateChain::Advance &advance : chain.advances)
    if (!advance.takesSums)
      loaded += chain.loads[advance.values].type().getSize(0) / 4;
  return chain.keys % 16 == 0 && chain.keys / 2 + chain.keys / 4 + largest + loaded <= most;
}

/// Tiles of a stage, and as many stages as there is room for; then what is stored, and the barriers.
bool ChainFinder::place() {
  constexpr int64_t panelColumns = 64, rowBytes = 128, alignment = 1024, mostStages = 4;
  for (StateChain::Load &load : chain.loads) {
    TileType type = load.type();
    load.offset = chain.stageBytes;
    int64_t bytes = load.isRows() ? llvm::divideCeil(type.getSize(1), panelColumns) * type.getSize(0) * rowBytes
                                  : 4 * type.getShape().back();
    chain.stageBytes += llvm::alignTo(bytes, alignment);
  }
  int64_t stored = 0;
  if (chain.kept)
    stored += 2 * StateChain::channels * StateChain::paddedRow(chain.keys);
  for (StateChain::Read &read : chain.reads)
    if (read.store) {
      read.offset = stored;
      stored += 2 * read.count * StateChain::paddedRow(StateChain::channels);
    }
  constexpr int64_t barrierBytes = 256; // of at most 4 stages and 8 tiles
  if (chain.reads.size() > 7)
    return false;
  for (chain.stages = mostStages; chain.stages > 1; --chain.stages) {
    int64_t begin = chain.stages * chain.stageBytes;
    chain.sharedBytes = begin + stored + barrierBytes;
    if (chain.sharedBytes > mostSharedBytes)
      continue;
    chain.keptOffset = begin;
    for (StateChain::Read &read : chain.reads)
      read.offset += begin;
    chain.barrierOffset = begin + stored;
    return true;
  }
  return false;
}

std::optional<StateChain> ChainFinder::find() {
  if (!kernel.getThreads())
    return std::nullopt;
  for (Operation &op : kernel.getBody().front())
    if (!takeAround(op))
      return std::nullopt;
  // What the next chunk begins with lies where this one has begun.
  const Content *last = state ? contentOf(state, Kind::State) : nullptr;
  bool isWhole = chain.final && chain.loop && !chain.advances.empty() && last && last->number == chain.advances.size();
  if (!isWhole || !fitsRegisters() || !place())
    return std::nullopt;
  return chain;
}

std::optional<StateChain> recur::analysis::findStateChain(KernelOp kernel) { return ChainFinder(kernel).find(); }
