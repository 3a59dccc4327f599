// Gradients that nobody wants, and what only they need.
#include "Transforms/Chunk/Dependence.h"
#include "Transforms/Chunk/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace recur::chunk {
#define GEN_PASS_DEF_LEAVEOUTGRADIENTSPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct LeaveOutGradientsPass : recur::chunk::impl::LeaveOutGradientsPassBase<LeaveOutGradientsPass> {
  using LeaveOutGradientsPassBase::LeaveOutGradientsPassBase;
  void runOnOperation() override;
};
} // namespace

void LeaveOutGradientsPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (!program.getBackward())
    return;
  llvm::StringSet<> names;
  for (const std::string &name : wanted)
    names.insert("gradient." + name);
  SmallVector<Operation *> ends;
  for (OutputOp output : llvm::to_vector(program.getBody().getOps<OutputOp>()))
    if (names.contains(output.getName()))
      ends.push_back(output);
    else
      output.erase();
  for (StateOp state : program.getStates())
    if (names.contains(state.getName()))
      ends.push_back(state);
  llvm::SetVector<StateOp> needed = findNeededStates(ends);
  for (StateOp state : program.getStates())
    if (!needed.contains(state))
      state.getNext().erase();
  eraseUnused<StateOp>(program.getBody().front());
}
