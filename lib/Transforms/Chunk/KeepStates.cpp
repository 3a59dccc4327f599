// The program that leaves the states which a gradient takes.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace recur::chunk {
#define GEN_PASS_DEF_KEEPSTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct KeepStatesPass : recur::chunk::impl::KeepStatesPassBase<KeepStatesPass> {
  void runOnOperation() override;
};
} // namespace

/// States that the gradient does not take, and that none which it takes needs, stay what they are.
static void stopOthers(ProgramOp states, ProgramOp gradient) {
  llvm::StringSet<> taken;
  for (KeptOp kept : gradient.getKept())
    taken.insert(kept.getName());
  SmallVector<Operation *> ends;
  for (StateOp state : states.getStates())
    if (taken.contains(state.getName()))
      ends.push_back(state);
  llvm::SetVector<StateOp> needed = findNeededStates(ends);
  for (StateOp state : states.getStates())
    if (!needed.contains(state))
      state.getNext().getValueMutable().assign(state.getResult());
}

void KeepStatesPass::runOnOperation() {
  for (auto program : llvm::make_early_inc_range(getOperation().getOps<ProgramOp>())) {
    if (program.getSummaryOf() || program.getBackward() || program.getKeeps())
      continue;
    OpBuilder builder(program);
    builder.setInsertionPointAfter(program);
    auto states = cast<ProgramOp>(builder.clone(*program));
    states.setSymName((program.getSymName() + "_states").str());
    states.setKeeps(true);
    for (OutputOp output : states.getOutputs())
      output.erase();
    if (auto gradient = getOperation().lookupSymbol<ProgramOp>((program.getSymName() + "_gradient").str()))
      stopOthers(states, gradient);
    eraseUnused(states.getBody().front());
  }
}
