// The order of a chunk's ops in which tiles take the least room.
//
// What a gradient's chunk computes is in the order in which adjoints are built: a tile that is made early may be read
// at the end, and loads stand where they are first read. Any order is as good that keeps each op behind what it needs.
// So orders are built from the front, an op at a time, and of all that have begun the best few go on: those that have
// had the least in use at once. A tile is in use from the first op that touches it to the last. In the end loads begin
// as much earlier as there is room, in the order in which they are waited for.
#include "Analysis/Crowd.h"
#include "Analysis/KernelGPU.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "Conversion/ChunkToTile/Uses.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {
/// An op, which ops it stands behind, and which tiles it touches, by number.
struct Node {
  Operation *op;
  llvm::BitVector behind;
  SmallVector<unsigned, 4> tiles;
  bool isAlone = false; // a load that nothing takes
};

/// A tile's bytes of shared memory, or its numbers in registers.
struct Room {
  int64_t bytes = 0, numbers = 0;
  llvm::BitVector users; // ops
};

/// The beginning of an order.
struct Begun {
  llvm::BitVector done;
  SmallVector<unsigned, 64> order;
  int64_t bytes = 0, numbers = 0; // in use behind it
  int64_t mostBytes = 0, mostNumbers = 0;
  int64_t sumOfBytes = 0; // over all ops, which says how fast tiles become free
};

class RoomOrder {
public:
  RoomOrder(KernelOp kernel, Block &chunk, int64_t mostNumbers);
  /// The best order that was found; none where ops cannot change places.
  std::optional<SmallVector<Operation *>> find();

private:
  Begun goOn(const Begun &begun, unsigned next) const;
  void add(Begun &begun, unsigned next) const;
  bool isReady(const Begun &begun, unsigned node) const;
  SmallVector<int64_t> countBytes(ArrayRef<unsigned> order) const;
  void loadEarly(SmallVectorImpl<unsigned> &order) const;
  void sortLoads(SmallVectorImpl<unsigned> &order) const;
  bool isBetter(const Begun &a, const Begun &b) const;

  SmallVector<Node> nodes;
  SmallVector<Room> rooms;
  const recur::GPUProfile &gpu;
  int64_t mostNumbers;
  bool isStraight = true;
};
} // namespace

/// Whether the op adds something to each element of a tile: in which order that is done does not matter.
static bool isAdding(Operation *op, Value tile) {
  if (auto product = dyn_cast<ProductOp>(op))
    return product.getResult() == tile && product.getPlus() == tile && !product.getRowScale() &&
           !product.getColumnScale();
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getResult() != tile || map.getBlocks() || llvm::count(map.getInputs(), tile) != 1)
    return false;
  auto sum = map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  unsigned number = unsigned(llvm::find(map.getInputs(), tile) - map.getInputs().begin());
  BlockArgument own = map.getBody().getArgument(number);
  return sum && own.hasOneUse() && (sum.getLhs() == own || sum.getRhs() == own);
}

RoomOrder::RoomOrder(KernelOp kernel, Block &chunk, int64_t mostNumbers)
    : gpu(analysis::gpuOf(kernel)), mostNumbers(mostNumbers) {
  SmallVector<SmallVector<TileUse>> uses;
  llvm::DenseMap<Value, unsigned> numbers;
  for (Operation &op : chunk.without_terminator()) {
    bool isTile = isa<TileDialect>(op.getDialect());
    isStraight &= isTile || (!op.getNumRegions() && isMemoryEffectFree(&op));
    if (!isTile || isa<ViewOp>(op))
      continue;
    nodes.push_back({&op, {}, {}});
    uses.push_back(findUses(&op));
  }
  for (auto [number, own] : llvm::enumerate(uses)) {
    Node &node = nodes[number];
    node.behind.resize(unsigned(nodes.size()));
    for (size_t before = 0; before < number; ++before)
      for (const TileUse &use : own)
        for (const TileUse &earlier : uses[before])
          if (conflict(use, earlier) && !(use.memory == earlier.memory && isAdding(node.op, use.memory) &&
                                          isAdding(nodes[before].op, use.memory)))
            node.behind.set(unsigned(before));
    for (const TileUse &use : own) {
      auto alloc = use.memory.getDefiningOp<AllocOp>();
      if (!alloc)
        continue;
      auto [known, isNew] = numbers.try_emplace(use.memory, unsigned(rooms.size()));
      if (isNew) {
        TileType type = alloc.getType();
        Room &room = rooms.emplace_back();
        room.users.resize(unsigned(nodes.size()));
        (type.getMemory() == Memory::Registers ? room.numbers : room.bytes) =
            type.getMemory() == Memory::Registers ? type.getNumElements() : type.getExtent() * type.getElementBytes();
        // What is made before the loop, or read behind it, is there all the time. So, nearly, are numbers of tokens.
        constexpr int64_t few = 1024;
        auto isOutside = [&](Operation *user) { return !chunk.findAncestorOpInBlock(*user); };
        if (room.bytes <= few || llvm::any_of(alloc->getUsers(), isOutside))
          room.bytes = 0;
      }
      rooms[known->second].users.set(unsigned(number));
      if (!llvm::is_contained(node.tiles, known->second))
        node.tiles.push_back(known->second);
    }
  }
  for (auto [number, node] : llvm::enumerate(nodes))
    node.isAlone = llvm::none_of(nodes, [&](const Node &other) { return other.behind.test(unsigned(number)); });
}

Begun RoomOrder::goOn(const Begun &begun, unsigned next) const {
  Begun longer = begun;
  for (unsigned before : nodes[next].behind.set_bits())
    if (!begun.done.test(before))
      add(longer, before); // a load, which stands where it is needed
  add(longer, next);
  return longer;
}

void RoomOrder::add(Begun &begun, unsigned next) const {
  begun.order.push_back(next);
  int64_t bytes = begun.bytes, numbers = begun.numbers;
  for (unsigned tile : nodes[next].tiles)
    if (!rooms[tile].users.anyCommon(begun.done)) {
      bytes += rooms[tile].bytes;
      numbers += rooms[tile].numbers;
    }
  begun.done.set(next);
  begun.mostBytes = std::max(begun.mostBytes, bytes);
  begun.mostNumbers = std::max(begun.mostNumbers, numbers);
  begun.sumOfBytes += bytes;
  for (unsigned tile : nodes[next].tiles)
    if (!rooms[tile].users.test(begun.done)) {
      bytes -= rooms[tile].bytes;
      numbers -= rooms[tile].numbers;
    }
  begun.bytes = bytes;
  begun.numbers = numbers;
}

bool RoomOrder::isBetter(const Begun &a, const Begun &b) const {
  auto keyOf = [&](const Begun &one) {
    return std::tuple(std::max(one.mostNumbers, mostNumbers), one.mostBytes, one.bytes, one.sumOfBytes);
  };
  if (keyOf(a) != keyOf(b))
    return keyOf(a) < keyOf(b);
  return a.order < b.order; // as they stand
}

bool RoomOrder::isReady(const Begun &begun, unsigned node) const {
  if (begun.done.test(node))
    return false;
  return llvm::all_of(nodes[node].behind.set_bits(), [&](unsigned before) {
    return begun.done.test(before) || (isa<LoadOp>(nodes[before].op) && !nodes[before].behind.test(begun.done));
  });
}

std::optional<SmallVector<Operation *>> RoomOrder::find() {
  constexpr size_t mostOps = 256, width = 256;
  if (!isStraight || nodes.empty() || nodes.size() > mostOps)
    return std::nullopt;
  // By how many ops they have, for loads come along.
  std::vector<std::vector<Begun>> all(nodes.size() + 1);
  all[0].emplace_back().done.resize(unsigned(nodes.size()));
  for (size_t length = 0; length < nodes.size(); ++length) {
    llvm::sort(all[length], [&](const Begun &a, const Begun &b) { return isBetter(a, b); });
    // Orders of the same ops come to the same: the best of them goes on.
    llvm::SmallVector<const Begun *> best;
    for (const Begun &one : all[length]) {
      if (llvm::none_of(best, [&](const Begun *other) { return other->done == one.done; }))
        best.push_back(&one);
      if (best.size() == width)
        break;
    }
    for (const Begun *begun : best) {
      std::vector<Begun> longer;
      bool isFree = false; // what takes no room that is not there comes first, whatever else there is
      for (unsigned next = 0; next < nodes.size() && !isFree; ++next) {
        bool isLoad = isa<LoadOp>(nodes[next].op);
        if (!isReady(*begun, next) || (isLoad && !nodes[next].isAlone))
          continue;
        Begun one = goOn(*begun, next);
        isFree = one.bytes <= begun->bytes && one.numbers <= begun->numbers && one.mostBytes <= begun->mostBytes &&
                 one.mostNumbers <= std::max(begun->mostNumbers, mostNumbers);
        if (isFree)
          longer.clear();
        longer.push_back(std::move(one));
      }
      for (Begun &one : longer)
        all[one.order.size()].push_back(std::move(one));
    }
    if (length + 1 < nodes.size())
      all[length].clear();
  }
  std::vector<Begun> &whole = all.back();
  if (whole.empty())
    return std::nullopt;
  Begun &found = *llvm::min_element(whole, [&](const Begun &a, const Begun &b) { return isBetter(a, b); });
  loadEarly(found.order);
  sortLoads(found.order);
  return llvm::map_to_vector(found.order, [&](unsigned number) { return nodes[number].op; });
}

/// What is in use at each op of an order.
SmallVector<int64_t> RoomOrder::countBytes(ArrayRef<unsigned> order) const {
  SmallVector<int64_t> bytes(order.size(), 0);
  for (const Room &room : rooms) {
    auto isUser = [&](unsigned node) { return room.users.test(node); };
    const auto *first = llvm::find_if(order, isUser);
    size_t end = order.size();
    while (end > 0 && !isUser(order[end - 1]))
      --end;
    for (size_t place = size_t(first - order.begin()); place < end; ++place)
      bytes[place] += room.bytes;
  }
  return bytes;
}

/// Loads are under way while something else is computed, where no CTA loses its room by that.
void RoomOrder::loadEarly(SmallVectorImpl<unsigned> &order) const {
  constexpr int64_t step = 1024, apart = 4 * step; // tiles do not fill all that lies between others
  int64_t most = *llvm::max_element(countBytes(order)), allowed = most;
  int64_t together = analysis::countCTAs(gpu, most + apart);
  while (allowed < gpu.sharedBytes && analysis::countCTAs(gpu, allowed + step + apart) == together)
    allowed += step;
  for (size_t from = 0; from < order.size(); ++from) {
    unsigned load = order[from];
    if (!isa<LoadOp>(nodes[load].op))
      continue;
    for (size_t to = from; to > 0 && !nodes[load].behind.test(order[to - 1]); --to) {
      std::swap(order[to], order[to - 1]);
      if (*llvm::max_element(countBytes(order)) > allowed) {
        std::swap(order[to], order[to - 1]);
        break;
      }
    }
  }
}

/// Of loads that begin together those come first that are waited for first: who waits for one waits for all before it.
void RoomOrder::sortLoads(SmallVectorImpl<unsigned> &order) const {
  auto isLoad = [&](unsigned node) { return isa<LoadOp>(nodes[node].op); };
  auto findReader = [&](unsigned load) {
    return llvm::find_if(order, [&](unsigned node) { return nodes[node].behind.test(load); }) - order.begin();
  };
  for (auto *begin = order.begin(); begin != order.end();) {
    begin = std::find_if(begin, order.end(), isLoad);
    auto *end = std::find_if_not(begin, order.end(), isLoad);
    SmallVector<std::tuple<int64_t, int64_t, unsigned>> loads; // by readers, and as they stand
    for (unsigned load : llvm::make_range(begin, end))
      loads.push_back({findReader(load), int64_t(loads.size()), load});
    llvm::sort(loads);
    for (auto [place, load] : llvm::zip_equal(llvm::make_range(begin, end), loads))
      place = std::get<2>(load);
    begin = end;
  }
}

void conversion::orderByRoom(KernelOp kernel, Block &chunk) {
  constexpr int64_t numbersOfThread = 64;
  std::optional<SmallVector<Operation *>> order =
      RoomOrder(kernel, chunk, numbersOfThread * int64_t(*kernel.getThreads())).find();
  if (order)
    putInOrder(chunk, *order);
}

void conversion::putInOrder(Block &chunk, ArrayRef<Operation *> order) {
  SmallVector<Operation *> numbers, views; // which no thread waits for
  for (Operation &op : chunk.without_terminator())
    if (isa<ViewOp>(op))
      views.push_back(&op);
    else if (!isa<TileDialect>(op.getDialect()))
      numbers.push_back(&op);
  auto moveBehind = [&](Operation *op) { op->moveBefore(&chunk, chunk.without_terminator().end()); };
  llvm::for_each(numbers, moveBehind);
  llvm::for_each(views, moveBehind);
  llvm::for_each(order, moveBehind);
  // A view begins its tile's time.
  for (Operation *view : llvm::reverse(views)) {
    Operation *first = nullptr;
    for (Operation *user : view->getUsers())
      if (Operation *own = chunk.findAncestorOpInBlock(*user); !first || own->isBeforeInBlock(first))
        first = own;
    first ? view->moveBefore(first) : view->erase();
  }
}
