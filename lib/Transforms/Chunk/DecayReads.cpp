// Decays of rows that read a state move to what was read.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_DECAYREADSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct DecayReadsPass : recur::chunk::impl::DecayReadsPassBase<DecayReadsPass> {
  void runOnOperation() override {
    getOperation().walk([](ReadOp read) { moveDecay(read); });
  }

private:
  static void moveDecay(ReadOp read);
};
} // namespace

void DecayReadsPass::moveDecay(ReadOp read) {
  auto scaled = read.getRows().getDefiningOp<MapOp>();
  if (!scaled || scaled.getFunction() != Function::Mul || !read->hasOneUse())
    return;
  auto reader = dyn_cast<MapOp>(*read->user_begin());
  if (!reader || !isElementwise(reader.getFunction()) || reader.getResult().getType() != read.getResult().getType())
    return;
  for (auto [decay, rows] : {std::pair(0, 1), {1, 0}}) {
    Value factor = scaled.getOperands()[decay], unscaled = scaled.getOperands()[rows];
    if (!factor.getDefiningOp<CumulativeDecayOp>() || tensorOf(factor).getRank() != 1 ||
        unscaled.getType() != scaled.getResult().getType())
      continue;
    read.getRowsMutable().assign(unscaled);
    OpBuilder after(read->getContext());
    after.setInsertionPointAfter(read);
    auto moved = MapOp::create(after, read.getLoc(), Function::Mul, ValueRange{factor, read.getResult()});
    read.getResult().replaceAllUsesExcept(moved.getResult(), moved);
    if (scaled->use_empty())
      scaled->erase();
    return;
  }
}
