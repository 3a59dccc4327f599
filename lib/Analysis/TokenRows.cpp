#include "Analysis/TokenRows.h"
#include "Analysis/Trees.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

/// Beside the states, that as many CTAs have room as without these rows.
static constexpr int64_t mostBytes = 20 << 10, mostTokens = 8;
/// Of a row in a record, that pieces of so many bytes go there at once.
static constexpr uint64_t alignment = 16;
static constexpr int64_t wideBytes = 4;

/// Of a token's number, as the loop counts: it is one row.
static bool isOne(Value rows) {
  if (matchPattern(rows, m_One()))
    return true;
  auto smaller = rows.getDefiningOp<arith::MinSIOp>();
  return smaller && (matchPattern(smaller.getLhs(), m_One()) || matchPattern(smaller.getRhs(), m_One()));
}

static bool isOfToken(TileType type) {
  return type.getMemory() == Memory::Shared && !type.getSwizzle() && type.getSize(0) == 1 &&
         type.getStride(type.getRank() - 1) == 1;
}

static Value resultOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<MapOp, ProductOp, ReduceOp>([](auto own) { return own.getResult(); })
      .Case([](LoadOp load) { return load.getTile(); })
      .Default(Value());
}

namespace {
class RowFinder {
public:
  RowFinder(scf::ForOp loop, const llvm::DenseSet<Operation *> &ofThreads) : loop(loop), ofThreads(ofThreads) {}
  TokenRows find(int64_t begin);

private:
  bool isRow(Value tile, Operation *maker);
  bool isOnlyRead(Value tile, Operation *maker);
  bool isLoaded(LoadOp load);
  bool isMade(MapOp op);
  Value findSum(Operation *op);
  /// As it lies in a record: as in the array where all that read it take any type.
  Type chooseElement(LoadOp load);
  bool takesAny(Value tile, LoadOp load);
  bool isConvertedAhead(LoadOp load);
  bool areSame(const TokenRows::Row &one, const TokenRows::Row &other) const;
  void findSame(std::vector<TokenRows::Row> &some);
  void place(int64_t begin);
  bool readsOthers();

  scf::ForOp loop;
  const llvm::DenseSet<Operation *> &ofThreads;
  TokenRows found;
  llvm::DenseSet<Value> rows;
  llvm::DenseMap<Operation *, Type> elements;
  llvm::DenseMap<Value, Value> firsts; // of the same rows
};
} // namespace

/// Whether the ops of the loop read the tile, and only its maker writes it.
bool RowFinder::isOnlyRead(Value tile, Operation *maker) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (user == maker)
      return true;
    if (user->getBlock() != loop.getBody() || user->isBeforeInBlock(maker))
      return false;
    if (auto view = dyn_cast<ViewOp>(user))
      return isOnlyRead(view.getResult(), maker);
    if (isa<StoreOp>(user))
      return true;
    Value result = resultOf(user);
    return result && result != tile;
  });
}

bool RowFinder::isRow(Value tile, Operation *maker) {
  return tile.getDefiningOp<AllocOp>() && isOfToken(tileOf(tile)) && isOnlyRead(tile, maker);
}

/// An array whose rows are those of the loop's tokens, into a tile of its own.
bool RowFinder::isLoaded(LoadOp load) {
  bool isWritten = llvm::any_of(load.getArray().getUsers(), llvm::IsaPred<StoreOp>);
  return load.getFirst() == loop.getInductionVar() && isOne(load.getRows()) && !isWritten &&
         isRow(load.getTile(), load);
}

/// Of rows alone, and for all threads together: for each number of a row from those of the same token.
bool RowFinder::isMade(MapOp op) {
  if (ofThreads.contains(op) || op.getBlocks() || op.getInputs().empty() || !isOne(op.getRows()) ||
      !isRow(op.getResult(), op))
    return false;
  bool asksForRow =
      op.getBody()
          .walk([](IndexOp index) { return index.getDim() == 0 ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
  return !asksForRow && llvm::all_of(llvm::enumerate(op.getInputs()), [&](auto each) {
    auto dims = cast<DenseI64ArrayAttr>(op.getDims()[unsigned(each.index())]).asArrayRef();
    return rows.contains(each.value()) && !dims.empty() && dims.front() == 0;
  });
}

/// The number that threads make of rows alone, each group of lanes the same; null where the op makes no such.
Value RowFinder::findSum(Operation *op) {
  bool isDot = isa<ProductOp>(op) && cast<ProductOp>(op).getRightTransposed();
  Value result = isDot || isa<ReduceOp>(op) ? resultOf(op) : Value();
  bool isOfRows = result && ofThreads.contains(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
                    return operand == result || !isa<TileType>(operand.getType()) || rows.contains(operand);
                  });
  return isOfRows && llvm::product_of(tileOf(result).getShape()) == 1 ? result : Value();
}

bool RowFinder::takesAny(Value tile, LoadOp load) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<ViewOp>(user))
      return !view.getRow() && view.getOffset() == 0 && takesAny(view.getResult(), load);
    return user == load || ofThreads.contains(user) || isa<MapOp>(user);
  });
}

Type RowFinder::chooseElement(LoadOp load) {
  Type own = tileOf(load.getTile()).getElementType(), given = tileOf(load.getArray()).getElementType();
  if (!own.isF32()) // it may be rounded
    return own;
  return takesAny(load.getTile(), load) ? given : own;
}

/// Threads multiply a state by its numbers, or change one with them: of each number several do, and each thread has
/// many.
bool RowFinder::isConvertedAhead(LoadOp load) {
  constexpr int64_t inPiece = 4;
  Value tile = load.getTile();
  TileType type = tileOf(tile);
  auto isMatrix = [](Value operand) {
    auto own = dyn_cast<TileType>(operand.getType());
    return own && llvm::count_if(own.getShape(), [](int64_t size) { return size > 1; }) > 1;
  };
  return type.getElementType().isF32() && elements.lookup(load).getIntOrFloatBitWidth() == 16 && type.getRank() == 2 &&
         type.getSize(1) % inPiece == 0 && llvm::any_of(tile.getUsers(), [&](Operation *user) {
           return ofThreads.contains(user) && llvm::any_of(user->getOperands(), isMatrix);
         });
}

/// Of the same numbers, in the same type.
bool RowFinder::areSame(const TokenRows::Row &one, const TokenRows::Row &other) const {
  if (elements.lookup(one.op) != elements.lookup(other.op) || one.op->getName() != other.op->getName() ||
      tileOf(one.tile).getShape() != tileOf(other.tile).getShape() ||
      tileOf(one.tile).getStrides().drop_front() != tileOf(other.tile).getStrides().drop_front())
    return false;
  if (auto load = dyn_cast<LoadOp>(one.op))
    return load.getArray() == cast<LoadOp>(other.op).getArray();
  auto map = cast<MapOp>(one.op), otherMap = cast<MapOp>(other.op);
  auto firstOf = [&](Value tile) { return firsts.lookup(tile); };
  return map.getDims() == otherMap.getDims() &&
         llvm::equal(llvm::map_range(map.getInputs(), firstOf), llvm::map_range(otherMap.getInputs(), firstOf)) &&
         OperationEquivalence::isRegionEquivalentTo(&map.getBody(), &otherMap.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

void RowFinder::findSame(std::vector<TokenRows::Row> &some) {
  for (size_t i = 0; i < some.size(); ++i) {
    Value first = some[i].tile;
    for (size_t j = 0; j < i && !some[i].isAnother; ++j)
      if (!some[j].isAnother && areSame(some[j], some[i])) {
        some[i].isAnother = true;
        first = some[j].tile;
      }
    firsts[some[i].tile] = first;
  }
}

void RowFinder::place(int64_t begin) {
  for (TokenRows::Row &row : found.loads)
    elements[row.op] = chooseElement(cast<LoadOp>(row.op));
  for (TokenRows::Row &row : found.made)
    elements[row.op] = tileOf(row.tile).getElementType();
  findSame(found.loads);
  findSame(found.made);
  llvm::SmallSetVector<Value, 4> converted; // of the same rows all, if one is
  for (TokenRows::Row &row : found.loads)
    if (isConvertedAhead(cast<LoadOp>(row.op)))
      converted.insert(firsts[row.tile]);
  // Each row of a record begins at a multiple of the largest piece that is moved.
  llvm::DenseMap<Value, int64_t> offsets, offsetsOfConverted;
  int64_t record = 0;
  for (std::vector<TokenRows::Row> *some : {&found.loads, &found.made})
    for (TokenRows::Row &row : *some)
      if (!row.isAnother) {
        offsets[row.tile] = record;
        int64_t bits = tileOf(row.tile).getStride(0) * elements[row.op].getIntOrFloatBitWidth();
        record += int64_t(llvm::alignTo(uint64_t(bits) / 8, alignment));
      }
  for (Value tile : converted) {
    offsetsOfConverted[tile] = record;
    record += int64_t(llvm::alignTo(uint64_t(tileOf(tile).getStride(0) * wideBytes), alignment));
  }
  const int64_t sums = record;
  record += int64_t(found.sums.size() * alignment);
  int64_t tokens = mostTokens;
  while (tokens > 1 && tokens * record > mostBytes)
    tokens /= 2;
  if (!record || tokens == 1)
    return;
  found.tokens = tokens;
  found.begin = int64_t(llvm::alignTo(uint64_t(begin), alignment));
  found.end = found.begin + tokens * record;
  for (std::vector<TokenRows::Row> *some : {&found.loads, &found.made})
    for (TokenRows::Row &row : *some) {
      TileType type = tileOf(row.tile);
      Type element = elements[row.op];
      SmallVector<int64_t> shape(type.getShape()), strides(type.getStrides());
      shape[0] = tokens;
      strides[0] = record * 8 / element.getIntOrFloatBitWidth();
      row.offset = found.begin + offsets[firsts[row.tile]];
      row.all = TileType::get(type.getContext(), shape, element, type.getMemory(), strides, /*swizzle=*/0);
      if (some != &found.loads || !converted.contains(firsts[row.tile]))
        continue;
      row.cameTo = std::exchange(row.offset, found.begin + offsetsOfConverted[firsts[row.tile]]);
      strides[0] = record / wideBytes;
      row.came = std::exchange(row.all, TileType::get(type.getContext(), shape, type.getElementType(), type.getMemory(),
                                                      strides, /*swizzle=*/0));
    }
  for (auto [number, row] : llvm::enumerate(found.sums)) {
    Type f32 = Float32Type::get(row.tile.getContext());
    row.offset = found.begin + sums + int64_t(number * alignment);
    row.all = TileType::get(f32.getContext(), {tokens}, f32, Memory::Shared, {record / 4}, /*swizzle=*/0);
  }
}

bool RowFinder::readsOthers() {
  llvm::DenseSet<Operation *> known;
  for (TokenRows::Row &row : found.loads)
    known.insert(row.op);
  auto isArray = [](Operation *op, Value operand) {
    auto type = dyn_cast<TileType>(operand.getType());
    return type && type.getMemory() == Memory::Global && !(isa<StoreOp>(op) && cast<StoreOp>(op).getArray() == operand);
  };
  return loop
      ->walk([&](Operation *op) {
        bool reads = !known.contains(op) && !isa<ViewOp>(op) &&
                     llvm::any_of(op->getOperands(), [&](Value operand) { return isArray(op, operand); });
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

TokenRows RowFinder::find(int64_t begin) {
  for (LoadOp load : loop.getBody()->getOps<LoadOp>())
    if (isLoaded(load)) {
      found.loads.push_back({load, load.getTile(), 0, {}, false});
      rows.insert(load.getTile());
    }
  for (MapOp op : loop.getBody()->getOps<MapOp>())
    if (isMade(op)) {
      found.made.push_back({op, op.getResult(), 0, {}, false});
      rows.insert(op.getResult());
    }
  for (Operation &op : loop.getBody()->without_terminator())
    if (Value sum = findSum(&op))
      found.sums.push_back({&op, sum, 0, {}, false});
  place(begin);
  if (!found.tokens)
    return {};
  found.areAll = !readsOthers();
  return std::move(found);
}

TokenRows recur::analysis::findTokenRows(KernelOp kernel, scf::ForOp loop, const llvm::DenseSet<Operation *> &ofThreads,
                                         int64_t begin) {
  // The tokens of a tree lie anywhere.
  if (kernel->hasAttr(tokenByTokenAttribute) || kernel->hasAttr(treesAttribute) ||
      !matchPattern(loop.getLowerBound(), m_Zero()))
    return {};
  return RowFinder(loop, ofThreads).find(begin);
}
