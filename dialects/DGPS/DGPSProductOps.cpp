// Vectors and matrices: the shapes of products, and the little folding that is safe.
#include "dialects/DGPS/DGPS.h"
#include "dialects/Interfaces/ConcatFolds.h"

using namespace mlir;
using namespace recur;
using namespace recur::dgps;

static RealType real(Value value) { return cast<RealType>(value.getType()); }

/// Fails unless `matrix` has `vector`'s size along dimension `dim`.
static LogicalResult checkSizes(std::optional<Location> loc, Value matrix, unsigned dim, Value vector) {
  RealType m = real(matrix), v = real(vector);
  if (!m.isMatrix() || !v.isVector())
    return emitOptionalError(loc, "expects a matrix and a vector, but they are ", m, " and ", v);
  if (m.getShape()[dim] == v.getShape()[0])
    return success();
  return emitOptionalError(loc, "the matrix ", m, " has ", m.getShape()[dim], dim ? " columns" : " rows",
                           ", but the vector ", v, " has ", v.getShape()[0], " elements");
}

#define RECUR_INFER(OP)                                                                                                \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,      \
                                     SmallVectorImpl<Type> &types)

RECUR_INFER(ExtractOp) {
  RealType type = real(operands[0]);
  if (type.isScalar())
    return emitOptionalError(loc, "a scalar has no elements to extract");
  types.push_back(RealType::get(context, type.getShape().drop_front()));
  int64_t index = ExtractOpAdaptor(operands, attributes, properties, regions).getIndex();
  if (index < 0 || index >= type.getShape()[0])
    return emitOptionalError(loc, "index ", index, " is outside of ", type, ", whose first size is ",
                             type.getShape()[0]);
  return success();
}

RECUR_INFER(SliceOp) {
  RealType type = real(operands[0]);
  if (type.isScalar())
    return emitOptionalError(loc, "a scalar has no elements to slice");
  SliceOpAdaptor adaptor(operands, attributes, properties, regions);
  int64_t begin = adaptor.getBegin(), size = adaptor.getSize(), whole = type.getShape()[0];
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = size;
  if (size < 1)
    return emitOptionalError(loc, "a slice has at least one element, but the size of this one is ", size);
  if (begin < 0 || begin > whole - size)
    return emitOptionalError(loc, size, " from ", begin, " on are not within ", type, ", whose first size is ", whole);
  types.push_back(RealType::get(context, shape));
  return success();
}

LogicalResult ConcatOp::verify() {
  ArrayRef<int64_t> result = real(getResult()).getShape();
  if (getOperands().empty())
    return emitOpError("needs at least one operand");
  if (result.empty())
    return emitOpError("gives a vector or a matrix, but its result is a scalar");
  int64_t parts = 0;
  for (Value operand : getOperands()) {
    ArrayRef<int64_t> shape = real(operand).getShape();
    bool isPart = shape.size() + 1 == result.size();
    if ((!isPart && shape.size() != result.size()) || shape.drop_front(isPart ? 0 : 1) != result.drop_front())
      return emitOpError() << "cannot make " << real(operand) << " a part of " << real(getResult());
    parts += countParts(shape, result);
  }
  if (parts != result[0])
    return emitOpError() << "has " << parts << (result.size() == 1 ? " elements" : " rows") << " in its operands, but "
                         << real(getResult()) << " has " << result[0];
  return success();
}

RECUR_INFER(OuterOp) {
  types.push_back(RealType::get(context, {real(operands[0]).getShape()[0], real(operands[1]).getShape()[0]}));
  return success();
}

RECUR_INFER(DotOp) {
  types.push_back(RealType::get(context));
  return success();
}

RECUR_INFER(SumOp) {
  types.push_back(RealType::get(context));
  return success();
}

RECUR_INFER(SoftmaxOp) {
  types.push_back(operands[0].getType());
  return success();
}

RECUR_INFER(MatvecOp) {
  if (failed(checkSizes(loc, operands[0], 1, operands[1])))
    return failure();
  types.push_back(RealType::get(context, real(operands[0]).getShape().take_front()));
  return success();
}

RECUR_INFER(VecmatOp) {
  if (failed(checkSizes(loc, operands[1], 0, operands[0])))
    return failure();
  types.push_back(RealType::get(context, real(operands[1]).getShape().take_back()));
  return success();
}

RECUR_INFER(ScaleColsOp) {
  types.push_back(operands[0].getType());
  return checkSizes(loc, operands[0], 1, operands[1]);
}

RECUR_INFER(ScaleRowsOp) {
  types.push_back(operands[1].getType());
  return checkSizes(loc, operands[1], 0, operands[0]);
}

RECUR_INFER(CgOp) {
  RealType matrix = real(operands[0]), ridge = real(operands[2]);
  if (failed(checkSizes(loc, operands[0], 1, operands[1])))
    return failure();
  if (matrix.getShape()[0] != matrix.getShape()[1])
    return emitOptionalError(loc, "conjugate gradients need a square matrix, but this one is ", matrix);
  if (!ridge.isScalar() && ridge != operands[1].getType())
    return emitOptionalError(loc, "the ridge must be a scalar or have the vector's shape ", operands[1].getType(),
                             ", but it is ", ridge);
  if (CgOpAdaptor(operands, attributes, properties, regions).getIterations() < 1)
    return emitOptionalError(loc, "at least one iteration is needed");
  types.push_back(operands[1].getType());
  return success();
}

static SmallVector<int64_t> getPlaces(ConcatOp concat) {
  SmallVector<int64_t> places = {0};
  for (Value operand : concat.getOperands())
    places.push_back(places.back() + ConcatOp::countParts(real(operand).getShape(), real(concat).getShape()));
  return places;
}

/// An element or row of what is itself a part, or is put together of several, is one of the whole, or of the one that
/// has it.
OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  auto takeFrom = [&](Value whole, int64_t index) {
    getOperandMutable().assign(whole);
    setIndex(index);
    return getResult();
  };
  if (auto slice = getOperand().getDefiningOp<SliceOp>())
    return takeFrom(slice.getOperand(), slice.getBegin() + getIndex());
  if (auto concat = getOperand().getDefiningOp<ConcatOp>()) {
    SmallVector<int64_t> places = getPlaces(concat);
    size_t part = llvm::upper_bound(places, int64_t(getIndex())) - places.begin() - 1;
    Value operand = concat.getOperands()[part];
    if (real(operand).getShape().size() == real(concat).getShape().size())
      return takeFrom(operand, getIndex() - places[part]);
  }
  return foldPart<ConcatOp>(getOperand(), adaptor.getOperand(), getIndex(), 1, getType(), getPlaces);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  return foldPart<ConcatOp>(getOperand(), adaptor.getOperand(), getBegin(), getSize(), getType(), getPlaces);
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) { return foldConcat(*this, adaptor.getOperands()); }

OpFoldResult SumOp::fold(FoldAdaptor adaptor) {
  if (auto value = dyn_cast_or_null<FloatAttr>(adaptor.getOperand()))
    return FloatAttr::get(value.getType(), value.getValueAsDouble() * real(getOperand()).getNumElements());
  if (real(getOperand()).isScalar())
    return getOperand();
  return {};
}
