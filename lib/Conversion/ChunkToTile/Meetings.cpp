// Numbers of the tokens are made between other ops, at the barriers that those have.
//
// An op that makes a few numbers takes less time than the barrier before it: running sums, the sums of the parts of
// rows that warps have, functions of these. Often each of them needs the one before it. Such an op waits until all
// threads meet anyway for an op on matrices, or until something needs it. Ops on matrices stay in their order, which
// says how much room they take. CTAs that share a multiprocessor hide each other's barriers: of these one was measured
// to gain, and one to lose.
#include "Analysis/Crowd.h"
#include "Analysis/KernelGPU.h"
#include "Conversion/ChunkToTile/Planner.h"
#include "Conversion/ChunkToTile/Uses.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

namespace {
/// An op, and which ops it stands behind, by number.
struct Node {
  Operation *op;
  SmallVector<TileUse> uses;
  SmallVector<unsigned> behind;
  bool isSmall = false, isDone = false;
};

class Meetings {
public:
  explicit Meetings(Block &chunk);
  /// The ops in their new order; none where they stay as they are.
  SmallVector<Operation *> find();

private:
  static bool isSmall(Operation *op, ArrayRef<TileUse> uses);
  bool isReady(const Node &node) const;
  bool meets(const Node &node) const;
  void put(unsigned number);
  void putWhatIsFree();

  SmallVector<Node> nodes;
  SmallVector<TileUse> pending; // since the last barrier
  SmallVector<Operation *> order;
  bool isStraight = true;
};
} // namespace

/// Whether it makes numbers of numbers alone. Loads and stores have their places.
bool Meetings::isSmall(Operation *op, ArrayRef<TileUse> uses) {
  constexpr int64_t few = 1024; // bytes
  return isa<MapOp, ScanOp, ReduceOp>(op) && llvm::all_of(uses, [](const TileUse &use) {
           TileType type = tileOf(use.memory);
           return type.getMemory() == Memory::Shared && type.getExtent() * type.getElementBytes() <= few;
         });
}

Meetings::Meetings(Block &chunk) {
  for (Operation &op : chunk.without_terminator()) {
    bool isTile = isa<TileDialect>(op.getDialect());
    isStraight &= isTile || (!op.getNumRegions() && isMemoryEffectFree(&op));
    if (!isTile || isa<ViewOp>(op))
      continue;
    Node node{&op, findUses(&op), {}};
    node.isSmall = isSmall(&op, node.uses);
    for (auto [number, before] : llvm::enumerate(nodes))
      if (llvm::any_of(node.uses, [&](const TileUse &use) {
            return llvm::any_of(before.uses, [&](const TileUse &earlier) { return conflict(use, earlier); });
          }))
        node.behind.push_back(unsigned(number));
    nodes.push_back(std::move(node));
  }
}

bool Meetings::isReady(const Node &node) const {
  return llvm::all_of(node.behind, [&](unsigned before) { return nodes[before].isDone; });
}

/// Whether all threads meet before it. Of what is in registers each has its own.
bool Meetings::meets(const Node &node) const {
  return llvm::any_of(node.uses, [&](const TileUse &use) {
    return tileOf(use.memory).getMemory() != Memory::Registers &&
           llvm::any_of(pending, [&](const TileUse &earlier) { return conflict(use, earlier); });
  });
}

/// Behind all that it needs.
void Meetings::put(unsigned number) {
  Node &node = nodes[number];
  if (node.isDone)
    return;
  for (unsigned before : node.behind)
    put(before);
  if (meets(node)) {
    pending.clear();
    putWhatIsFree();
  }
  if (node.isDone) // it was free itself
    return;
  node.isDone = true;
  order.push_back(node.op);
  llvm::append_range(pending, node.uses);
}

/// What needs numbers and no barrier.
void Meetings::putWhatIsFree() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Node &node : nodes)
      if (node.isSmall && !node.isDone && isReady(node) && !meets(node)) {
        node.isDone = changed = true;
        order.push_back(node.op);
        llvm::append_range(pending, node.uses);
      }
  }
}

SmallVector<Operation *> Meetings::find() {
  if (!isStraight)
    return {};
  for (unsigned number = 0; number < nodes.size(); ++number)
    if (!nodes[number].isSmall) {
      if (!isa<LoadOp>(nodes[number].op)) // those that a chunk begins with are asked for at once
        putWhatIsFree();
      put(number);
    }
  for (unsigned number = 0; number < nodes.size(); ++number)
    put(number);
  return order;
}

void conversion::meetLess(KernelOp kernel, Block &chunk) {
  constexpr int64_t any = std::numeric_limits<int64_t>::max(); // bytes: no tile goes to device memory
  const GPUProfile &gpu = analysis::gpuOf(kernel);
  if (analysis::countCTAs(gpu, int64_t(*kernel.getShared())) > 1)
    return;
  SmallVector<Operation *> order = Meetings(chunk).find();
  if (order.empty())
    return;
  SmallVector<Operation *> before;
  for (Operation &op : chunk.without_terminator())
    before.push_back(&op);
  putInOrder(chunk, order);
  placeTiles(kernel, any);
  if (analysis::countCTAs(gpu, int64_t(*kernel.getShared())) > 0)
    return;
  for (Operation *op : before)
    op->moveBefore(&chunk, chunk.without_terminator().end());
  placeTiles(kernel, any);
}
