#include "Transforms/Chunk/ApplySummary.h"
#include "dialects/Chunk/ChunkSummaryParts.h"
#include "dialects/Chunk/ChunkTangents.h"

using namespace mlir;
using namespace recur::chunk;

/// The state with each row, or for a map from the left each column, scaled: as if a chunk decayed and wrote nothing.
static Value scale(OpBuilder &builder, StateOp state, StateOp scales, SummaryKind kind) {
  ValueBuilder build(builder, state.getLoc());
  RankedTensorType type = tensorOf(state);
  auto nothing = [&](int64_t width) { return build.constant(0, makeTokens(builder.getContext(), 1, {width})); };
  Value factors = build.asToken(scales), none;
  bool right = kind == SummaryKind::Right;
  return AdvanceOp::create(builder, state.getLoc(), state, nothing(type.getDimSize(0)), nothing(type.getDimSize(1)),
                           right ? none : factors, right ? factors : none);
}

ProgramOp recur::chunk::makeApplyProgram(OpBuilder &builder, ProgramOp summary) {
  Location loc = summary.getLoc();
  StringRef name = *summary.getSummaryOf();
  SummaryParts parts = getSummaryParts(summary);
  auto program =
      ProgramOp::create(builder, loc, (summary.getSymName() + "_apply").str(), summary.getDims(), /*chunk=*/1);
  program.setFactorsAttr(summary.getFactorsAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&program.getBody().front());
  auto copyOf = [&](StateOp part) {
    return StateOp::create(builder, loc, part.getType(), part.getName(), TypeAttr(), part.getTransposed());
  };
  auto state = StateOp::create(builder, loc, parts.offset.getType(), name, TypeAttr(), parts.offset.getTransposed());
  StateOp scales = parts.scales ? copyOf(parts.scales) : StateOp();
  StateOp map = copyOf(parts.map), offset = copyOf(parts.offset);
  // Maps from a side are products with matrices, of which a vector is the only row.
  SummaryKind kind = *summary.getSummaryKind();
  RankedTensorType type = tensorOf(state), asMatrix = type;
  if (kind == SummaryKind::Right && type.getRank() < 2)
    asMatrix = makeTensor(builder.getContext(), {1, tensorOf(map).getDimSize(0)});
  auto reshape = [&](Value value, RankedTensorType to) -> Value {
    return value.getType() == to ? value : ReshapeStateOp::create(builder, loc, to, value).getResult();
  };
  Value scaled = state;
  if (scales)
    scaled = scale(builder, state, scales, kind);
  auto composed = ComposeOp::create(builder, loc, kind, map, reshape(scaled, asMatrix), map, reshape(offset, asMatrix));
  NextOp::create(builder, loc, state, reshape(composed.getOffset(), type));
  for (StateOp part : {scales, map, offset})
    if (part)
      NextOp::create(builder, loc, part, part);
  return program;
}
