// The derivatives of an elimination, forward and backward.
//
// Of M = A diag(f) + diag(n) = (I + L) U, with X = (I + L)^-1 dM U^-1: dL = (I + L) lower(X) and dU = upper(X) U, where
// lower(X) has what is strictly below the diagonal. Backward, what M matters is (I + L)^-T G U^-T for what X matters,
// G.
#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur::chunk;

namespace {
/// Builds with the factors of an elimination and with its matrix.
class FactorBuilder {
public:
  FactorBuilder(OpBuilder &builder, Location loc, Value below, Value above, Value columns, Value factors)
      : builder(builder), build(builder, loc), loc(loc), columns(columns), factors(factors) {
    Value ones = build.constant(1, makeTokens(builder.getContext(), tensorOf(factors).getDimSize(0), {1}));
    auto mask = [&](int64_t point) -> Value {
      return InteractionOp::create(builder, loc, ones, ones, ArrayRef<int64_t>{point}, ArrayRef<int64_t>{0}, Value(),
                                   false);
    };
    isLower = mask(0);
    isLowerOrDiagonal = mask(1);
    identity = build.sub(isLowerOrDiagonal, isLower);
    upperFactor = upper(factors);
    whole = join(below, above);
  }

  Value lower(Value matrix) { return matrix ? build.select(isLower, matrix, Value()) : matrix; }
  Value upper(Value matrix) { return matrix ? build.select(isLower, Value(), matrix) : matrix; }
  Value lowerOrDiagonal(Value matrix) { return build.select(isLowerOrDiagonal, matrix, Value()); }
  /// The matrix that has the lower triangle of one matrix and mirrors that of the other. Null is zero.
  Value join(Value below, Value above) {
    return build.select(isLowerOrDiagonal, below, above ? transpose(above) : above);
  }
  Value diagonal(Value matrix) { return build.map(Function::Sum, build.select(identity, matrix, Value())); }
  Value multiply(Value a, Value b) {
    if (!a || !b)
      return {};
    return ApplyOp::create(builder, loc, a, b, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
  }
  Value multiplyTransposed(Value a, Value b) {
    if (!a || !b)
      return {};
    return ApplyTransposedOp::create(builder, loc, a, b, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
  }
  Value transpose(Value matrix) { return multiplyTransposed(matrix, identity); }
  Value scaleColumns(Value matrix, Value numbers) { return multiply(matrix, build.mul(numbers, identity)); }
  /// matrix U^-T. U is diag(p) times a unit triangle, and so is what its transpose is solved by.
  Value divideByTransposedUpper(Value matrix) {
    Value reciprocal = build.map(Function::Div, {build.number(1), diagonal(factors)});
    Value unit = InverseOp::create(builder, loc, transpose(build.mul(reciprocal, upperFactor)));
    return multiply(matrix, build.mul(reciprocal, unit));
  }
  /// matrix U^-1.
  Value divideByUpper(Value matrix) {
    Value inverseTransposed = divideByTransposedUpper(identity);
    return multiply(matrix, transpose(inverseTransposed));
  }

  OpBuilder &builder;
  ValueBuilder build;
  Location loc;
  Value columns, factors;
  Value isLower, isLowerOrDiagonal, identity;
  Value upperFactor; ///< U
  Value whole;       ///< the matrix, with both triangles
};
} // namespace

void EliminateOp::buildTangent(OpBuilder &builder, Tangents &tangents) {
  FactorBuilder f(builder, getLoc(), tangents.valueOf(getLower()), tangents.valueOf(getUpper()),
                  tangents.valueOf(getColumns()), tangents.valueOf(getResult()));
  Value moved;
  if (Value matrix = f.join(tangents.of(getLower()), tangents.of(getUpper())))
    moved = f.scaleColumns(matrix, f.columns);
  if (Value columns = tangents.of(getColumns()))
    moved = f.build.add(moved, f.scaleColumns(f.whole, f.build.fit(columns, f.columns)));
  if (Value diagonal = tangents.of(getDiagonal()))
    moved = f.build.add(moved, f.build.mul(f.build.fit(diagonal, f.columns), f.identity));
  Value x = f.divideByUpper(
      SolveOp::create(builder, getLoc(), f.factors, moved, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false));
  Value below = f.lower(x);
  Value ofLower = f.lower(f.build.add(below, f.multiply(f.lower(f.factors), below)));
  tangents.set(getResult(), f.build.add(ofLower, f.upper(f.multiply(f.upper(x), f.upperFactor))));
}

LogicalResult EliminateOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  FactorBuilder f(builder, getLoc(), getLower(), getUpper(), getColumns(), getResult());
  ValueBuilder &build = f.build;
  Value d = adjoints.of(getResult()), ofLower = f.lower(d);
  Value below = f.lower(build.add(ofLower, f.multiplyTransposed(f.lower(f.factors), ofLower)));
  Value above = f.upper(f.multiply(f.upper(d), f.transpose(f.upperFactor)));
  Value moved = SolveTransposedOp::create(builder, getLoc(), f.factors, build.add(below, above), DenseI64ArrayAttr(),
                                          DenseI64ArrayAttr(), Value(), false);
  moved = f.divideByTransposedUpper(moved);
  adjoints.add(build, getDiagonal(), f.diagonal(moved));
  Value ones = build.constant(1, makeTokens(getContext(), tensorOf(d).getDimSize(0), {1}));
  adjoints.add(build, getColumns(), build.map(Function::Sum, f.multiplyTransposed(build.mul(moved, f.whole), ones)));
  Value matrix = f.scaleColumns(moved, f.columns);
  adjoints.add(build, getLower(), f.lowerOrDiagonal(matrix));
  adjoints.add(build, getUpper(), f.lower(f.transpose(matrix)));
  return success();
}
