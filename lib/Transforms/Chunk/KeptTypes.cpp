// The types in which states are left for a gradient.
#include "Analysis/ChunkStructure.h"
#include "Transforms/Chunk/Passes.h"
#include "dialects/Chunk/ChunkPhases.h"

namespace recur::chunk {
#define GEN_PASS_DEF_KEPTTYPESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct KeptTypesPass : recur::chunk::impl::KeptTypesPassBase<KeptTypesPass> {
  void runOnOperation() override;
};
} // namespace

/// Whether products read it, or sums over its elements, and nothing else.
static bool isFactorAlone(KeptOp kept) {
  return tensorOf(kept.getResult()).getRank() == 2 && llvm::all_of(kept->getUses(), [](OpOperand &use) {
           auto read = dyn_cast<ReadOp>(use.getOwner());
           return isa<ReshapeStateOp>(use.getOwner()) || (read && read.getState() == use.get());
         });
}

void KeptTypesPass::runOnOperation() {
  for (auto gradient : getOperation().getOps<ProgramOp>()) {
    StringRef name = gradient.getSymName();
    if (!gradient.getBackward() || !gradient.getShortFactors() || !name.consume_back("_gradient") ||
        cancels(gradient) || !recur::analysis::ChunkStructure(gradient).roundsStates())
      continue;
    auto states = getOperation().lookupSymbol<ProgramOp>((name + "_states").str());
    for (KeptOp kept : gradient.getKept()) {
      if (!states || !isFactorAlone(kept))
        continue;
      kept.setStoredAttr(gradient.getFactorsAttr());
      for (StateOp state : states.getStates())
        if (state.getName() == kept.getName())
          state.setKeptAttr(gradient.getFactorsAttr());
    }
  }
}
