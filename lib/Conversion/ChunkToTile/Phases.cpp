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
  Type element = isRounded && factorType ? factorType : builder.getF32Type();
  return body.addArgument(TileType::get(builder.getContext(), shape, element, Memory::Global, {}, 0), loc);
}

Planner::PhaseRows Planner::phaseRows(Value value, Value tile, bool isWhole) {
  bool isNumber = chunk::tensorOf(value).getRank() == 0; // whose tile has one row as it is
  int64_t size = program.getChunk(), rows = tileOf(tile).getSize(0);
  if (isWhole || (rows == 1 && size > 1)) {
    Value number = arith::DivUIOp::create(builder, loc, firstToken, constant(size));
    bool hasRow = !isWhole || isNumber;
    return {number, constant(1), hasRow ? tile : withTokens(tile)};
  }
  if (rows == size)
    return {firstToken, tokens, tile};
  Value perToken = constant(rows / size);
  return {arith::MulIOp::create(builder, loc, firstToken, perToken),
          arith::MulIOp::create(builder, loc, tokens, perToken), tile};
}

void Planner::take(chunk::TakeOp op, Value tile) {
  loadInPlace([&] {
    PhaseRows rows = phaseRows(op, tile, op.getWhole());
    return LoadOp::create(builder, loc, phaseArrays.lookup(op), rows.first, rows.count, rows.tile);
  });
}

void Planner::plan(chunk::GiveOp op) {
  bool isRounded = op.getRounded() && factorType;
  Value known = isRounded ? shared.rounded.lookup(op.getValue()) : Value();
  if (isRounded && !known && findInterleavedInput(op.getValue()))
    known = rounded(op.getValue());
  PhaseRows rows = phaseRows(op.getValue(), known ? known : get(op.getValue()), op.getWhole());
  StoreOp::create(builder, loc, rows.tile, rows.count, phaseArrays.lookup(op), rows.first);
}
