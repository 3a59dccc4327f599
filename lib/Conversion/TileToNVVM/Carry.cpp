// A thread has a channel from the first chunk to the last, in registers. Nothing is shared, so nobody waits for
// anybody; and while some chunks are computed, the loads of as many behind them are on their way.
#include "Conversion/TileToNVVM/Carry.h"
#include "Analysis/WholeTile.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::ChannelCarry;
using recur::analysis::getWholeTile;

namespace {

class CarryCode {
public:
  CarryCode(TeamCode &team, const ChannelCarry &carry, const CarryKernel &known)
      : t(team), carry(carry), known(known), arrays(known.arrays), values(known.values) {}
  void emit(Block &body);

private:
  using Numbers = llvm::DenseMap<Value, Value>; // of the thread, by tile
  void emit(Operation &op, IRMapping &scalars, Numbers &numbers, Value isThere);
  void emitLoop(Numbers &numbers);
  void beginForAll(Block &body, Numbers &numbers);
  void loadInitial(LoadOp op, Numbers &numbers);
  SmallVector<Value> loadChunks(Value first);
  Value load(LoadOp op, const IRMapping &scalars);
  /// Whether it is a state that is kept before each token.
  bool store(StoreOp op, const IRMapping &scalars, Value number, Value isThere);
  void store(StoreOp op, const CallerArray &array, Value row, Value number, Value isThere);
  Value takeFork(StoreOp kept, const IRMapping &scalars, Value number, Value isThere);
  void storeAtMultiple(Value tokens, Value end, const Numbers &numbers);
  Value placeOf(const CallerArray &array, Value row, Value tile);
  Value rounded(Value number, Value tile) {
    return t.convert(t.convert(number, tileOf(tile).getElementType()), t.builder.getF32Type());
  }
  Value isBelow(Value a, Value b) { return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::slt, a, b); }
  Value bound(Value old) { return values.lookup(old); }

  TeamCode &t;
  const ChannelCarry &carry;
  const CarryKernel &known;
  const llvm::DenseMap<Value, CallerArray> &arrays;
  IRMapping values;
};

} // namespace

Value CarryCode::placeOf(const CallerArray &array, Value row, Value tile) {
  Value offset = t.multiplyWide(row, array.tokenStride);
  if (llvm::product_of(tileOf(tile).getShape()) > 1)
    offset = t.addWide(offset, t.widen(t.thread));
  return t.offset(array.pointer, offset, array.type.getElementType());
}

Value CarryCode::load(LoadOp op, const IRMapping &scalars) {
  const CallerArray &array = arrays.find(op.getArray())->second;
  Value place = placeOf(array, known.findLoaded(op, scalars.lookup(op.getFirst())), op.getTile());
  Value number = t.convert(t.load(place, array.type.getElementType()), t.builder.getF32Type());
  return rounded(number, op.getTile());
}

bool CarryCode::store(StoreOp op, const IRMapping &scalars, Value number, Value isThere) {
  const CallerArray &array = arrays.find(op.getArray())->second;
  Value row = scalars.lookup(op.getFirst());
  std::optional<KeptPlace> kept = known.findKept(op, row);
  if (!kept) {
    if (Value isStored = known.isStored(op, row))
      isThere = isThere ? arith::AndIOp::create(t.builder, t.loc, isThere, isStored).getResult() : isStored;
    store(op, array, row, number, isThere);
    return false;
  }
  auto usual = [&] { store(op, array, row, number, isThere); };
  auto elsewhere = [&] {
    store(op, kept->find(), arith::ConstantIntOp::create(t.builder, t.loc, 0, 64), number, isThere);
  };
  t.either(kept->isElsewhere, elsewhere, usual);
  return true;
}

/// The number that the token begins with. Each thread stores what it may load: of a number of all channels too.
Value CarryCode::takeFork(StoreOp kept, const IRMapping &scalars, Value number, Value isThere) {
  std::optional<CarriedFork> fork = known.findFork(kept, scalars.lookup(kept.getFirst()));
  if (!fork)
    return number;
  Value zero = arith::ConstantIntOp::create(t.builder, t.loc, 0, 64);
  auto whereThere = [&](Value condition) -> Value {
    return isThere ? arith::AndIOp::create(t.builder, t.loc, condition, isThere).getResult() : condition;
  };
  t.when(whereThere(fork->isKept), [&] { t.store(number, placeOf(fork->findKept(), zero, kept.getTile())); });
  return t.choose(
      whereThere(fork->isElsewhere),
      [&] { return t.load(placeOf(fork->findOther(), zero, kept.getTile()), t.builder.getF32Type()); }, number);
}

/// A number of all channels is stored by one thread.
void CarryCode::store(StoreOp op, const CallerArray &array, Value row, Value number, Value isThere) {
  Value stores = isPresent(t, array);
  if (isThere)
    stores = arith::AndIOp::create(t.builder, t.loc, stores, isThere);
  if (llvm::product_of(tileOf(op.getTile()).getShape()) == 1)
    stores = arith::AndIOp::create(t.builder, t.loc, stores, t.below(t.thread, t.constant(1)));
  t.when(stores, [&] { t.store(t.convert(number, array.type.getElementType()), placeOf(array, row, op.getTile())); });
}

/// One op for the thread's channel. Where `isThere` is given and does not hold, nothing is stored.
void CarryCode::emit(Operation &op, IRMapping &scalars, Numbers &numbers, Value isThere) {
  auto numberOf = [&](Value tile) { return numbers.lookup(getWholeTile(tile)); };
  auto set = [&](Value tile, Value number) { numbers[getWholeTile(tile)] = rounded(number, tile); };
  if (isa<arith::ArithDialect>(op.getDialect())) {
    t.builder.clone(op, scalars);
  } else if (auto map = dyn_cast<MapOp>(op)) {
    SmallVector<Value> arguments = llvm::map_to_vector(map.getInputs(), numberOf);
    set(map.getResult(), t.body(map.getBody(), arguments, {})[0]);
  } else if (auto scan = dyn_cast<ScanOp>(op)) {
    SmallVector<Value> arguments = llvm::map_to_vector(scan.getInputs(), numberOf);
    arguments.push_back(scan.getInitial() ? numberOf(scan.getInitial()) : t.number(scan.getStart().convertToDouble()));
    SmallVector<Value> made = t.body(scan.getBody(), arguments, {});
    if (scan.getLast())
      set(scan.getLast(), made[0]);
    if (scan.getAll())
      set(scan.getAll(), made[1]);
  } else if (auto given = dyn_cast<StoreOp>(op)) {
    if (store(given, scalars, numberOf(given.getTile()), isThere))
      numbers[getWholeTile(given.getTile())] = takeFork(given, scalars, numberOf(given.getTile()), isThere);
  }
}

/// What so many chunks bring, from one on. Those beyond the last bring again what the first one brings, and arrays that
/// are absent zeros.
SmallVector<Value> CarryCode::loadChunks(Value first) {
  scf::ForOp loop = carry.loop;
  Value begin = known.findBegin(loop, bound(loop.getLowerBound())), end = bound(loop.getUpperBound()), at = first;
  SmallVector<IRMapping> scalars;
  for (int64_t chunk = 0; chunk < carry.depth; ++chunk) {
    IRMapping &own = scalars.emplace_back(values);
    own.map(loop.getInductionVar(), t.select(isBelow(at, end), at, begin));
    for (Operation &op : loop.getBody()->without_terminator())
      if (isa<arith::ArithDialect>(op.getDialect()))
        t.builder.clone(op, own);
    at = t.addWide(at, bound(loop.getStep()));
    known.findToken(own.lookup(loop.getInductionVar()));
  }
  Value areThere = isBelow(begin, end); // chunks at all
  SmallVector<SmallVector<Value>> found;
  for (LoadOp op : carry.loads) {
    Value isThere = arith::AndIOp::create(t.builder, t.loc, areThere, isPresent(t, arrays.find(op.getArray())->second));
    auto choice =
        scf::IfOp::create(t.builder, t.loc, SmallVector<Type>(unsigned(carry.depth), t.builder.getF32Type()), isThere,
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.builder);
    t.builder.setInsertionPointToEnd(choice.thenBlock());
    scf::YieldOp::create(t.builder, t.loc,
                         llvm::map_to_vector(scalars, [&](const IRMapping &own) { return load(op, own); }));
    t.builder.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(t.builder, t.loc, SmallVector<Value>(size_t(carry.depth), t.number(0)));
    found.push_back(llvm::to_vector_of<Value>(choice.getResults()));
  }
  SmallVector<Value> byChunk;
  for (int64_t chunk = 0; chunk < carry.depth; ++chunk)
    for (ArrayRef<Value> own : found)
      byChunk.push_back(own[size_t(chunk)]);
  return byChunk;
}

void CarryCode::emitLoop(Numbers &numbers) {
  scf::ForOp loop = carry.loop;
  Value begin = known.findBegin(loop, bound(loop.getLowerBound())), end = bound(loop.getUpperBound()),
        step = bound(loop.getStep());
  Value wholeStep = t.multiplyWide(step, arith::ConstantIntOp::create(t.builder, t.loc, carry.depth, 64).getResult());
  SmallVector<Value> initial;
  for (Value tile : carry.carried)
    initial.push_back(numbers.lookup(tile));
  llvm::append_range(initial, loadChunks(begin));
  auto steps = scf::ForOp::create(t.builder, t.loc, begin, end, wholeStep, initial);
  {
    OpBuilder::InsertionGuard guard(t.builder);
    t.builder.setInsertionPointToEnd(steps.getBody());
    SmallVector<Value> next = loadChunks(t.addWide(steps.getInductionVar(), wholeStep));
    Numbers own = numbers;
    for (auto [tile, number] : llvm::zip(carry.carried, steps.getRegionIterArgs()))
      own[tile] = number;
    ValueRange loaded = ValueRange(steps.getRegionIterArgs()).drop_front(carry.carried.size());
    Value at = steps.getInductionVar();
    for (int64_t chunk = 0; chunk < carry.depth; ++chunk) {
      Value isThere = isBelow(at, end);
      IRMapping scalars = values;
      scalars.map(loop.getInductionVar(), at);
      Numbers made = own;
      size_t number = size_t(chunk) * carry.loads.size();
      for (Operation &op : loop.getBody()->without_terminator())
        if (auto load = dyn_cast<LoadOp>(op))
          made[getWholeTile(load.getTile())] = loaded[number++];
        else
          emit(op, scalars, made, isThere);
      for (Value tile : carry.carried)
        own[tile] = t.select(isThere, made.lookup(tile), own.lookup(tile));
      at = t.addWide(at, step);
      storeAtMultiple(at, end, own);
    }
    SmallVector<Value> left;
    for (Value tile : carry.carried)
      left.push_back(own.lookup(tile));
    llvm::append_range(left, next);
    scf::YieldOp::create(t.builder, t.loc, left);
  }
  for (auto [tile, number] : llvm::zip(carry.carried, steps.getResults()))
    numbers[tile] = number;
}

void CarryCode::storeAtMultiple(Value tokens, Value end, const Numbers &numbers) {
  known.atMultiple(tokens, end, [&](StoreOp op, const CallerArray &array) {
    Value row = arith::ConstantIntOp::create(t.builder, t.loc, 0, 64);
    store(op, array, row, numbers.lookup(getWholeTile(op.getTile())), {});
  });
}

/// What all threads begin with: places in arrays, and states of one number, which one thread stores in the end, perhaps
/// where they were. All have read them before one goes on.
void CarryCode::beginForAll(Block &body, Numbers &numbers) {
  auto isOne = [](auto op) { return llvm::product_of(tileOf(op.getTile()).getShape()) == 1; };
  for (Operation &op : body)
    if (isa<arith::ArithDialect>(op.getDialect()))
      t.builder.clone(op, values);
    else if (auto given = dyn_cast<LoadOp>(op); given && isOne(given))
      loadInitial(given, numbers);
  if (!numbers.empty() && carry.channels > warpThreads && llvm::any_of(body.getOps<StoreOp>(), isOne))
    t.barrier();
}

void CarryCode::loadInitial(LoadOp op, Numbers &numbers) {
  Value isThere = isPresent(t, arrays.find(op.getArray())->second);
  numbers[getWholeTile(op.getTile())] = t.choose(isThere, [&] { return load(op, values); }, t.number(0));
}

void CarryCode::emit(Block &body) {
  Numbers numbers;
  beginForAll(body, numbers);
  t.when(t.below(t.thread, t.constant(carry.channels)), [&] {
    for (Operation &op : body) {
      if (isa<scf::ForOp>(op)) {
        emitLoop(numbers);
      } else if (auto given = dyn_cast<LoadOp>(op)) {
        if (!numbers.contains(getWholeTile(given.getTile())))
          loadInitial(given, numbers);
      } else if (!isa<arith::ArithDialect>(op.getDialect())) {
        emit(op, values, numbers, {});
      }
    }
  });
}

void nvvm::emitChannelCarry(TeamCode &team, KernelOp kernel, const ChannelCarry &carry, const CarryKernel &known) {
  CarryCode(team, carry, known).emit(kernel.getBody().front());
}
