#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace recur::tile;

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  unsigned count = block.getNumArguments();
  if (count == 0 || !block.getArguments().back().getType().isInteger(64))
    return emitOpError("needs the number of tokens, an i64, as its last argument");
  for (BlockArgument argument : block.getArguments().drop_back())
    if (auto type = dyn_cast<TileType>(argument.getType()); !type || type.getMemory() != Memory::Global)
      return emitOpError("takes tiles in global memory, but argument ")
             << argument.getArgNumber() << " is " << argument.getType();
  if (getRequired() < 0 || getRequired() > count - 1)
    return emitOpError("requires ") << getRequired() << " arrays, but has " << count - 1;
  return success();
}

static LogicalResult checkTransfer(Operation *op, TileType array, TileType tile) {
  if (array.getShape().drop_front() != tile.getShape().drop_front())
    return op->emitOpError("needs rows of the same sizes, but the array is ") << array << " and the tile " << tile;
  return success();
}
LogicalResult LoadOp::verify() { return checkTransfer(*this, getArray().getType(), getTile().getType()); }
LogicalResult StoreOp::verify() { return checkTransfer(*this, getArray().getType(), getTile().getType()); }

/// Inputs of a loop nest fit it, and the body takes and gives what the nest needs.
static LogicalResult checkNest(Operation *op, ValueRange inputs, ArrayAttr dims, ArrayRef<int64_t> sizes, Region &body,
                               unsigned carried, unsigned yielded) {
  if (dims.size() != inputs.size())
    return op->emitOpError("has ") << inputs.size() << " inputs, but dimensions for " << dims.size();
  for (auto [input, attribute] : llvm::zip(inputs, dims)) {
    TileType type = tileOf(input);
    ArrayRef<int64_t> list = cast<DenseI64ArrayAttr>(attribute);
    if (int64_t(list.size()) != type.getRank())
      return op->emitOpError("names ") << list.size() << " dimensions of an input that is " << type;
    for (auto [i, dim] : llvm::enumerate(list)) {
      if (dim < 0 || dim >= int64_t(sizes.size()))
        return op->emitOpError("has no dimension ") << dim;
      if (type.getSize(i) != 1 && type.getSize(i) != sizes[dim])
        return op->emitOpError("needs size 1 or ")
               << sizes[dim] << " for dimension " << dim << ", but an input is " << type;
      bool last = dim + 1 == int64_t(sizes.size()) && type.getSize(i) != 1;
      if (last && sizes.size() > 1 && type.getStride(i) != 1)
        return op->emitOpError("needs neighbours of the last dimension side by side, but an input is ") << type;
    }
  }
  Block &block = body.front();
  if (block.getNumArguments() != inputs.size() + carried ||
      llvm::any_of(block.getArgumentTypes(), [](Type type) { return !type.isF32(); }))
    return op->emitOpError("needs a body of ") << inputs.size() + carried << " f32 arguments";
  if (block.getTerminator()->getNumOperands() != yielded)
    return op->emitOpError("needs a body that yields ") << yielded << (yielded == 1 ? " number" : " numbers");
  return success();
}

LogicalResult MapOp::verifyRegions() {
  return checkNest(*this, getInputs(), getDims(), getResult().getType().getShape(), getBody(), 0, 1);
}

LogicalResult ScanOp::verifyRegions() {
  if (!getAll() && !getLast())
    return emitOpError("gives neither all values nor the last");
  SmallVector<int64_t> sizes;
  if (getAll()) {
    sizes = llvm::to_vector(getAll().getType().getShape());
  } else {
    sizes.push_back(1);
    for (Value input : getInputs()) // the rows are the inputs'
      sizes[0] = std::max(sizes[0], tileOf(input).getSize(0));
    if (getLast().getType().getShape() != ArrayRef<int64_t>(1) || tileOf(getInputs()[0]).getRank() > 1)
      llvm::append_range(sizes, getLast().getType().getShape());
  }
  return checkNest(*this, getInputs(), getDims(), sizes, getBody(), 1, 2);
}

LogicalResult ReduceOp::verifyRegions() {
  SmallVector<int64_t> left;
  for (auto [dim, size] : llvm::enumerate(getSizes()))
    if (!llvm::is_contained(getOver(), int64_t(dim)))
      left.push_back(size);
  if (llvm::is_contained(getOver(), 0))
    return emitOpError("reduces the rows; use a scan");
  if (getResult().getType().getShape() != ArrayRef(left))
    return emitOpError("leaves other sizes than those of ") << getResult().getType();
  return checkNest(*this, getInputs(), getDims(), getSizes(), getBody(), 0, 1);
}

static LogicalResult checkRank2(Operation *op, ValueRange tiles) {
  for (Value tile : tiles)
    if (tileOf(tile).getRank() != 2)
      return op->emitOpError("works on tiles of two dimensions, but one is ") << tile.getType();
  return success();
}

void ProductOp::build(OpBuilder &, OperationState &state, Value left, Value right, Value result, Value rows,
                      Value inner) {
  state.addOperands({left, right, result, rows, inner});
  state.getOrAddProperties<Properties>().operandSegmentSizes = {1, 1, 1, 1, 1};
}

LogicalResult ProductOp::verify() {
  if (failed(checkRank2(*this, {getLeft(), getRight(), getResult()})))
    return failure();
  TileType left = getLeft().getType(), right = getRight().getType(), result = getResult().getType();
  int64_t rows = left.getSize(getTransposed() ? 1 : 0), inner = left.getSize(getTransposed() ? 0 : 1);
  if (inner != right.getSize(0) || rows != result.getSize(0) || right.getSize(1) != result.getSize(1))
    return emitOpError("cannot multiply ") << left << " and " << right << " into " << result;
  if (getPlus() && getPlus().getType().getShape() != result.getShape())
    return emitOpError("adds ") << getPlus().getType() << " to " << result;
  for (std::optional<ArrayRef<int64_t>> triangle : {getLeftTriangle(), getResultTriangle()})
    if (triangle && (triangle->size() != 2 || (*triangle)[0] < 1 || (*triangle)[1] < 1))
      return emitOpError("needs two positive numbers for a triangle");
  if (bool(getAhead()) != bool(getAheadFirst()) || bool(getAhead()) != getAheadRows().has_value())
    return emitOpError("needs an array, a first row and a number of rows to fetch ahead");
  return success();
}

LogicalResult TransposeOp::verify() {
  if (failed(checkRank2(*this, {getSource(), getResult()})))
    return failure();
  TileType source = getSource().getType(), result = getResult().getType();
  if (source.getSize(0) != result.getSize(1) || source.getSize(1) != result.getSize(0))
    return emitOpError("cannot transpose ") << source << " into " << result;
  return success();
}

LogicalResult SolveOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getValues()})))
    return failure();
  TileType matrix = getMatrix().getType();
  if (matrix.getSize(0) != matrix.getSize(1) || matrix.getSize(0) != getValues().getType().getSize(0))
    return emitOpError("cannot solve ") << matrix << " for " << getValues().getType();
  return success();
}

LogicalResult ScaledDotsOp::verify() {
  if (failed(checkRank2(*this, {getLeft(), getRight(), getScales(), getResult()})))
    return failure();
  int64_t indices = getScales().getType().getSize(0), rows = getLeft().getType().getSize(0),
          columns = getRight().getType().getSize(0);
  if (rows != indices * int64_t(getPoints().size()) || columns != indices * int64_t(getSteps().size()))
    return emitOpError("has ") << indices << " indices, but " << rows << " rows and " << columns << " columns";
  if (getResult().getType().getSize(0) != rows || getResult().getType().getSize(1) != columns)
    return emitOpError("gives ") << rows << " by " << columns << " numbers, not " << getResult().getType();
  return success();
}

LogicalResult ScaledSumsOp::verify() {
  if (failed(checkRank2(*this, {getMatrix(), getValues(), getResult()})))
    return failure();
  TileType matrix = getMatrix().getType();
  if (matrix.getSize(0) != getResult().getType().getSize(0) || matrix.getSize(1) != getValues().getType().getSize(0))
    return emitOpError("cannot apply ") << matrix << " to " << getValues().getType();
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"
