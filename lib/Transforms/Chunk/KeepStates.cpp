// The program that leaves the states which a gradient takes.
#include "Transforms/Chunk/Passes.h"

namespace recur::chunk {
#define GEN_PASS_DEF_KEEPSTATESPASS
#include "Transforms/Chunk/Passes.h.inc"
} // namespace recur::chunk

using namespace mlir;
using namespace recur::chunk;

namespace {
struct KeepStatesPass : recur::chunk::impl::KeepStatesPassBase<KeepStatesPass> {
  void runOnOperation() override {
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
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(states.getBody().front())))
        if (isOpTriviallyDead(&op))
          op.erase();
    }
  }
};
} // namespace
