// A chain over the chunks that may begin within a sequence, a little before the chunks that it is to do.
#include "Conversion/ChunkToTile/Segments.h"
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// The loop goes over the segment. Of chunks before the CTA's own no rows are stored.
void conversion::takeSegment(OpBuilder &builder, SegmentOp segment, scf::ForOp loop) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = segment.getLoc();
  segment.getInitial().replaceAllUsesExcept(segment.getStart(), segment);
  segment.getFinal().replaceAllUsesExcept(segment.getStore(), segment);
  loop.setLowerBound(segment.getBegin());
  loop.setUpperBound(segment.getEnd());
  if (loop.getBody()->getOps<StoreOp>().empty())
    return;
  builder.setInsertionPointToStart(loop.getBody());
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 64),
        isOwn =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, loop.getInductionVar(), segment.getFirst());
  for (StoreOp store : loop.getBody()->getOps<StoreOp>()) {
    builder.setInsertionPoint(store);
    store.getRowsMutable().assign(arith::SelectOp::create(builder, loc, isOwn, store.getRows(), none));
  }
}

/// CTAs that share a sequence have no workspace.
void Planner::cutIntoSegments(scf::ForOp loop, Value initialArray, Value finalArray) {
  chunk::RemainsOp remains = program.getRemains(program.getStates().front().getName());
  auto left = remains ? remains.getBound().getDefiningOp<chunk::TakeOp>() : chunk::TakeOp();
  if (!left)
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*initialArray.user_begin());
  auto segment = SegmentOp::create(builder, loc, loop->getBlock()->getArguments().back(), program.getChunk(),
                                   initialArray, finalArray, phaseArrays.lookup(left));
  takeSegment(builder, segment, loop);
}
