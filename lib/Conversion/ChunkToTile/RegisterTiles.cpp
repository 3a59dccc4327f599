// Which tiles stay in registers: a product's sums, on which passes over elements work before they are rounded for the
// next product or for the caller. They need neither shared memory nor barriers.
#include "dialects/Tile/RegisterTiles.h"
#include "Analysis/KernelTime.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// How many numbers of tiles that are in use at once a thread holds: half of the registers that it has where two CTAs
/// share a multiprocessor.
constexpr int64_t mostNumbers = 64;

/// How many instructions the pass of an element may have: a thread's numbers in registers have no loop over them, so
/// the pass is in the code once for each of them.
constexpr int64_t mostInstructions = 384;

/// Whether the op can take the tile, where it does, from registers.
static bool canTake(Operation *op, Value tile) {
  if (auto product = dyn_cast<ProductOp>(op)) {
    bool isPlus = product.getPlus() == tile;
    return product.getResult() == tile && product.getLeft() != tile && product.getRight() != tile &&
           (!product.getPlus() || (isPlus && !product.getColumnScale()));
  }
  auto takesWhole = [&](auto nest) {
    return llvm::all_of(llvm::zip(nest.getInputs(), nest.getDims()), [&](auto input) {
      auto [value, dims] = input;
      return value != tile || cast<DenseI64ArrayAttr>(dims).asArrayRef() == ArrayRef<int64_t>({0, 1});
    });
  };
  if ((isa<ReduceOp, MapOp>(op)) && analysis::countInstructions(op->getRegion(0)) > mostInstructions)
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getSizes() == tileOf(tile).getShape() && reduce.getOver() == ArrayRef<int64_t>(1) &&
           takesWhole(reduce);
  auto map = dyn_cast<MapOp>(op);
  return map && !map.getBlocks() && map.getResult().getType().getShape() == tileOf(tile).getShape() && takesWhole(map);
}

namespace {
/// A tile that can lie in registers, and the ops between which it is in use.
struct Candidate {
  int64_t first, last;
};
} // namespace

static std::optional<Candidate> findCandidate(AllocOp tile, int64_t warps,
                                              const llvm::DenseMap<Operation *, int64_t> &positions) {
  TileType type = tile.getType();
  if (type.getRank() != 2 || !type.getElementType().isF32() ||
      !spreadOverWarps(type.getSize(0), type.getSize(1), warps) ||
      !spreadOverWarps(type.getSize(0), type.getSize(1), warps / 2))
    return std::nullopt;
  Candidate candidate{std::numeric_limits<int64_t>::max(), -1};
  Operation *first = nullptr;
  bool isSum = false;
  for (Operation *user : tile->getUsers()) {
    auto position = positions.find(user);
    if (position == positions.end() || !canTake(user, tile))
      return std::nullopt;
    isSum |= isa<ProductOp>(user);
    if (position->second < candidate.first)
      first = user;
    candidate.first = std::min(candidate.first, position->second);
    candidate.last = std::max(candidate.last, position->second);
  }
  auto makes = dyn_cast_or_null<ProductOp>(first);
  return isSum && makes && !makes.getPlus() ? std::optional(candidate) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sums that start from others
//===----------------------------------------------------------------------===//

/// The product that makes a tile which nothing else than it and the map touches.
static ProductOp findMaker(Value tile, MapOp map) {
  ProductOp maker;
  for (Operation *user : tile.getUsers()) {
    if (user == map)
      continue;
    auto product = dyn_cast<ProductOp>(user);
    if (!product || maker || product->getBlock() != map->getBlock() || !product->isBeforeInBlock(map) ||
        !canTake(product, tile) || product.getPlus())
      return {};
    maker = product;
  }
  return maker;
}

/// Whether a tile that can lie in registers is made by then, by a product and what goes on with its sums, and nothing
/// behind that but the map reads it.
static bool isMadeBefore(Value tile, ProductOp then, MapOp map) {
  bool isSum = false;
  for (Operation *user : tile.getUsers()) {
    if (user == map)
      continue;
    if (user->getBlock() != then->getBlock() || !user->isBeforeInBlock(then) || !canTake(user, tile))
      return false;
    isSum |= isa<ProductOp>(user);
  }
  return isSum && tile.getDefiningOp<AllocOp>();
}

/// All that a value of a body is computed from, in order.
static llvm::SetVector<Operation *> findSlice(Value value) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && slice.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  SmallVector<Operation *> ordered = slice.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return {ordered.begin(), ordered.end()};
}

static bool isWrittenFrom(Operation *begin, Operation *end, Value tile) {
  auto overlaps = [&](Value other) { return other == tile || other.getDefiningOp<ViewOp>(); };
  for (Operation *op = begin; op != end; op = op->getNextNode()) {
    if (op->getNumRegions() && !isa<TileDialect>(op->getDialect()))
      return true;
    for (Value operand : op->getOperands())
      if (overlaps(operand) && isa<TileType>(operand.getType()) && !isa<StoreOp>(op))
        if (auto map = dyn_cast<MapOp>(op); !map || map.getResult() == operand)
          if (auto product = dyn_cast<ProductOp>(op); !product || product.getResult() == operand)
            return true;
  }
  return false;
}

/// Where a pass adds up two products, the second one may start from what is made of the first: then one tile is in use
/// and not two. `sum` is the argument of the pass that is the second product's.
static bool startFromOther(MapOp map, BlockArgument sum) {
  Value tile = map.getInputs()[sum.getArgNumber()];
  if (tile == map.getResult() || !canTake(map, tile) || !sum.hasOneUse() || llvm::count(map.getInputs(), tile) != 1)
    return false;
  auto add = dyn_cast<arith::AddFOp>(*sum.user_begin());
  ProductOp second = findMaker(tile, map);
  if (!add || !second || add.getLhs() == add.getRhs())
    return false;
  Value start = add.getLhs() == sum ? add.getRhs() : add.getLhs();
  llvm::SetVector<Operation *> slice = findSlice(start);
  llvm::SetVector<Value> arguments;
  if (isa<BlockArgument>(start))
    arguments.insert(start);
  for (Operation *op : slice)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand))
        arguments.insert(operand);
  // What is made of the first product is nothing else's, and the rest is there before the second one.
  std::optional<unsigned> first;
  for (Value argument : arguments) {
    unsigned number = cast<BlockArgument>(argument).getArgNumber();
    Value input = map.getInputs()[number];
    bool isThere = input != tile && canTake(map, input) && isMadeBefore(input, second, map);
    if (isThere && !first && input != map.getResult() && tileOf(input).getElementType().isF32() &&
        llvm::count(map.getInputs(), input) == 1)
      first = number;
    else if (input == tile || isWrittenFrom(second, map, input))
      return false;
  }
  auto isInside = [&](Operation *user) { return user == add || slice.contains(user); };
  auto staysInside = [&](Operation *op) {
    return isMemoryEffectFree(op) && (op->use_empty() || llvm::all_of(op->getUsers(), isInside));
  };
  if (!first || !llvm::all_of(map.getBody().getArgument(*first).getUsers(), isInside) ||
      !llvm::all_of(slice, staysInside))
    return false;
  OpBuilder builder(second);
  Value accumulated = map.getInputs()[*first];
  if (!slice.empty()) {
    SmallVector<Value> inputs;
    SmallVector<Attribute> dims;
    for (Value argument : arguments) {
      inputs.push_back(map.getInputs()[cast<BlockArgument>(argument).getArgNumber()]);
      dims.push_back(map.getDims()[cast<BlockArgument>(argument).getArgNumber()]);
    }
    auto made = MapOp::create(builder, map.getLoc(), inputs, accumulated, second.getRows(), builder.getArrayAttr(dims));
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&made.getBody());
    IRMapping values;
    for (Value argument : arguments)
      values.map(argument, body->addArgument(builder.getF32Type(), map.getLoc()));
    for (Operation *op : slice)
      builder.clone(*op, values);
    YieldOp::create(builder, map.getLoc(), values.lookup(start));
  }
  second.getResultMutable().assign(accumulated);
  second.getPlusMutable().assign(accumulated);
  add.getResult().replaceAllUsesWith(map.getBody().getArgument(*first));
  add.erase();
  for (Operation *op : llvm::reverse(slice.getArrayRef()))
    op->erase();
  // Inputs that nothing of the body takes any more.
  SmallVector<Value> left;
  SmallVector<Attribute> leftDims;
  for (int64_t i = int64_t(map.getInputs().size()); i-- > 0;)
    if (map.getBody().getArgument(i).use_empty())
      map.getBody().eraseArgument(i);
    else
      left.insert(left.begin(), map.getInputs()[i]), leftDims.insert(leftDims.begin(), map.getDims()[i]);
  map.getInputsMutable().assign(left);
  map.setDimsAttr(builder.getArrayAttr(leftDims));
  tile.getDefiningOp()->erase();
  return true;
}

/// Whether the sums of a product lie in the tile.
static bool hasProduct(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    auto product = dyn_cast<ProductOp>(user);
    return product && product.getResult() == tile;
  });
}

/// Lets passes over elements write what they make in the place of what nobody reads behind them.
static void writeInPlace(Block &chunk) {
  auto isOfChunk = [&](Operation *user) { return user->getBlock() == &chunk && !isa<ViewOp>(user); };
  for (MapOp map : chunk.getOps<MapOp>()) {
    auto isLastUser = [&](Operation *user) { return user == map || user->isBeforeInBlock(map); };
    auto isFirstUser = [&](Operation *user) { return user == map || map->isBeforeInBlock(user); };
    Value result = map.getResult();
    if (!result.getDefiningOp<AllocOp>() || !llvm::all_of(result.getUsers(), isOfChunk) ||
        !llvm::all_of(result.getUsers(), isFirstUser) || llvm::is_contained(map.getInputs(), result))
      continue;
    for (Value input : map.getInputs()) {
      auto stays = [&](Value tile) {
        return llvm::all_of(tile.getUsers(), [&](Operation *user) { return canTake(user, tile); });
      };
      // What can stay in registers still can.
      if (input.getType() != result.getType() || !stays(input) || !stays(result) || !input.getDefiningOp<AllocOp>() ||
          !canTake(map, input) || llvm::count(map.getInputs(), input) != 1 ||
          !llvm::all_of(input.getUsers(), isOfChunk) || !llvm::all_of(input.getUsers(), isLastUser) ||
          !hasProduct(input))
        continue;
      result.replaceAllUsesWith(input);
      result.getDefiningOp()->erase();
      break;
    }
  }
}

/// Of a pass that adds something to sums and then rounds them, makes two: the first adds in place. That can be done as
/// soon as what is added is there.
static void addApart(Block &chunk) {
  for (MapOp map : llvm::make_early_inc_range(chunk.getOps<MapOp>())) {
    auto sum = map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    if (!sum || !sum->hasOneUse())
      continue;
    auto isSum = [&](Value number) {
      auto argument = dyn_cast<BlockArgument>(number);
      Value tile = argument ? map.getInputs()[argument.getArgNumber()] : Value();
      auto isOther = [&](Operation *user) {
        return user != map && (user->getBlock() != &chunk || !user->isBeforeInBlock(map) || !canTake(user, tile));
      };
      return tile && tile != map.getResult() && tile.getDefiningOp<AllocOp>() && argument.hasOneUse() &&
             llvm::count(map.getInputs(), tile) == 1 && tileOf(tile).getElementType().isF32() && canTake(map, tile) &&
             llvm::none_of(tile.getUsers(), isOther) && hasProduct(tile);
    };
    // More than one of its inputs are sums, or there is nothing to be gained.
    Value own = isSum(sum.getLhs()) ? sum.getLhs() : isSum(sum.getRhs()) ? sum.getRhs() : Value();
    auto isProduct = [](Value tile) { return tileOf(tile).getElementType().isF32() && hasProduct(tile); };
    if (!own || llvm::count_if(map.getInputs(), isProduct) < 2)
      continue;
    Value tile = map.getInputs()[cast<BlockArgument>(own).getArgNumber()], result = map.getResult();
    OpBuilder builder(map);
    builder.setInsertionPointAfter(map);
    auto rounds = MapOp::create(builder, map.getLoc(), ValueRange(tile), result, map.getRows(),
                                builder.getArrayAttr(builder.getDenseI64ArrayAttr({0, 1})));
    Block *body = builder.createBlock(&rounds.getBody());
    YieldOp::create(builder, map.getLoc(), ValueRange(body->addArgument(builder.getF32Type(), map.getLoc())));
    map.getResultMutable().assign(tile);
  }
}

static void startSums(Block &chunk) {
  for (MapOp map : chunk.getOps<MapOp>())
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockArgument argument : map.getBody().getArguments())
        if (startFromOther(map, argument)) {
          changed = true;
          break;
        }
    }
}

//===----------------------------------------------------------------------===//

/// Sums of rows that lie in registers are those of the parts that warps have, which a second op adds up. There may be
/// half as many warps in the end, and with `isWide` twice as many.
static void reduceInParts(KernelOp kernel, Block &chunk, bool isWide = false) {
  int64_t warps = int64_t(*kernel.getThreads()) / 32;
  for (ReduceOp reduce : llvm::make_early_inc_range(chunk.getOps<ReduceOp>())) {
    auto inRegisters = [](Value tile) { return tileOf(tile).getMemory() == Memory::Registers; };
    if (llvm::none_of(reduce.getInputs(), inRegisters))
      continue;
    ArrayRef<int64_t> sizes = reduce.getSizes();
    int64_t parts = std::max(spreadOverWarps(sizes[0], sizes[1], warps)->across,
                             spreadOverWarps(sizes[0], sizes[1], warps / 2)->across);
    if (std::optional<WarpBlock> wide = isWide ? spreadOverWarps(sizes[0], sizes[1], 2 * warps) : std::nullopt)
      parts = std::max(parts, wide->across);
    if (parts == 1)
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    auto type =
        TileType::get(builder.getContext(), {sizes[0], parts}, builder.getF32Type(), Memory::Shared, {parts, 1}, 0);
    Value all = reduce.getResult(), partsOfAll = AllocOp::create(builder, reduce.getLoc(), type, nullptr);
    reduce.getResultMutable().assign(partsOfAll);
    builder.setInsertionPointAfter(reduce);
    auto sum = ReduceOp::create(builder, reduce.getLoc(), reduce.getKind(), ValueRange(partsOfAll), all,
                                reduce.getRows(), ArrayRef<int64_t>(1), type.getShape(),
                                builder.getArrayAttr(builder.getDenseI64ArrayAttr({0, 1})));
    Block *body = builder.createBlock(&sum.getBody());
    Value part = body->addArgument(builder.getF32Type(), reduce.getLoc());
    YieldOp::create(builder, reduce.getLoc(), part);
  }
}

/// Brings sums into the form in which they can stay in registers: what passes make lies where sums were, and sums go on
/// from each other.
static void prepareSums(Block &chunk) {
  writeInPlace(chunk);
  startSums(chunk);
  addApart(chunk);
}

/// Puts sums into registers; `limited`: as many as have room at once as the ops stand.
static void chooseRegisters(KernelOp kernel, Block &chunk, bool limited) {
  llvm::DenseMap<Operation *, int64_t> positions;
  for (auto [position, op] : llvm::enumerate(chunk))
    positions[&op] = int64_t(position);
  auto threads = int64_t(*kernel.getThreads());
  SmallVector<int64_t> taken(positions.size(), 0); // by position: numbers of the tiles that are there in registers
  for (AllocOp tile : kernel.getBody().front().getOps<AllocOp>()) {
    std::optional<Candidate> candidate = findCandidate(tile, threads / 32, positions);
    if (!candidate)
      continue;
    auto span = llvm::MutableArrayRef(taken).slice(candidate->first, candidate->last + 1 - candidate->first);
    int64_t own = tile.getType().getNumElements(), numbers = own + *llvm::max_element(span);
    if (limited && numbers > mostNumbers * threads)
      continue;
    for (int64_t &count : span)
      count += own;
    TileType type = tile.getType();
    tile.getResult().setType(TileType::get(type.getContext(), type.getShape(), type.getElementType(), Memory::Registers,
                                           {type.getSize(1), 1}, 0));
  }
}

void conversion::keepInRegisters(KernelOp kernel, Block &chunk) {
  prepareSums(chunk);
  chooseRegisters(kernel, chunk, /*limited=*/true);
  reduceInParts(kernel, chunk);
}

/// Tiles come into registers whatever the order of ops asks of these; in the order that is found then they have room,
/// or those do that have it there.
void conversion::keepInLeastRoom(KernelOp kernel, Block &chunk, bool isWide) {
  orderByRoom(kernel, chunk);
  prepareSums(chunk);
  llvm::DenseMap<AllocOp, TileType> before;
  for (AllocOp tile : kernel.getBody().front().getOps<AllocOp>())
    before[tile] = tile.getType();
  chooseRegisters(kernel, chunk, /*limited=*/false);
  orderByRoom(kernel, chunk);
  if (countInRegisters(kernel, chunk) > mostNumbers * int64_t(*kernel.getThreads())) {
    for (auto [tile, type] : before)
      AllocOp(tile).getResult().setType(type);
    chooseRegisters(kernel, chunk, /*limited=*/true);
    orderByRoom(kernel, chunk);
  }
  reduceInParts(kernel, chunk, isWide);
}

int64_t conversion::countInRegisters(KernelOp kernel, Block &chunk) {
  llvm::DenseMap<Operation *, int64_t> positions;
  for (auto [position, op] : llvm::enumerate(chunk))
    positions[&op] = int64_t(position);
  SmallVector<int64_t> numbers(positions.size(), 0);
  for (AllocOp tile : kernel.getBody().front().getOps<AllocOp>()) {
    if (tile.getType().getMemory() != Memory::Registers)
      continue;
    int64_t first = int64_t(numbers.size()), last = -1;
    for (Operation *user : tile->getUsers()) {
      first = std::min(first, positions.lookup(user));
      last = std::max(last, positions.lookup(user));
    }
    for (int64_t position = first; position <= last; ++position)
      numbers[size_t(position)] += tile.getType().getNumElements();
  }
  return numbers.empty() ? 0 : *llvm::max_element(numbers);
}
