// Running decays of what a chunk is loaded with, all at its beginning.
//
// Rows that are scaled by a running decay need nothing but what was loaded. Where they are made as soon as another such
// scan is, they wait for no barrier of their own, and what was loaded is in use no longer behind the interactions: the
// next chunk's rows can come into its place while this chunk's inverse is made.
#include "Analysis/RunningSum.h"
#include "Analysis/WholeTile.h"
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// The users of a tile and of its parts in other shapes.
static void collectUsers(Value tile, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : tile.getUsers())
    if (auto view = dyn_cast<ViewOp>(user))
      collectUsers(view, users);
    else
      users.push_back(user);
}

/// Tiles that loads of the chunk fill, and nothing else writes.
static llvm::DenseSet<Value> findLoaded(Block &chunk) {
  llvm::DenseSet<Value> loaded;
  for (LoadOp load : chunk.getOps<LoadOp>())
    loaded.insert(load.getTile());
  chunk.walk([&](Operation *op) {
    auto isRead = [&](Value tile) {
      return isa<LoadOp, StoreOp>(op) ? true
             : isa<MapOp>(op)         ? cast<MapOp>(op).getResult() != tile
             : isa<ProductOp>(op)     ? cast<ProductOp>(op).getResult() != tile
             : isa<ScanOp>(op)        ? llvm::is_contained(cast<ScanOp>(op).getInputs(), tile)
             : isa<ScaledDotsOp>(op)
                 ? tile != cast<ScaledDotsOp>(op).getResult() && tile != cast<ScaledDotsOp>(op).getWork()
                 : false;
    };
    if (!isa<ViewOp>(op))
      for (Value operand : op->getOperands())
        if (!isRead(operand))
          loaded.erase(analysis::getWholeTile(operand));
  });
  return loaded;
}

static bool areKnownAt(Operation *to, ValueRange values) {
  return llvm::all_of(values, [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !maker || maker->getBlock() != to->getBlock() || maker->isBeforeInBlock(to);
  });
}

/// Whether a load fills the tile before that op, and none behind it.
static bool isLoadedBefore(Operation *to, Value tile) {
  SmallVector<Operation *> users;
  collectUsers(analysis::getWholeTile(tile), users);
  return llvm::all_of(users, [&](Operation *user) {
    return !isa<LoadOp>(user) || (user->getBlock() == to->getBlock() && user->isBeforeInBlock(to));
  });
}

/// Whether the op takes only tiles that loads have filled there, and gives only tiles that nothing before it uses.
static bool canMove(ScanOp scan, Operation *to, const llvm::DenseSet<Value> &loaded) {
  if (!areKnownAt(to, scan->getOperands()))
    return false;
  for (Value operand : scan->getOperands()) {
    if (!isa<TileType>(operand.getType()) || llvm::is_contained(scan.getInputs(), operand))
      continue;
    SmallVector<Operation *> users;
    collectUsers(analysis::getWholeTile(operand), users);
    for (Operation *user : users)
      if (user != scan && (user->getBlock() != scan->getBlock() || user->isBeforeInBlock(scan)))
        return false;
  }
  return llvm::all_of(scan.getInputs(),
                      [&](Value input) { return loaded.contains(input) && isLoadedBefore(to, input); });
}

void conversion::putScansFirst(Block &chunk) {
  llvm::DenseSet<Value> loaded = findLoaded(chunk);
  // What is left as it came need not have come before the interactions are made.
  Operation *firstDots = nullptr, *lastDots = nullptr;
  for (ScaledDotsOp dots : chunk.getOps<ScaledDotsOp>()) {
    firstDots = firstDots ? firstDots : dots;
    lastDots = dots;
  }
  for (StoreOp store : llvm::make_early_inc_range(chunk.getOps<StoreOp>()))
    if (lastDots && store->isBeforeInBlock(lastDots) && loaded.contains(store.getTile()))
      store->moveAfter(lastDots);
  SmallVector<ScanOp> early;
  Operation *store = nullptr;
  SmallVector<SmallVector<ScanOp>> late; // of which each shares its sums
  for (Operation &op : chunk.without_terminator()) {
    auto scan = dyn_cast<ScanOp>(op);
    bool takesLoaded = scan && llvm::any_of(scan.getInputs(), [&](Value input) { return loaded.contains(input); });
    if (firstDots && !firstDots->isBeforeInBlock(&op)) {
      if (takesLoaded)
        early.push_back(scan);
      else if (!early.empty() && isa<StoreOp>(op))
        store = &op;
    } else if (scan) {
      auto before = dyn_cast<ScanOp>(*std::prev(op.getIterator()));
      if (late.empty() || !before || late.back().back() != before || !analysis::haveSameSums(before, scan))
        late.emplace_back();
      late.back().push_back(scan);
    }
  }
  if (early.empty())
    return;
  for (SmallVector<ScanOp> &together : late) {
    // Next to one with the same sums, which are found once then.
    size_t place = early.size();
    for (auto [number, scan] : llvm::enumerate(early))
      if (analysis::haveSameSums(scan, together[0]))
        place = number + 1;
    Operation *behind = early[place - 1];
    if (!llvm::all_of(together, [&](ScanOp scan) { return canMove(scan, behind, loaded); }))
      continue;
    for (ScanOp scan : together) {
      scan->moveAfter(early[place - 1]);
      early.insert(early.begin() + ptrdiff_t(place++), scan);
      SmallVector<Operation *> users;
      if (scan.getAll())
        collectUsers(analysis::getWholeTile(scan.getAll()), users);
      for (Operation *user : users)
        if (auto of = dyn_cast<StoreOp>(user);
            of && store && users.size() == 2 && areKnownAt(store, of->getOperands())) {
          of->moveAfter(store);
          store = of;
        }
    }
  }
}
