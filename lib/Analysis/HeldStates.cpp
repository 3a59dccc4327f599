#include "Analysis/HeldStates.h"
#include "Analysis/ListedArrays.h"
#include "Analysis/StateParts.h"
#include "Analysis/WholeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

/// Beside the states a thread needs registers for a token's vectors and for where arrays are.
static constexpr int64_t mostNumbers = 64;
/// Where arrays are takes registers, too: of a layer's kernel with dozens of arrays too many are needed beside a large
/// state, which the assembler would only find out in a long time.
static constexpr int64_t mostRegisters = 112, registersOfArray = 3;
/// Of one token, that read a state or change it at once.
static constexpr int64_t mostSteps = 4;

int64_t HeldStates::countNumbers() const {
  int64_t numbers = 0;
  for (auto [state, dim] : states)
    numbers += llvm::product_of(tileOf(state).getShape()) / (warps * heldLanesAcross * heldLanesAlong);
  return numbers;
}

std::optional<int64_t> recur::analysis::findOnlyDim(TileType type) {
  int64_t only = type.getRank() - 1;
  if (llvm::count_if(type.getShape(), [](int64_t size) { return size > 1; }) > 1)
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (size > 1)
      only = int64_t(dim);
  return only;
}

static bool isConstant(Value number, int64_t wanted) {
  APInt known;
  return matchPattern(number, m_ConstantInt(&known)) && known.getSExtValue() == wanted;
}

/// The whole tile in another shape, or itself: indices of more than one are in the same order.
static bool isSameTile(Value tile) {
  auto sizesOf = [](Value tile) {
    SmallVector<int64_t> sizes(tileOf(tile).getShape());
    llvm::erase(sizes, 1);
    return sizes;
  };
  for (; auto view = tile.getDefiningOp<ViewOp>(); tile = view.getSource())
    if (view.getRow() || view.getOffset() || sizesOf(view.getResult()) != sizesOf(view.getSource()))
      return false;
  return tile.getDefiningOp<AllocOp>() != nullptr;
}

static int64_t countElements(Value tile) { return llvm::product_of(tileOf(tile).getShape()); }

/// Whether each thread may compute the numbers that it needs, as other threads do.
static bool isCheap(Region &body) {
  return llvm::none_of(body.front(), [](Operation &op) {
    return isa<arith::DivFOp>(op) || (isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp>(op));
  });
}

static ArrayRef<int64_t> dimsOf(ArrayAttr dims, size_t input) {
  return cast<DenseI64ArrayAttr>(dims[unsigned(input)]).asArrayRef();
}

/// Rows of an op of one token, or all of the tile.
static bool takesAllRows(Value rows, Value tile) {
  int64_t all = tileOf(tile).getSize(0);
  return all == 1 || isConstant(rows, all);
}

namespace {

class HeldFinder {
public:
  HeldFinder(KernelOp kernel, scf::ForOp loop) : kernel(kernel) {
    held.loop = loop;
    held.warps = getStateParts(kernel) * int64_t(*kernel.getThreads()) / (heldLanesAcross * heldLanesAlong);
  }
  std::optional<HeldStates> find();

private:
  void findStates();
  std::optional<int64_t> findFreeDim(Value state);
  bool takesState(Operation *op, Value state);
  bool takesState(LoadOp op, Value state) { return isArrayOf(op.getArray(), op.getRows(), state) && !isInLoop(op); }
  bool takesState(StoreOp op, Value state) { return isArrayOf(op.getArray(), op.getRows(), state); }
  bool takesState(ProductOp op, Value state);
  bool takesState(MapOp op, Value state);
  bool isArrayOf(Value array, Value rows, Value state);
  bool isInLoop(Operation *op) { return op->getBlock() == held.loop.getBody(); }
  bool isState(Value tile) { return held.states.contains(getWholeTile(tile)); }

  void findNumbers();
  bool mayBeNumbers(AllocOp op);
  void want(Operation &op);
  void wantInput(Value tile, HeldForm form);
  /// Gives the form of what an op writes, where threads can do it with their own numbers.
  std::optional<HeldForm> findForm(Operation *op);
  std::optional<HeldForm> findForm(MapOp op);
  std::optional<HeldForm> findForm(ProductOp op);
  std::optional<HeldForm> findForm(ReduceOp op);
  std::optional<HeldForm> chooseForm(ArrayRef<Value> inputs, Value result, bool isCheap);
  bool isShared(Value tile, HeldForm form) {
    return findOnlyDim(tileOf(tile)) && (countElements(tile) == 1 || held.canShare(form, countElements(tile)));
  }
  void placeWhatIsRead();
  void findFreed();

  KernelOp kernel;
  HeldStates held;
  llvm::DenseMap<Value, HeldForm> wanted; // of what reads and changes states
  llvm::DenseSet<Value> small, excluded;
};

} // namespace

/// Calls `use` for each op that has the tile, or all of it in another shape, among its operands; false where a part is
/// taken, or `use` says so.
static bool forEachUse(Value tile, llvm::function_ref<bool(Operation *)> use) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<ViewOp>(user))
      return isSameTile(view.getResult()) && forEachUse(view.getResult(), use);
    return use(user);
  });
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

bool HeldFinder::isArrayOf(Value array, Value rows, Value state) {
  ArrayRef<int64_t> shape = tileOf(array).getShape();
  return isConstant(rows, 1) && shape.drop_front() == tileOf(state).getShape() && isa<BlockArgument>(array);
}

/// A vector times the state, or rank-one writes to it.
bool HeldFinder::takesState(ProductOp op, Value state) {
  if (op.getAhead() || op.getWritten() || op.getLeftTriangle() || op.getResultTriangle() || op.getAsync() ||
      op.getLeftExchanged())
    return false;
  TileType left = tileOf(op.getLeft()), type = tileOf(state);
  if (getWholeTile(op.getResult()) == state) {
    bool isPlus = !op.getPlus() || getWholeTile(op.getPlus()) == state;
    int64_t steps = left.getSize(0);
    return op.getTransposed() && !op.getRightTransposed() && isPlus && isConstant(op.getInner(), steps) &&
           steps <= mostSteps && takesAllRows(op.getRows(), op.getResult()) && !isState(op.getLeft()) &&
           !isState(op.getRight());
  }
  int64_t inner = op.getRightTransposed() ? 1 : 0;
  // What is added to a vector is one, too.
  bool isAdded =
      !op.getPlus() || (left.getSize(0) == 1 && !isState(op.getPlus()) && isShared(op.getPlus(), HeldForm::Along));
  return op.getRight() == state && !op.getTransposed() && isAdded && held.states.lookup(state) == 1 - inner &&
         isConstant(op.getInner(), type.getSize(inner)) && left.getSize(0) <= mostSteps && !isState(op.getLeft()) &&
         !isState(op.getResult()) && takesAllRows(op.getRows(), op.getResult());
}

/// A pass over states of one shape, whose other inputs are vectors or numbers.
bool HeldFinder::takesState(MapOp op, Value state) {
  if (op.getBlocks() || !isState(op.getResult()) || op.getResult().getDefiningOp<ViewOp>() ||
      !takesAllRows(op.getRows(), op.getResult()))
    return false;
  Value result = op.getResult();
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    ArrayRef<int64_t> dims = dimsOf(op.getDims(), number);
    if (isState(input) ? input.getDefiningOp<ViewOp>() || dims != ArrayRef<int64_t>({0, 1}) ||
                             held.states.lookup(input) != held.states.lookup(result) ||
                             tileOf(input).getShape() != tileOf(result).getShape()
                       : !findOnlyDim(tileOf(input)))
      return false;
  }
  return tileOf(result).getShape() == tileOf(state).getShape();
}

bool HeldFinder::takesState(Operation *op, Value state) {
  bool isOutside = op->getBlock() == &kernel.getBody().front();
  if (!isInLoop(op) && !(isOutside && isa<LoadOp, StoreOp>(op)))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<LoadOp, StoreOp, ProductOp, MapOp>([&](auto own) { return takesState(own, state); })
      .Default(false);
}

/// The dimension over which no product sums; the first one where there are no products.
std::optional<int64_t> HeldFinder::findFreeDim(Value state) {
  bool sums[] = {false, false};
  for (Operation *user : state.getUsers())
    if (auto product = dyn_cast<ProductOp>(user); product && product.getRight() == state)
      sums[product.getRightTransposed() ? 1 : 0] = true;
  if (sums[0] && sums[1])
    return std::nullopt;
  return sums[0] ? 1 : 0;
}

void HeldFinder::findStates() {
  for (AllocOp op : kernel.getBody().front().getOps<AllocOp>()) {
    TileType type = op.getType();
    if (type.getMemory() != Memory::Shared || !type.getElementType().isF32() || type.getRank() != 2 ||
        type.getSize(0) == 1 || type.getSize(1) == 1)
      continue;
    std::optional<int64_t> free = findFreeDim(op);
    if (free && held.canShare(HeldForm::Along, type.getSize(*free)) &&
        held.canShare(HeldForm::Across, type.getSize(1 - *free)))
      held.states[op] = *free;
  }
  // What one of them cannot be, those that it is computed with cannot be either.
  for (bool changes = true; changes;) {
    changes = false;
    for (auto [state, free] : llvm::make_early_inc_range(held.states))
      if (!forEachUse(state, [&](Operation *op) { return takesState(op, state); })) {
        held.states.erase(state);
        changes = true;
        break;
      }
  }
}

//===----------------------------------------------------------------------===//
// Small tiles
//===----------------------------------------------------------------------===//

/// Its numbers are made and used up within a token.
bool HeldFinder::mayBeNumbers(AllocOp op) {
  if (op.getType().getMemory() != Memory::Shared || !isa<FloatType>(op.getType().getElementType()) ||
      !findOnlyDim(op.getType()))
    return false;
  return forEachUse(op, [&](Operation *user) { return isInLoop(user) && !isa<LoadOp>(user); });
}

static void forEachTile(Operation *op, llvm::function_ref<void(Value)> take) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<TileType>(operand.getType()); type && type.getMemory() != Memory::Global)
      take(operand);
}

/// What an op writes; null where it writes nothing, or more than one tile, or is not known here.
static Value resultOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<MapOp, ProductOp, ReduceOp>([](auto own) { return own.getResult(); })
      .Default(Value());
}

static SmallVector<Value> readsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<MapOp, ReduceOp>([](auto own) { return SmallVector<Value>(own.getInputs()); })
      .Case([](ProductOp own) {
        SmallVector<Value> reads{own.getLeft(), own.getRight()};
        for (Value other : {own.getPlus(), own.getRowScale(), own.getColumnScale()})
          if (other)
            reads.push_back(other);
        return reads;
      })
      .Case([](StoreOp own) { return SmallVector<Value>{own.getTile()}; })
      .Default([](Operation *own) {
        SmallVector<Value> reads;
        forEachTile(own, [&](Value tile) { reads.push_back(tile); });
        return reads;
      });
}

void HeldFinder::wantInput(Value tile, HeldForm form) {
  if (countElements(tile) > 1 && !isState(tile) && isShared(tile, form))
    wanted.try_emplace(getWholeTile(tile), form);
}

/// Goes back from what reads and changes states to what these take.
void HeldFinder::want(Operation &op) {
  if (auto product = dyn_cast<ProductOp>(op)) {
    if (isState(product.getRight()) && tileOf(product.getLeft()).getSize(0) == 1)
      wantInput(product.getLeft(), HeldForm::Across);
    return;
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map)
    return;
  Value result = getWholeTile(map.getResult());
  for (auto [number, input] : llvm::enumerate(map.getInputs())) {
    if (isState(result)) {
      for (auto [dim, nestDim] : llvm::enumerate(dimsOf(map.getDims(), number)))
        if (tileOf(input).getSize(int64_t(dim)) > 1)
          wantInput(input, held.getForm(result, nestDim));
    } else if (auto form = wanted.find(result); form != wanted.end() && isCheap(map.getBody())) {
      wantInput(input, form->second);
    }
  }
}

std::optional<HeldForm> HeldFinder::chooseForm(ArrayRef<Value> inputs, Value result, bool isCheap) {
  if (!findOnlyDim(tileOf(result)))
    return std::nullopt;
  if (countElements(result) == 1)
    return llvm::all_of(inputs, [](Value input) { return countElements(input) == 1; }) ? std::optional(HeldForm::Same)
                                                                                       : std::nullopt;
  std::optional<HeldForm> form;
  for (Value input : inputs)
    if (auto known = held.numbers.find(getWholeTile(input));
        known != held.numbers.end() && known->second != HeldForm::Same && (!form || known->second == HeldForm::Along))
      form = known->second;
  if (!form)
    if (auto asked = wanted.find(getWholeTile(result)); asked != wanted.end())
      form = asked->second;
  if (!form || (*form == HeldForm::Across && !isCheap))
    return std::nullopt;
  bool areShared =
      isShared(result, *form) && llvm::all_of(inputs, [&](Value input) {
        return countElements(input) == 1 || (countElements(input) == countElements(result) && isShared(input, *form));
      });
  return areShared ? form : std::nullopt;
}

std::optional<HeldForm> HeldFinder::findForm(MapOp op) {
  if (op.getBlocks() || !takesAllRows(op.getRows(), op.getResult()))
    return std::nullopt;
  return chooseForm(SmallVector<Value>(op.getInputs()), op.getResult(), isCheap(op.getBody()));
}

std::optional<HeldForm> HeldFinder::findForm(ProductOp op) {
  TileType left = tileOf(op.getLeft()), right = tileOf(op.getRight());
  if (isState(op.getRight()))
    return left.getSize(0) == 1 && isShared(op.getResult(), HeldForm::Along) ? std::optional(HeldForm::Along)
                                                                             : std::nullopt;
  if (op.getAhead() || op.getWritten() || op.getAsync() || op.getTransposed() || op.getLeftExchanged() ||
      left.getSize(0) != 1 || !isConstant(op.getInner(), left.getSize(1)))
    return std::nullopt;
  // Of one row, and as many columns as the result has, a triangle of at least as many leaves out nothing.
  auto isWhole = [](std::optional<ArrayRef<int64_t>> triangle, int64_t columns) {
    return !triangle || (*triangle)[1] >= columns;
  };
  if (!isWhole(op.getLeftTriangle(), left.getSize(1)) ||
      !isWhole(op.getResultTriangle(), tileOf(op.getResult()).getSize(1)))
    return std::nullopt;
  if (op.getRightTransposed()) // a dot
    return right.getSize(0) == 1 && !op.getPlus() && isShared(op.getLeft(), HeldForm::Across) &&
                   isShared(op.getRight(), HeldForm::Across) && left.getSize(1) > 1
               ? std::optional(HeldForm::Same)
               : std::nullopt;
  if (left.getSize(1) != 1) // else a vector times a number
    return std::nullopt;
  SmallVector<Value> inputs = readsOf(op);
  return chooseForm(inputs, op.getResult(), /*isCheap=*/true);
}

std::optional<HeldForm> HeldFinder::findForm(ReduceOp op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  bool isOne = sizes.size() == 2 && sizes[0] == 1 && op.getOver() == ArrayRef<int64_t>({1}) &&
               countElements(op.getResult()) == 1 && isCheap(op.getBody()) &&
               held.canShare(HeldForm::Across, sizes[1]) && sizes[1] > 1;
  // A sum along the warps is for all threads together.
  bool areShared = isOne && llvm::all_of(op.getInputs(), [&](Value input) {
                     auto known = held.numbers.find(getWholeTile(input));
                     bool isAlong = known != held.numbers.end() && known->second == HeldForm::Along;
                     return !isAlong && isShared(input, HeldForm::Across) &&
                            (countElements(input) == 1 || countElements(input) == sizes[1]);
                   });
  return areShared ? std::optional(HeldForm::Same) : std::nullopt;
}

std::optional<HeldForm> HeldFinder::findForm(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<HeldForm>>(op)
      .Case<MapOp, ProductOp, ReduceOp>([&](auto own) { return findForm(own); })
      .Default(std::nullopt);
}

void HeldFinder::findNumbers() {
  for (AllocOp op : kernel.getBody().front().getOps<AllocOp>())
    if (!isState(op) && mayBeNumbers(op))
      small.insert(op);
  for (Operation &op : llvm::reverse(held.loop.getBody()->without_terminator()))
    want(op);
  // A tile that some op can not write so is none of them, and then perhaps neither is what is computed of it.
  for (bool changes = true; changes;) {
    changes = false;
    held.numbers.clear();
    held.ops.clear();
    for (Operation &op : held.loop.getBody()->without_terminator()) {
      if (isa<ViewOp>(op))
        continue;
      auto exclude = [&](Value tile) { changes |= small.erase(getWholeTile(tile)); };
      for (Value read : readsOf(&op)) // before it is written: a token takes it over from the one before
        if (!held.numbers.contains(getWholeTile(read)) &&
            getWholeTile(read) != getWholeTile(resultOf(&op) ? resultOf(&op) : Value(read)))
          exclude(read);
      Value result = resultOf(&op);
      bool isOfState = result && (isState(result) || (isa<ProductOp>(op) && isState(cast<ProductOp>(op).getRight())));
      if (isOfState)
        held.ops.insert(&op);
      if (!result || isState(result)) {
        if (!result && !isa<StoreOp>(op))
          forEachTile(&op, exclude); // it may write any of them
        continue;
      }
      Value whole = getWholeTile(result);
      bool readsOwn = llvm::any_of(readsOf(&op), [&](Value read) { return getWholeTile(read) == whole; });
      if (readsOwn && !held.numbers.contains(whole))
        exclude(result);
      std::optional<HeldForm> form = findForm(&op);
      auto known = held.numbers.find(whole);
      if (!small.contains(whole))
        continue;
      if (!form || (known != held.numbers.end() && known->second != *form)) {
        exclude(result);
        held.numbers.erase(whole);
        continue;
      }
      held.numbers[whole] = *form;
      held.ops.insert(&op);
    }
  }
  for (Operation &op : held.loop.getBody()->without_terminator())
    if (auto store = dyn_cast<StoreOp>(op)) {
      auto known = held.numbers.find(getWholeTile(store.getTile()));
      TileType array = tileOf(store.getArray());
      if (known != held.numbers.end() && known->second == HeldForm::Along && array.getRank() == 2 &&
          array.getSize(1) == countElements(store.getTile()) && isa<BlockArgument>(store.getArray()))
        held.ops.insert(&op);
    }
}

/// What other ops read, or threads that have other numbers, lies in its place, too.
void HeldFinder::placeWhatIsRead() {
  for (Operation &op : held.loop.getBody()->without_terminator()) {
    auto place = [&](Value tile) {
      Value whole = getWholeTile(tile);
      if (auto known = held.numbers.find(whole); known != held.numbers.end())
        held.placed.insert(whole);
    };
    auto placeUnless = [&](Value tile, HeldForm form) {
      auto known = held.numbers.find(getWholeTile(tile));
      if (known != held.numbers.end() && known->second != HeldForm::Same && known->second != form)
        held.placed.insert(getWholeTile(tile));
    };
    if (isa<ViewOp>(op) || op.getNumOperands() == 0)
      continue;
    if (!held.ops.contains(&op)) {
      for (Value read : readsOf(&op))
        place(read);
      continue;
    }
    if (auto map = dyn_cast<MapOp>(op); map && isState(map.getResult())) {
      for (auto [number, input] : llvm::enumerate(map.getInputs()))
        for (auto [dim, nestDim] : llvm::enumerate(dimsOf(map.getDims(), number)))
          if (tileOf(input).getSize(int64_t(dim)) > 1 && !isState(input))
            placeUnless(input, held.getForm(map.getResult(), nestDim));
    } else if (auto product = dyn_cast<ProductOp>(op); product && isState(product.getResult())) {
      for (Value read : readsOf(&op))
        if (!isState(read))
          place(read);
    } else if (product && (isState(product.getRight()) || product.getRightTransposed())) {
      bool isOne = tileOf(product.getLeft()).getSize(0) == 1;
      isOne ? placeUnless(product.getLeft(), HeldForm::Across) : place(product.getLeft());
      if (!isState(product.getRight()))
        placeUnless(product.getRight(), HeldForm::Across);
      for (Value other : {product.getPlus(), product.getRowScale(), product.getColumnScale()})
        if (other)
          placeUnless(other, HeldForm::Along);
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      for (Value input : reduce.getInputs())
        placeUnless(input, HeldForm::Across);
    } else if (Value result = resultOf(&op)) {
      for (Value read : readsOf(&op))
        placeUnless(read, held.numbers.lookup(getWholeTile(result)));
    }
  }
}

void HeldFinder::findFreed() {
  constexpr int64_t alignment = 128;
  auto placeOf = [](AllocOp op) {
    auto begin = int64_t(*op.getOffset());
    return std::pair(
        begin,
        begin + int64_t(llvm::alignTo(uint64_t(op.getType().getExtent()) * op.getType().getElementBytes(), alignment)));
  };
  auto allocs = kernel.getBody().front().getOps<AllocOp>();
  auto isShared = [](AllocOp op) { return op.getType().getMemory() == Memory::Shared && op.getOffset(); };
  for (AllocOp op : allocs) {
    if (!isState(op) || !isShared(op))
      continue;
    auto [begin, end] = placeOf(op);
    bool isAlone =
        begin % alignment == 0 && llvm::none_of(allocs, [&, begin = begin, end = end](AllocOp other) {
          return other != op && isShared(other) && placeOf(other).first < end && begin < placeOf(other).second;
        });
    if (isAlone)
      held.freed.push_back({begin, end});
  }
}

std::optional<HeldStates> HeldFinder::find() {
  findStates();
  int64_t numbers = held.countNumbers(), arrays = kernel.getBody().getNumArguments() - 1;
  bool hasRoom = kernel->hasAttr(listsArraysAttribute) || numbers + registersOfArray * arrays <= mostRegisters;
  if (held.states.empty() || numbers > mostNumbers || !hasRoom)
    return std::nullopt;
  findNumbers();
  placeWhatIsRead();
  findFreed();
  held.rows = findTokenRows(kernel, held.loop, held.ops, held.moveDown(int64_t(kernel.getShared().value_or(0))));
  return std::move(held);
}

std::optional<HeldStates> recur::analysis::findHeldStates(KernelOp kernel) {
  constexpr int64_t lanes = heldLanesAcross * heldLanesAlong;
  if (kernel->hasAttr(placesStatesAttribute) || !kernel.getThreads() || kernel.getTeams() ||
      *kernel.getThreads() % lanes)
    return std::nullopt;
  Block &body = kernel.getBody().front();
  auto loops = body.getOps<scf::ForOp>();
  if (!llvm::hasSingleElement(loops) || !body.getOps<scf::ParallelOp>().empty() || !body.getOps<SegmentOp>().empty())
    return std::nullopt;
  scf::ForOp loop = *loops.begin();
  if (!isConstant(loop.getStep(), 1))
    return std::nullopt;
  return HeldFinder(kernel, loop).find();
}
