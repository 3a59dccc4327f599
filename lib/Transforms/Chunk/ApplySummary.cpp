#include "Transforms/Chunk/ApplySummary.h"

using namespace mlir;
using namespace recur::chunk;

ProgramOp recur::chunk::makeApplyProgram(OpBuilder &builder, ProgramOp summary) {
  Location loc = summary.getLoc();
  StringRef name = *summary.getSummaryOf();
  SmallVector<StateOp, 8> states = summary.getStates();
  StateOp summaryMap = states[states.size() - 2], summaryOffset = states[states.size() - 1];
  auto program =
      ProgramOp::create(builder, loc, (summary.getSymName() + "_apply").str(), summary.getDims(), /*chunk=*/1);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto state = StateOp::create(builder, loc, summaryOffset.getType(), name);
  auto map = StateOp::create(builder, loc, summaryMap.getType(), summaryMap.getName());
  auto offset = StateOp::create(builder, loc, summaryOffset.getType(), summaryOffset.getName());
  // Maps from a side are products with matrices, of which a vector is the only row.
  SummaryKind kind = *summary.getSummaryKind();
  RankedTensorType type = tensorOf(state), asMatrix = type;
  if (kind == SummaryKind::Right && type.getRank() < 2)
    asMatrix = makeTensor(builder.getContext(), {1, tensorOf(map).getDimSize(0)});
  auto reshape = [&](Value value, RankedTensorType to) -> Value {
    return value.getType() == to ? value : ReshapeStateOp::create(builder, loc, to, value).getResult();
  };
  auto composed = ComposeOp::create(builder, loc, kind, map, reshape(state, asMatrix), map, reshape(offset, asMatrix));
  NextOp::create(builder, loc, state, reshape(composed.getOffset(), type));
  NextOp::create(builder, loc, map, map);
  NextOp::create(builder, loc, offset, offset);
  return program;
}
