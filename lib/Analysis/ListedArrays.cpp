#include "Analysis/ListedArrays.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace recur::tile;
using namespace recur::analysis;

static constexpr int64_t addressBytes = 8;

bool recur::analysis::shouldListArrays(KernelOp kernel) {
  constexpr unsigned fewest = 20;
  Block &body = kernel.getBody().front();
  bool forgets = kernel.walk([](ConjugateGradientsOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return body.getNumArguments() > fewest && !forgets && !kernel.getTeams() && body.getOps<scf::ParallelOp>().empty() &&
         body.getOps<SegmentOp>().empty();
}

int64_t recur::analysis::beginOfLists(int64_t bytes) { return int64_t(llvm::alignTo(uint64_t(bytes), addressBytes)); }

int64_t recur::analysis::endOfLists(KernelOp kernel, int64_t bytes) {
  if (!kernel->hasAttr(listsArraysAttribute))
    return bytes;
  return beginOfLists(bytes) + 2 * addressBytes * int64_t(kernel.getBody().getNumArguments());
}
