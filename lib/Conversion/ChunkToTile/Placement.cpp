// Where tiles lie in the scratch memory, or in shared memory.
#include "Analysis/Crowd.h"
#include "Analysis/KernelGPU.h"
#include "Conversion/ChunkToTile/Planner.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {
/// A tile, the ops of the loop over chunks between which it is in use, and where it lies.
struct Placed {
  AllocOp tile;
  int64_t first, last, bytes, offset;
  size_t number; // in the order of the kernel
};
} // namespace

/// Room for whole register tiles of rows and whole vectors of columns.
static int64_t countPaddedBytes(TileType type) {
  int64_t rows = type.getSize(0), elements;
  if (type.getRank() == 1) {
    elements = llvm::alignTo(rows, 16);
  } else {
    int64_t padded = rows >= 16 ? llvm::alignTo(rows, 16) : int64_t(llvm::PowerOf2Ceil(rows));
    elements = (type.getRank() == 2 ? padded : rows) * type.getStride(0) + 16;
  }
  return llvm::alignTo(elements * 4, 64);
}

static int64_t countBytes(TileType type) {
  constexpr int64_t alignment = 128;
  return llvm::alignTo(type.getExtent() * type.getElementBytes(), alignment);
}

static void collectUsers(Value tile, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : tile.getUsers()) {
    users.push_back(user);
    if (auto view = dyn_cast<ViewOp>(user))
      collectUsers(view, users);
  }
}

/// A core computes a map of a product's result along with the product, if its own result does not lie where the product
/// still reads.
static Operation *beginOf(Operation *user, Value tile) {
  auto map = dyn_cast<MapOp>(user);
  if (!map || map.getResult() != tile)
    return user;
  Operation *before = user->getPrevNode();
  while (before && (isa<ViewOp, StoreOp>(before) || !isa<TileDialect>(before->getDialect())))
    before = before->getPrevNode();
  auto product = dyn_cast_or_null<ProductOp>(before);
  return product && llvm::is_contained(map.getInputs(), product.getResult()) ? before : user;
}

/// The tiles of a kernel, and when each is in use. A core's tiles that are used around the loop over chunks are in use
/// all the time; in shared memory, of which there is less, only from their first use to their last.
static SmallVector<Placed> findLifetimes(KernelOp kernel, llvm::function_ref<int64_t(TileType)> bytesOf) {
  bool isCore = !kernel.getThreads();
  Block &body = kernel.getBody().front();
  Operation *chunks = nullptr;
  for (Operation &op : body)
    if (isa<scf::ForOp, scf::ParallelOp>(op))
      chunks = &op;
  Block *inChunk = chunks ? &chunks->getRegion(0).front() : nullptr;
  llvm::DenseMap<Operation *, int64_t> positions;
  int64_t count = 0, loopBegin = 0, loopEnd = 0;
  for (Operation &op : body) {
    if (&op == chunks) {
      loopBegin = count;
      for (Operation &inLoop : *inChunk)
        positions[&inLoop] = count += 2;
      loopEnd = count;
    }
    positions[&op] = count += 2;
  }
  SmallVector<Placed> tiles;
  for (AllocOp tile : body.getOps<AllocOp>()) {
    SmallVector<Operation *> users;
    collectUsers(tile, users);
    Placed place{tile, std::numeric_limits<int64_t>::max(), -1, bytesOf(tile.getType()), 0, tiles.size()};
    bool isInside = false, isOutside = false;
    for (Operation *user : users) {
      Operation *inLoop = inChunk ? inChunk->findAncestorOpInBlock(*user) : nullptr;
      (inLoop ? isInside : isOutside) = true;
      int64_t position = positions[inLoop ? inLoop : body.findAncestorOpInBlock(*user)];
      // An op that reads all before it writes leaves its operands' places to its result.
      auto systems = dyn_cast<ConjugateGradientsOp>(user);
      position += systems && systems.getResult() == tile.getResult();
      place.first = std::min(place.first, position);
      place.last = std::max(place.last, position);
      if (inLoop == user && isCore)
        place.first = std::min(place.first, positions[beginOf(user, tile)]);
    }
    if (isOutside && isCore) {
      place.first = 0;
      place.last = count;
    } else if (isInside && isOutside) { // kept from one chunk to the next
      place.first = std::min(place.first, loopBegin);
      place.last = std::max(place.last, loopEnd);
    }
    tiles.push_back(place);
  }
  return tiles;
}

/// Gives each tile in the memory the lowest place that no tile in use at the same time overlaps; the end of all.
static int64_t pack(MutableArrayRef<Placed> tiles, Memory memory) {
  SmallVector<const Placed *> placed;
  int64_t end = 0;
  for (Placed &place : tiles) {
    if (place.tile.getType().getMemory() != memory)
      continue;
    place.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Placed *other : placed)
        if (other->first <= place.last && place.first <= other->last && other->offset < place.offset + place.bytes &&
            place.offset < other->offset + other->bytes) {
          place.offset = other->offset + other->bytes;
          moved = true;
        }
    }
    end = std::max(end, place.offset + place.bytes);
    place.tile.setOffset(place.offset);
    placed.push_back(&place);
  }
  return end;
}

/// What tiles in use at once have together: no order takes less.
static int64_t countMostInUse(ArrayRef<Placed> tiles, Memory memory) {
  int64_t most = 0;
  for (const Placed &at : tiles) {
    int64_t bytes = 0;
    for (const Placed &other : tiles)
      if (AllocOp(other.tile).getType().getMemory() == memory && other.first <= at.first && at.first <= other.last)
        bytes += other.bytes;
    most = std::max(most, bytes);
  }
  return most;
}

/// Looks for an order that takes no more than so many bytes, from the best one on: tiles change places two by two, and
/// stay where that takes no more.
static void searchOrder(SmallVector<Placed> &tiles, Memory memory, int64_t end, int64_t wanted) {
  constexpr int64_t most = 4000;
  uint32_t state = 1; // the same places every time
  auto draw = [&] {
    state = state * 1664525 + 1013904223;
    return size_t(state >> 8) % tiles.size();
  };
  for (int64_t tried = 0; tried < most && end > wanted; ++tried) {
    SmallVector<Placed> order = tiles;
    std::swap(order[draw()], order[draw()]);
    if (int64_t other = pack(order, memory); other <= end) {
      end = other;
      tiles = std::move(order);
    }
  }
}

/// The same as `pack`, in the order of those tried that takes the least memory: as they stand, the largest first, and
/// as they come into use.
static int64_t packBest(SmallVector<Placed> &tiles, Memory memory, const GPUProfile &gpu) {
  auto sorted = [&](llvm::function_ref<int64_t(const Placed &)> keyOf) {
    SmallVector<Placed> order = tiles;
    llvm::sort(order, [&](const Placed &a, const Placed &b) {
      return std::pair(keyOf(a), a.number) < std::pair(keyOf(b), b.number);
    });
    return order;
  };
  SmallVector<Placed> orders[] = {tiles, sorted([](const Placed &tile) { return -tile.bytes; }),
                                  sorted([](const Placed &tile) { return tile.first; })};
  int64_t ends[std::size(orders)];
  for (auto [order, end] : llvm::zip(orders, ends))
    end = pack(order, memory);
  size_t best = std::min_element(std::begin(ends), std::end(ends)) - std::begin(ends);
  tiles = orders[best];
  // Where the places between tiles cost a CTA its room, orders are searched.
  int64_t wanted = ends[best], least = memory == Memory::Shared ? countMostInUse(tiles, memory) : wanted;
  while (wanted > least && analysis::countCTAs(gpu, wanted) == analysis::countCTAs(gpu, ends[best]))
    wanted -= 128;
  if (analysis::countCTAs(gpu, least) > analysis::countCTAs(gpu, ends[best]))
    searchOrder(tiles, memory, ends[best], wanted);
  return pack(tiles, memory);
}

void conversion::placeTiles(KernelOp kernel) {
  SmallVector<Placed> tiles = findLifetimes(kernel, countPaddedBytes);
  int64_t end = pack(tiles, Memory::Local), widest = 0;
  kernel.walk([&](Operation *op) {
    if (isa<AllocOp, ViewOp>(op))
      widest = std::max(widest, tileOf(op->getResult(0)).getStride(0));
  });
  // Blocks of rows are read whole, so up to 15 rows beyond the last one, whatever is there.
  kernel.setWorkspace(end + 16 * widest * 4 + 64);
}

static void moveTo(Memory memory, Value tile) {
  TileType type = tileOf(tile);
  tile.setType(TileType::get(type.getContext(), type.getShape(), type.getElementType(), memory, type.getStrides(),
                             type.getSwizzle()));
  for (Operation *user : tile.getUsers())
    if (auto view = dyn_cast<ViewOp>(user))
      moveTo(memory, view);
}

/// What chunks in any order begin with can be asked for a chunk ahead if nothing else comes to lie in its place.
/// So it stays alone there where that takes no CTA its room.
static void keepLoaded(KernelOp kernel, SmallVector<Placed> &tiles, int64_t &end) {
  auto parallel = kernel.getBody().front().getOps<scf::ParallelOp>();
  if (parallel.empty())
    return;
  SmallVector<Placed> kept = tiles;
  Block &chunk = (*parallel.begin()).getRegion().front();
  int64_t last = 0;
  for (const Placed &place : tiles)
    last = std::max(last, place.last);
  for (Operation &op : chunk) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load && isa<TileDialect>(op.getDialect()) && !isa<ViewOp>(op))
      break;
    for (Placed &place : kept)
      if (load && load.getTile() == place.tile.getResult() && place.tile.getType().getRank() == 2)
        place.last = last;
  }
  const GPUProfile &gpu = analysis::gpuOf(kernel);
  int64_t with = packBest(kept, Memory::Shared, gpu);
  if (analysis::countCTAs(gpu, with) < analysis::countCTAs(gpu, end)) {
    pack(tiles, Memory::Shared);
    return;
  }
  tiles = kept;
  end = with;
}

/// What systems are solved in lies in shared memory, where the matrix units read it.
static bool mayLieInDeviceMemory(Placed &place) {
  return llvm::none_of(place.tile.getResult().getUsers(), [&](Operation *user) {
    auto systems = dyn_cast<ConjugateGradientsOp>(user);
    return systems && systems.getWork() == place.tile.getResult();
  });
}

void conversion::placeTiles(KernelOp kernel, int64_t sharedBytes) {
  SmallVector<Placed> tiles = findLifetimes(kernel, countBytes);
  int64_t end;
  while ((end = packBest(tiles, Memory::Shared, analysis::gpuOf(kernel))) > sharedBytes) {
    Placed *largest = nullptr;
    for (Placed &place : tiles)
      if (place.tile.getType().getMemory() == Memory::Shared && mayLieInDeviceMemory(place) &&
          (!largest || place.bytes > largest->bytes))
        largest = &place;
    moveTo(Memory::Local, largest->tile);
  }
  keepLoaded(kernel, tiles, end);
  kernel.setShared(end);
  kernel.setWorkspace(pack(tiles, Memory::Local));
}
