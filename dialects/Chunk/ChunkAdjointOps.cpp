// What goes from later tokens to earlier ones: shapes, checks and costs.
#include "dialects/Chunk/ChunkChecks.h"

using namespace mlir;
using namespace recur::chunk;

#define RECUR_INFER(OP)                                                                                                \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,      \
                                     SmallVectorImpl<Type> &types)

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

RECUR_INFER(ApplyTransposedOp) {
  ApplyTransposedOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType matrix = tensorOf(adaptor.getMatrix()), values = tensorOf(adaptor.getValues());
  if (matrix.getDimSize(0) != values.getDimSize(0))
    return emitOptionalError(loc, "the matrix has ", matrix.getDimSize(0), " rows, but there are ",
                             values.getDimSize(0), " values");
  types.push_back(makeTensor(context, {matrix.getDimSize(1), values.getDimSize(1)}));
  return checkChannelDecay(loc, adaptor);
}

RECUR_INFER(SolveTransposedOp) {
  SolveTransposedOpAdaptor adaptor(operands, attributes, properties, regions);
  if (failed(checkTriangle(loc, tensorOf(adaptor.getMatrix()), tensorOf(adaptor.getValues()))))
    return failure();
  types.push_back(adaptor.getValues().getType());
  return checkChannelDecay(loc, adaptor);
}

RECUR_INFER(DecayCotangentOp) {
  DecayCotangentOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType matrix = tensorOf(adaptor.getMatrix()), rows = tensorOf(adaptor.getRows()),
                   columns = tensorOf(adaptor.getColumns());
  if (failed(checkChannels(loc, rows, columns)))
    return failure();
  if (matrix.getDimSize(0) != rows.getDimSize(0) || matrix.getDimSize(1) != columns.getDimSize(0))
    return emitOptionalError(loc, "the matrix must be ", rows.getDimSize(0), "x", columns.getDimSize(0),
                             ", for so many rows and writes, but it is ", matrix);
  types.push_back(adaptor.getDecay().getType());
  return checkVisibility(loc, rows.getDimSize(0), adaptor.getPoints(), columns.getDimSize(0), adaptor.getSteps(),
                         adaptor.getDecay(), rows.getDimSize(1));
}

static int64_t elements(Value value) { return tensorOf(value).getNumElements(); }

/// Half of a matrix, which is what rows see of writes: two flops a multiply-add, and one for the decay of each.
static int64_t countTriangle(Value matrix, Value values, bool decays) {
  return (decays ? 3 : 2) * (elements(matrix) / 2) * tensorOf(values).getDimSize(1);
}

int64_t ApplyTransposedOp::getFlops() { return countTriangle(getMatrix(), getValues(), bool(getDecay())); }
int64_t SolveTransposedOp::getFlops() { return countTriangle(getMatrix(), getValues(), bool(getDecay())); }

/// Whether an interaction has what the rows see of the writes, with the decay between them.
static bool isSeen(DecayCotangentOp op) {
  return llvm::any_of(op.getRows().getUsers(), [&](Operation *user) {
    auto made = dyn_cast<InteractionOp>(user);
    return made && made.getRows() == op.getRows() && made.getColumns() == op.getColumns() &&
           made.getDecay() == op.getDecay() && made.getPoints() == op.getPoints() && made.getSteps() == op.getSteps();
  });
}

// For each pair of a write and a later token: what the write has become there, what later rows make of it, their
// product. Where all channels decay alike a pair makes one number of them all, by which each decay between matters.
int64_t DecayCotangentOp::getFlops() {
  int64_t tokens = tensorOf(getDecay()).getDimSize(0), channels = tensorOf(getRows()).getDimSize(1);
  if (tensorOf(getDecay()).getRank() == 1)
    return (getLinear() || !isSeen(*this) ? elements(getMatrix()) * channels : 0) + 2 * elements(getMatrix());
  return elements(getMatrix()) * channels + tokens * tensorOf(getColumns()).getDimSize(0) / 2 * 5 * channels;
}

//===----------------------------------------------------------------------===//
// Scans and shifts
//===----------------------------------------------------------------------===//

RECUR_INFER(ReverseScanOp) {
  ReverseScanOpAdaptor adaptor(operands, attributes, properties, regions);
  types.append({adaptor.getAdditions().getType(), adaptor.getState().getType()});
  return checkScan(loc, adaptor.getState(), adaptor.getAdditions(), adaptor.getDecay());
}

RECUR_INFER(FollowingOp) {
  types.append({operands[1].getType(), operands[0].getType()});
  return checkPerToken(loc, "values", operands[1], operands[0]);
}

int64_t ReverseScanOp::getFlops() { return (getDecay() ? 2 : 1) * elements(getAdditions()); }
int64_t FollowingOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// Sums and places
//===----------------------------------------------------------------------===//

RECUR_INFER(SumTokensOp) {
  types.push_back(makeTokens(context, 1, shapePerToken(operands[0])));
  return success();
}

RECUR_INFER(InsertOp) {
  InsertOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType type = tensorOf(operands[0]);
  int64_t index = adaptor.getIndex(), size = adaptor.getSize();
  if (index < 0 || index >= size)
    return emitOptionalError(loc, "index ", index, " is not one of ", size, " places");
  if (type.getRank() > 2)
    return emitOptionalError(loc, "what is inserted must be a scalar or a vector of each token, but it is ", type);
  SmallVector<int64_t> perToken{size};
  llvm::append_range(perToken, type.getShape().drop_front());
  types.push_back(makeTokens(context, type.getDimSize(0), perToken));
  return success();
}

int64_t SumTokensOp::getFlops() { return elements(getOperand()); }
int64_t InsertOp::getFlops() { return 0; }
