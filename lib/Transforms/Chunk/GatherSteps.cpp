// What every micro-step of a token does with its own rows is done once, with the rows of all steps.
#include "Transforms/Chunk/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {
#define GEN_PASS_DEF_GATHERSTEPSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct GatherStepsPass : recur::chunk::impl::GatherStepsPassBase<GatherStepsPass> {
  void runOnOperation() override {
    llvm::SetVector<InterleaveOp> open;
    getOperation().walk([&](InterleaveOp rows) { open.insert(rows); });
    while (!open.empty())
      gather(open.pop_back_val(), open);
  }

private:
  static void gather(InterleaveOp rows, llvm::SetVector<InterleaveOp> &open);
};
} // namespace

/// The maps of the steps, if they are of one kind and nothing else reads them.
static SmallVector<MapOp> findMaps(InterleaveOp rows) {
  SmallVector<MapOp> maps;
  for (Value step : rows.getOperands()) {
    auto map = step.getDefiningOp<MapOp>();
    bool isAlike = map && step.hasOneUse() && isElementwise(map.getFunction()) && map->getBlock() == rows->getBlock() &&
                   (maps.empty() || (map->getAttrDictionary() == maps[0]->getAttrDictionary() &&
                                     map.getOperands().getTypes() == maps[0].getOperands().getTypes()));
    if (!isAlike)
      return {};
    maps.push_back(map);
  }
  return maps;
}

/// What is the same for all tokens: a row that stays one, as long as all steps have it.
static bool isOfNoToken(Value value, int64_t tokens) { return tensorOf(value).getDimSize(0) == 1 && tokens != 1; }

void GatherStepsPass::gather(InterleaveOp rows, llvm::SetVector<InterleaveOp> &open) {
  SmallVector<MapOp> maps = findMaps(rows);
  if (maps.size() < 2)
    return;
  int64_t tokens = tensorOf(maps[0].getResult()).getDimSize(0);
  size_t count = maps[0].getOperands().size();
  auto operandsAt = [&](size_t number) {
    return llvm::map_to_vector(maps, [&](MapOp map) -> Value { return map.getOperands()[number]; });
  };
  for (size_t number = 0; number < count; ++number)
    if (isOfNoToken(maps[0].getOperands()[number], tokens) && !llvm::all_equal(operandsAt(number)))
      return;
  OpBuilder builder(rows);
  SmallVector<Value> operands;
  for (size_t number = 0; number < count; ++number) {
    SmallVector<Value> steps = operandsAt(number);
    if (isOfNoToken(steps[0], tokens)) {
      operands.push_back(steps[0]);
      continue;
    }
    auto inner = InterleaveOp::create(builder, rows.getLoc(), steps);
    open.insert(inner);
    operands.push_back(inner);
  }
  Value gathered = MapOp::create(builder, rows.getLoc(), maps[0].getFunction(), operands);
  rows.getResult().replaceAllUsesWith(gathered);
  rows.erase();
  for (MapOp map : maps)
    map.erase();
}
