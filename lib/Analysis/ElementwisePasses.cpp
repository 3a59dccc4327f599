#include "Analysis/ElementwisePasses.h"

using namespace mlir;
using namespace recur;
using namespace recur::analysis;

bool ElementwisePasses::mayBeTaken(chunk::MapOp map) const {
  switch (map.getFunction()) {
  case chunk::Function::Outer:
  case chunk::Function::ScaleCols:
  case chunk::Function::ScaleRows:
    return ofCore;
  default:
    return chunk::isElementwise(map.getFunction());
  }
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
    else if (auto previous = dyn_cast<chunk::PreviousOp>(reader);
             previous && ofCore && use.get() == previous.getAll() && previous.getType() == map.getResult().getType())
      readers = previous;
    if (!readers || reader->getBlock() != map->getBlock() || (pass && pass != readers))
      return map;
    pass = readers;
  }
  return passes[map] = pass ? pass : map;
}

bool ElementwisePasses::assign(chunk::MapOp map, Operation *pass) {
  return passes.insert({map, pass}).first->second == pass;
}
