// What the phases of a plan leave to each other: arrays in a workspace, with a row for each row of a token, or one a
// chunk.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

Value Planner::addPhaseArray(Block &body, Type value, bool isWhole, bool isRounded) {
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(value).getShape();
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, isWhole ? sizes : sizes.drop_front());
  Type element = isRounded && dataType.isBF16() ? dataType : builder.getF32Type();
  return body.addArgument(TileType::get(builder.getContext(), shape, element, Memory::Global, {}, 0), loc);
}

Planner::PhaseRows Planner::phaseRows(Value tile, bool isWhole) {
  int64_t size = program.getChunk(), rows = tileOf(tile).getSize(0);
  if (isWhole || (rows == 1 && size > 1)) {
    Value number = arith::DivUIOp::create(builder, loc, firstToken, constant(size));
    return {number, constant(1), isWhole ? withTokens(tile) : tile};
  }
  if (rows == size)
    return {firstToken, tokens, tile};
  Value perToken = constant(rows / size);
  return {arith::MulIOp::create(builder, loc, firstToken, perToken),
          arith::MulIOp::create(builder, loc, tokens, perToken), tile};
}

void Planner::take(chunk::TakeOp op, Value tile) {
  loadInPlace([&] {
    PhaseRows rows = phaseRows(tile, op.getWhole());
    return LoadOp::create(builder, loc, phaseArrays.lookup(op), rows.first, rows.count, rows.tile);
  });
}

void Planner::plan(chunk::GiveOp op) {
  bool isRounded = op.getRounded() && dataType.isBF16();
  Value known = isRounded ? shared.rounded.lookup(op.getValue()) : Value();
  PhaseRows rows = phaseRows(known ? known : get(op.getValue()), op.getWhole());
  StoreOp::create(builder, loc, rows.tile, rows.count, phaseArrays.lookup(op), rows.first);
}
