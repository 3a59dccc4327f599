#include "Analysis/PackedLists.h"
#include "Analysis/StateChain.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;

/// Tiles in a workspace are a CTA's, of which there are only as many as work at once. Conjugate gradients take all
/// registers that a thread has, and leave none for a place in a list.
bool analysis::listsChunks(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getWorkspace() != 0 || !llvm::hasSingleElement(body.getOps<scf::ParallelOp>()))
    return false;
  if (kernel.walk([](ConjugateGradientsOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return false;
  return llvm::all_of(body.getArguments().back().getUsers(), [&](Operation *user) {
    if (user->getBlock() != &body)
      return true;
    auto bound = dyn_cast<arith::IndexCastOp>(user);
    return bound && llvm::all_of(bound->getUsers(), [](Operation *user) { return isa<scf::ParallelOp>(user); });
  });
}

bool analysis::goesByList(KernelOp kernel) {
  if (!kernel.getThreads())
    return false;
  if (listsChunks(kernel))
    return true;
  if (kernel.getUnlisted())
    return false;
  std::optional<StateChain> chain = findStateChain(kernel);
  if (!chain || chain->threads() != int64_t(*kernel.getThreads()) || chain->sharedBytes > int64_t(*kernel.getShared()))
    return false;
  return !chain->segment || !SegmentOp(chain->segment).makesSummaries();
}
