#include "Analysis/ElementwisePasses.h"
#include "Analysis/ChunkStructure.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;

/// Whether the op makes one matrix in a chunk of several tokens, as states become between chunks.
static bool isBetweenChunks(chunk::MapOp map) {
  auto program = dyn_cast<chunk::ProgramOp>(map->getParentOp());
  return program && !program.getBackward() && program.getChunk() > 1 && makesOneMatrix(map);
}

bool ElementwisePasses::mayBeTaken(chunk::MapOp map) const {
  switch (map.getFunction()) {
  case chunk::Function::Outer:
  case chunk::Function::ScaleCols:
  case chunk::Function::ScaleRows:
    return ofCore || isBetweenChunks(map);
  default:
    return chunk::isElementwise(map.getFunction());
  }
}

/// Whether the op sums the rows or the columns of this operand, which is one matrix and no matrix for each token. A CTA
/// has such sums in gradients, of states that do not lie in its registers.
static bool sumsOneMatrix(OpOperand &use, bool ofCore) {
  auto map = dyn_cast<chunk::MapOp>(use.getOwner());
  auto program = map ? dyn_cast<chunk::ProgramOp>(map->getParentOp()) : nullptr;
  if (!program || !(ofCore || program.getBackward()))
    return false;
  bool isMatvec = map.getFunction() == chunk::Function::Matvec;
  return (isMatvec || map.getFunction() == chunk::Function::Vecmat) && use.getOperandNumber() == (isMatvec ? 0 : 1) &&
         llvm::all_of(map.getOperands(), [](Value operand) { return chunk::tensorOf(operand).getDimSize(0) == 1; });
}

Operation *ElementwisePasses::of(chunk::MapOp map) {
  auto [known, isNew] = passes.insert({map, map});
  if (!isNew || !mayBeTaken(map))
    return known->second;
  Operation *pass = nullptr;
  for (OpOperand &use : map.getResult().getUses()) {
    Operation *reader = use.getOwner(), *readers = nullptr;
    if (auto next = dyn_cast<chunk::MapOp>(reader); next && chunk::isElementwise(next.getFunction()) &&
                                                    next.getResult().getType() == map.getResult().getType() &&
                                                    !isMadeElsewhere(next))
      readers = of(next);
    else if (auto scan = dyn_cast<chunk::ScanOp>(reader); scan && use.get() == scan.getAdditions())
      readers = scan;
    else if (isa<chunk::MoebiusScanOp>(reader) && use.getOperandNumber() > 0)
      readers = reader;
    else if (auto previous = dyn_cast<chunk::PreviousOp>(reader);
             previous && ofCore && use.get() == previous.getAll() && previous.getType() == map.getResult().getType())
      readers = previous;
    else if (sumsOneMatrix(use, ofCore))
      readers = reader;
    if (!readers || reader->getBlock() != map->getBlock() || (pass && pass != readers))
      return map;
    pass = readers;
  }
  return passes[map] = pass ? pass : map;
}

bool ElementwisePasses::assign(chunk::MapOp map, Operation *pass) {
  return passes.insert({map, pass}).first->second == pass;
}
