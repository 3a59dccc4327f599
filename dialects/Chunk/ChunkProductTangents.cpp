// Tangents of interactions, solves, and of reads and advances of states: product rules.
#include "dialects/Chunk/ChunkDecayTangents.h"

using namespace mlir;
using namespace recur::chunk;

/// A matrix without its diagonal and what lies above it, which a solve does not read.
static Value keepBelowDiagonal(ValueBuilder &build, Value matrix) {
  OpBuilder &builder = build.getBuilder();
  Value ones = build.constant(1, makeTokens(builder.getContext(), tensorOf(matrix).getDimSize(0), {1}));
  Value mask = InteractionOp::create(builder, build.getLoc(), ones, ones, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{0},
                                     Value(), false);
  return build.map(Function::Select, {mask, matrix, build.number(0)});
}

//===----------------------------------------------------------------------===//
// Interaction, apply, solve, inverse
//===----------------------------------------------------------------------===//

void InteractionOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value rows = tangents.valueOf(getRows()), columns = tangents.valueOf(getColumns()), decay;
  if (getDecay())
    decay = tangents.valueOf(getDecay());
  auto interact = [&](Value rows, Value columns) -> Value {
    if (!rows || !columns)
      return {};
    return InteractionOp::create(builder, getLoc(), rows, columns, getPoints(), getSteps(), decay, getLinear());
  };
  Value tangent = build.add(interact(tangents.of(getRows()), columns), interact(rows, tangents.of(getColumns())));
  if (Value moved = getDecay() ? tangents.of(getDecay()) : Value())
    tangent =
        build.add(tangent, moveInteraction(build, rows, columns, getPoints(), getSteps(), {decay, moved, getLinear()}));
  tangents.set(getResult(), tangent);
}

void ApplyOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value matrix = tangents.valueOf(getMatrix()), values = tangents.valueOf(getValues()), decay;
  if (getDecay())
    decay = tangents.valueOf(getDecay());
  auto apply = [&](Value matrix, Value values) -> Value {
    if (!matrix || !values)
      return {};
    return ApplyOp::create(builder, getLoc(), matrix, values, getPointsAttr(), getStepsAttr(), decay, getLinear());
  };
  Value tangent = build.add(apply(tangents.of(getMatrix()), values), apply(matrix, tangents.of(getValues())));
  if (Value moved = getDecay() ? tangents.of(getDecay()) : Value())
    tangent =
        build.add(tangent, moveApply(build, matrix, values, *getPoints(), *getSteps(), {decay, moved, getLinear()}));
  tangents.set(getResult(), tangent);
}

// (I + L) X = B, so (I + L) dX = dB - dL X.
void SolveOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value matrix = tangents.valueOf(getMatrix()), solution = tangents.valueOf(getResult()), decay;
  if (getDecay())
    decay = tangents.valueOf(getDecay());
  Value right = tangents.of(getValues());
  if (Value moved = tangents.of(getMatrix()))
    right = build.sub(right, ApplyOp::create(builder, getLoc(), keepBelowDiagonal(build, moved), solution,
                                             getPointsAttr(), getStepsAttr(), decay, getLinear()));
  if (Value moved = getDecay() ? tangents.of(getDecay()) : Value())
    right = build.sub(right, moveApply(build, keepBelowDiagonal(build, matrix), solution, *getPoints(), *getSteps(),
                                       {decay, moved, getLinear()}));
  tangents.set(getResult(),
               SolveOp::create(builder, getLoc(), matrix, right, getPointsAttr(), getStepsAttr(), decay, getLinear()));
}

// X + s (L X) = B, so dX + s (L dX) = dB - s (dL X) - ds (L X), with s taken channel by channel.
void ScaledSolveOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value matrix = tangents.valueOf(getMatrix()), scales = tangents.valueOf(getScales()),
        solution = tangents.valueOf(getResult());
  auto gather = [&](Value triangle) -> Value {
    Value below = keepBelowDiagonal(build, triangle);
    if (getReverse())
      return ApplyTransposedOp::create(builder, getLoc(), below, solution, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                       Value(), false);
    return ApplyOp::create(builder, getLoc(), below, solution, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(),
                           false);
  };
  Value right = tangents.of(getValues());
  if (Value moved = tangents.of(getMatrix()))
    right = build.sub(right, build.mul(scales, gather(moved)));
  if (Value moved = tangents.of(getScales()))
    right = build.sub(right, build.mul(moved, gather(matrix)));
  right = build.fit(right, getResult());
  tangents.set(getResult(), ScaledSolveOp::create(builder, getLoc(), matrix, right, scales, getReverse()));
}

// T = X diag(b) with X = (I + L)^-1, so dT = -X dL T + X diag(db).
void InverseOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  Value matrix = tangents.valueOf(getMatrix()), result = tangents.valueOf(getResult()), inverse = result, tangent;
  if (getGain())
    inverse = InverseOp::create(builder, getLoc(), matrix);
  auto multiply = [&](Value a, Value b) -> Value {
    return ApplyOp::create(builder, getLoc(), a, b, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
  };
  if (Value moved = tangents.of(getMatrix()))
    tangent = build.neg(multiply(inverse, multiply(keepBelowDiagonal(build, moved), result)));
  if (Value moved = getGain() ? tangents.of(getGain()) : Value())
    tangent =
        build.add(tangent, InverseOp::create(builder, getLoc(), matrix, build.fit(moved, tangents.valueOf(getGain()))));
  tangents.set(getResult(), tangent);
}

//===----------------------------------------------------------------------===//
// Reads and advances of a state
//===----------------------------------------------------------------------===//

void ReadOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  auto read = [&](Value rows, Value state) -> Value {
    return rows && state ? ReadOp::create(builder, getLoc(), rows, state, getLeft()).getResult() : Value();
  };
  tangents.set(getResult(), build.add(read(tangents.of(getRows()), tangents.valueOf(getState())),
                                      read(tangents.valueOf(getRows()), tangents.of(getState()))));
}

void ReshapeStateOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  Value tangent = tangents.of(getState());
  RankedTensorType from = tensorOf(getState()), to = tensorOf(getResult()), moved = tensorOf(tangent);
  // A matrix becomes the value of one token, or is it no more: so do its directions, of which there may be more. Those
  // of a vector lie as rows already, whatever shape it takes.
  if (from.getNumElements() == moved.getNumElements())
    tangent = ReshapeStateOp::create(builder, getLoc(), to, tangent);
  else if (from.getRank() == 2 && to.getRank() == 3)
    tangent = ValueBuilder(builder, getLoc()).asToken(tangent);
  else if (from.getRank() == 3 && to.getRank() == 2)
    tangent = ValueBuilder(builder, getLoc()).asState(tangent);
  tangents.set(getResult(), tangent);
}

void AdvanceOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  ValueBuilder build(builder, getLoc());
  auto valueOf = [&](Value value) { return value ? tangents.valueOf(value) : value; };
  auto movedOf = [&](Value value) { return value ? tangents.of(value) : value; };
  Value values = tangents.valueOf(getValues()), keys = tangents.valueOf(getKeys());
  Value columns = valueOf(getColumnDecay()), rows = valueOf(getRowDecay());
  int64_t writes = tensorOf(values).getDimSize(0);
  auto nothing = [&](int64_t width) { return build.constant(0, makeTokens(getContext(), writes, {width})); };
  Value tangent = movedOf(getState()), movedValues = movedOf(getValues()), movedKeys = movedOf(getKeys());
  // What decays goes with the first writes, and then there is nothing left to decay.
  auto write = [&](Value written, Value along) {
    if (!tangent)
      tangent = build.stateConstant(
          0, makeTensor(getContext(), {tensorOf(written).getDimSize(1), tensorOf(along).getDimSize(1)}));
    tangent = AdvanceOp::create(builder, getLoc(), tangent, written, along, columns, rows);
    columns = rows = {};
  };
  if (movedValues)
    write(movedValues, keys);
  if (movedKeys)
    write(values, movedKeys);
  if (tangent && (columns || rows))
    write(nothing(tensorOf(tangent).getDimSize(0)), keys);
  // The decays move the state itself.
  auto move = [&](Value ofColumns, Value ofRows) {
    Value moved =
        AdvanceOp::create(builder, getLoc(), tangents.valueOf(getState()), nothing(tensorOf(values).getDimSize(1)),
                          nothing(tensorOf(keys).getDimSize(1)), ofColumns, ofRows);
    tangent = tangent ? build.asState(build.add(build.asToken(tangent), build.asToken(moved))) : moved;
  };
  if (Value moved = movedOf(getColumnDecay()))
    move(moved, valueOf(getRowDecay()));
  if (Value moved = movedOf(getRowDecay()))
    move(valueOf(getColumnDecay()), moved);
  tangents.set(getResult(), tangent);
}
