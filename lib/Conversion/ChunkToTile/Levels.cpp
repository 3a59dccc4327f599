// The order of a chunk's ops where all threads of a team come to each op together.
//
// Between two ops of which one needs what other threads have made in the other, all threads meet at a barrier. Ops that
// are apart wait less if they stand side by side: a running sum of one warp, for example, and products of all warps. So
// an op's level is one more than the highest of those that it needs something of, or as high where each thread needs
// but its own registers, and ops go in the order of their levels.
#include "Analysis/WholeTile.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "Conversion/ChunkToTile/Uses.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include <optional>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

static bool onlyReads(Operation *op, Value memory) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](LoadOp load) { return load.getArray() == memory; })
      .Case([&](StoreOp store) { return store.getTile() == memory; })
      .Case<MapOp, ReduceOp, ProductOp>([&](auto own) { return own.getResult() != memory; })
      .Case([&](ScanOp scan) { return scan.getAll() != memory && scan.getLast() != memory; })
      .Case([&](ScaledCotangentsOp own) {
        return !llvm::is_contained({own.getLeftResult(), own.getRightResult(), own.getScalesResult(), own.getWork()},
                                   memory);
      })
      .Default(false);
}

SmallVector<TileUse> conversion::findUses(Operation *op) {
  SmallVector<TileUse> uses;
  for (Value value : op->getOperands())
    if (isa<TileType>(value.getType()))
      uses.push_back({analysis::getWholeTile(value), !onlyReads(op, value)});
  return uses;
}

bool conversion::conflict(const TileUse &one, const TileUse &other) {
  if (!one.isWrite && !other.isWrite)
    return false;
  bool areArrays = isa<BlockArgument>(one.memory) && isa<BlockArgument>(other.memory);
  return one.memory == other.memory || (areArrays && one.isWrite != other.isWrite);
}

static bool isInRegisters(const TileUse &use) { return tileOf(use.memory).getMemory() == Memory::Registers; }

void conversion::orderByLevels(KernelOp kernel, Block &chunk) {
  constexpr int64_t enoughPerThread = 32;
  int64_t most = std::max(countInRegisters(kernel, chunk), enoughPerThread * int64_t(*kernel.getThreads()));
  struct Leveled {
    Operation *op;
    int64_t level;
    size_t number;
    SmallVector<TileUse> uses;
  };
  SmallVector<Operation *> asTheyAre, numbers; // and views: what no thread waits for
  SmallVector<Leveled> ops;
  for (Operation &op : chunk.without_terminator()) {
    asTheyAre.push_back(&op);
    bool isTile = isa<TileDialect>(op.getDialect());
    if (!isTile && (op.getNumRegions() || !isMemoryEffectFree(&op)))
      return; // loops and conditions stay where they are
    if (!isTile || isa<ViewOp>(op)) {
      numbers.push_back(&op);
      continue;
    }
    Leveled own{&op, 0, ops.size(), findUses(&op)};
    for (const Leveled &before : ops)
      for (const TileUse &use : own.uses)
        for (const TileUse &earlier : before.uses)
          if (conflict(use, earlier))
            own.level = std::max(own.level, before.level + !isInRegisters(use));
    ops.push_back(std::move(own));
  }
  llvm::sort(ops, [](const Leveled &a, const Leveled &b) {
    return std::pair(a.level, a.number) < std::pair(b.level, b.number);
  });
  auto moveBehind = [&](Operation *op) { op->moveBefore(&chunk, chunk.without_terminator().end()); };
  llvm::for_each(numbers, moveBehind);
  for (const Leveled &one : ops)
    moveBehind(one.op);
  if (countInRegisters(kernel, chunk) > most)
    llvm::for_each(asTheyAre, moveBehind);
}
