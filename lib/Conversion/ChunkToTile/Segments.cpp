// A chain over the chunks that may begin within a sequence, a little before the chunks that it is to do.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// What the chain stores of chunks before its own is no rows. CTAs that share a sequence have no workspace.
void Planner::cutIntoSegments(scf::ForOp loop, Value initialArray, Value finalArray) {
  chunk::RemainsOp remains = program.getRemains(program.getStates().front().getName());
  auto left = remains ? remains.getBound().getDefiningOp<chunk::TakeOp>() : chunk::TakeOp();
  if (!left)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*initialArray.user_begin());
  auto segment = SegmentOp::create(builder, loc, phaseArrays.lookup(left), loop->getBlock()->getArguments().back(),
                                   program.getChunk(), initialArray, finalArray);
  initialArray.replaceAllUsesExcept(segment.getStart(), segment);
  finalArray.replaceAllUsesExcept(segment.getStore(), segment);
  loop.setLowerBound(segment.getBegin());
  loop.setUpperBound(segment.getEnd());
  builder.setInsertionPointToStart(loop.getBody());
  Value none = constant(0), isOwn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                                          loop.getInductionVar(), segment.getFirst());
  for (StoreOp store : loop.getBody()->getOps<StoreOp>()) {
    builder.setInsertionPoint(store);
    store.getRowsMutable().assign(arith::SelectOp::create(builder, loc, isOwn, store.getRows(), none));
  }
}
