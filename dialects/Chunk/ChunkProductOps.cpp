// Decays, interactions, solves, and reads and advances of states: shapes and checks.
#include "dialects/Chunk/ChunkChecks.h"
#include <cmath>

using namespace mlir;
using namespace recur::chunk;

#define RECUR_INFER(OP)                                                                                                \
  LogicalResult OP::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,           \
                                     DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,      \
                                     SmallVectorImpl<Type> &types)

//===----------------------------------------------------------------------===//
// Checks that several ops share
//===----------------------------------------------------------------------===//

LogicalResult recur::chunk::checkVisibility(std::optional<Location> loc, int64_t rows, ArrayRef<int64_t> points,
                                            int64_t columns, ArrayRef<int64_t> steps, Value decay, int64_t channels) {
  if (points.empty() || steps.empty())
    return emitOptionalError(loc, "at least one row and one write a token are needed");
  for (int64_t point : points)
    if (point < beforeDecay)
      return emitOptionalError(loc, "a point is 'before' or a number of writes, but one is ", point);
  for (int64_t step : steps)
    if (step < 0)
      return emitOptionalError(loc, "the place of a write is 0 or more, but one is ", step);
  int64_t rowsPerToken = points.size(), columnsPerToken = steps.size();
  if (rows % rowsPerToken != 0)
    return emitOptionalError(loc, rowsPerToken, " rows a token do not divide ", rows, " rows");
  if (columns % columnsPerToken != 0)
    return emitOptionalError(loc, columnsPerToken, " writes a token do not divide ", columns, " writes");
  int64_t tokens = rows / rowsPerToken;
  if (tokens != columns / columnsPerToken)
    return emitOptionalError(loc, "the rows are of ", tokens, " tokens, but the writes of ", columns / columnsPerToken);
  if (!decay)
    return success();
  RankedTensorType type = tensorOf(decay);
  if (type.getDimSize(0) != tokens)
    return emitOptionalError(loc, "the decay has steps for ", type.getDimSize(0), " tokens, but there are ", tokens);
  if (type.getRank() > 2 || (type.getRank() == 2 && type.getDimSize(1) != channels))
    return emitOptionalError(loc, "the decay must have one step a token or one for each of ", channels,
                             " channels, but it is ", type);
  return success();
}

LogicalResult recur::chunk::checkChannels(std::optional<Location> loc, RankedTensorType rows,
                                          RankedTensorType columns) {
  if (rows.getDimSize(1) == columns.getDimSize(1))
    return success();
  return emitOptionalError(loc, "the rows have ", rows.getDimSize(1), " channels, but the writes have ",
                           columns.getDimSize(1));
}

LogicalResult recur::chunk::checkTriangle(std::optional<Location> loc, RankedTensorType matrix,
                                          RankedTensorType values) {
  if (matrix.getDimSize(0) != matrix.getDimSize(1))
    return emitOptionalError(loc, "the matrix must be square, but it is ", matrix);
  if (matrix.getDimSize(1) != values.getDimSize(0))
    return emitOptionalError(loc, "the matrix has ", matrix.getDimSize(1), " columns, but there are ",
                             values.getDimSize(0), " values");
  return success();
}

//===----------------------------------------------------------------------===//
// CumulativeDecayOp
//===----------------------------------------------------------------------===//

RECUR_INFER(CumulativeDecayOp) {
  RankedTensorType type = tensorOf(operands[0]);
  DecayRange range = CumulativeDecayOpAdaptor(operands, attributes, properties, regions).getRange();
  types.push_back(
      makeTokens(context, range == DecayRange::Total ? 1 : type.getDimSize(0), type.getShape().drop_front()));
  return success();
}

OpFoldResult CumulativeDecayOp::fold(FoldAdaptor adaptor) {
  auto step = dyn_cast_or_null<FloatAttr>(adaptor.getDecay());
  if (!step || step.getValueAsDouble() != (getLinear() ? 1.0 : 0.0))
    return {};
  return FloatAttr::get(step.getType(), 1.0);
}

//===----------------------------------------------------------------------===//
// Interaction, apply, solve, inverse
//===----------------------------------------------------------------------===//

RECUR_INFER(InteractionOp) {
  InteractionOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType rows = tensorOf(adaptor.getRows()), columns = tensorOf(adaptor.getColumns());
  if (failed(checkChannels(loc, rows, columns)))
    return failure();
  types.push_back(makeTensor(context, {rows.getDimSize(0), columns.getDimSize(0)}));
  return checkVisibility(loc, rows.getDimSize(0), adaptor.getPoints(), columns.getDimSize(0), adaptor.getSteps(),
                         adaptor.getDecay(), rows.getDimSize(1));
}

RECUR_INFER(ApplyOp) {
  ApplyOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType matrix = tensorOf(adaptor.getMatrix()), values = tensorOf(adaptor.getValues());
  if (matrix.getDimSize(1) != values.getDimSize(0))
    return emitOptionalError(loc, "the matrix has ", matrix.getDimSize(1), " columns, but there are ",
                             values.getDimSize(0), " values");
  types.push_back(makeTensor(context, {matrix.getDimSize(0), values.getDimSize(1)}));
  return checkChannelDecay(loc, adaptor);
}

RECUR_INFER(SolveOp) {
  SolveOpAdaptor adaptor(operands, attributes, properties, regions);
  if (failed(checkTriangle(loc, tensorOf(adaptor.getMatrix()), tensorOf(adaptor.getValues()))))
    return failure();
  types.push_back(adaptor.getValues().getType());
  return checkChannelDecay(loc, adaptor);
}

RECUR_INFER(ScaledSolveOp) {
  ScaledSolveOpAdaptor adaptor(operands, attributes, properties, regions);
  types.push_back(adaptor.getValues().getType());
  return checkTriangle(loc, tensorOf(adaptor.getMatrix()), tensorOf(adaptor.getValues()));
}

void ApplyOp::dropDecay() {
  getDecayMutable().clear();
  setLinear(false);
  removePointsAttr();
  removeStepsAttr();
}

void SolveOp::dropDecay() {
  getDecayMutable().clear();
  setLinear(false);
  removePointsAttr();
  removeStepsAttr();
}

RECUR_INFER(EliminateOp) {
  EliminateOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType matrix = tensorOf(adaptor.getLower());
  if (matrix.getDimSize(0) != matrix.getDimSize(1))
    return emitOptionalError(loc, "the matrix must be square, but it is ", matrix);
  if (int64_t factors = tensorOf(adaptor.getColumns()).getDimSize(0); factors != matrix.getDimSize(1))
    return emitOptionalError(loc, "the matrix has ", matrix.getDimSize(1), " columns, but there are ", factors,
                             " factors");
  types.push_back(matrix);
  return success();
}

RECUR_INFER(InverseOp) {
  RankedTensorType matrix = tensorOf(operands[0]);
  if (matrix.getDimSize(0) != matrix.getDimSize(1))
    return emitOptionalError(loc, "the matrix must be square, but it is ", matrix);
  if (operands.size() > 1 && tensorOf(operands[1]).getDimSize(0) != matrix.getDimSize(1))
    return emitOptionalError(loc, "the matrix has ", matrix.getDimSize(1), " columns, but there are ",
                             tensorOf(operands[1]).getDimSize(0), " gains");
  types.push_back(matrix);
  return success();
}

//===----------------------------------------------------------------------===//
// Reads and advances of a state
//===----------------------------------------------------------------------===//

RECUR_INFER(ReadOp) {
  ReadOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType rows = tensorOf(adaptor.getRows()), state = tensorOf(adaptor.getState());
  unsigned dim = adaptor.getLeft() ? 0 : 1;
  if (rows.getDimSize(1) != state.getDimSize(dim))
    return emitOptionalError(loc, "a row has ", rows.getDimSize(1), " elements, but the state ", state, " has ",
                             state.getDimSize(dim), dim ? " columns" : " rows");
  types.push_back(makeTensor(context, {rows.getDimSize(0), state.getDimSize(1 - dim)}));
  return success();
}

RECUR_INFER(AdvanceOp) {
  AdvanceOpAdaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType state = tensorOf(adaptor.getState()), values = tensorOf(adaptor.getValues()),
                   keys = tensorOf(adaptor.getKeys());
  if (values.getDimSize(0) != keys.getDimSize(0))
    return emitOptionalError(loc, "there are ", values.getDimSize(0), " values, but ", keys.getDimSize(0), " keys");
  if (values.getDimSize(1) != state.getDimSize(0) || keys.getDimSize(1) != state.getDimSize(1))
    return emitOptionalError(loc, "values of ", values.getDimSize(1), " elements and keys of ", keys.getDimSize(1),
                             " make a write of ", values.getDimSize(1), "x", keys.getDimSize(1), ", but the state is ",
                             state);
  for (auto [decay, size, what] : {std::tuple(adaptor.getColumnDecay(), state.getDimSize(1), StringRef("column")),
                                   std::tuple(adaptor.getRowDecay(), state.getDimSize(0), StringRef("row"))})
    if (decay && tensorOf(decay) != makeTensor(context, {1}) && tensorOf(decay) != makeTensor(context, {1, size}))
      return emitOptionalError(loc, "the ", what, " decay must be one number or ", size, ", but it is ",
                               tensorOf(decay));
  types.push_back(state);
  return success();
}

bool AdvanceOp::writesNothing() { return constantNumber(getValues()) == 0.0 || constantNumber(getKeys()) == 0.0; }

LogicalResult ReshapeStateOp::verify() {
  if (tensorOf(getState()).getNumElements() != tensorOf(getResult()).getNumElements())
    return emitOpError() << "cannot make " << getResult().getType() << " of " << getState().getType() << ": they have "
                         << tensorOf(getResult()).getNumElements() << " and " << tensorOf(getState()).getNumElements()
                         << " elements";
  return success();
}

OpFoldResult ReshapeStateOp::fold(FoldAdaptor) {
  if (getState().getType() == getType())
    return getState();
  if (auto inner = getState().getDefiningOp<ReshapeStateOp>(); inner && inner.getState().getType() == getType())
    return inner.getState();
  return {};
}
