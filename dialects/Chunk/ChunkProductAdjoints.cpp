// Adjoints of decays, interactions, solves, and of reads and advances of states.
#include "dialects/Chunk/ChunkAdjoints.h"

using namespace mlir;
using namespace recur::chunk;

namespace {
/// Which writes the rows of a matrix see.
struct Mask {
  SmallVector<int64_t> points, steps;

  /// Whether row `row` of a token sees its token's write `write`.
  bool sees(int64_t row, int64_t write) const { return seesWrite(points[row], steps[write]); }
  /// The same with `count` rows and writes a token, where each of them is a token of its own here.
  Mask group(unsigned count) const {
    if (points.size() != 1 || steps.size() != 1 || points[0] < 0 || points[0] > 1 || steps[0] != 0)
      return *this;
    Mask grouped;
    for (unsigned i = 0; i < count; ++i) {
      grouped.points.push_back(i + points[0]);
      grouped.steps.push_back(i);
    }
    return grouped;
  }
  bool isWithin(const Mask &other) const {
    Mask own = other.points.size() == other.steps.size() ? group(other.points.size()) : *this;
    if (own.points.size() != other.points.size() || own.steps.size() != other.steps.size())
      return false;
    for (unsigned row = 0; row < own.points.size(); ++row)
      for (unsigned write = 0; write < own.steps.size(); ++write)
        if (own.sees(row, write) && !other.sees(row, write))
          return false;
    return true;
  }
};
} // namespace

static Mask maskOf(ArrayRef<int64_t> points, ArrayRef<int64_t> steps) {
  return {SmallVector<int64_t>(points), SmallVector<int64_t>(steps)};
}
/// The mask of the elements strictly below the diagonal, where each row is taken as a token.
static Mask belowDiagonal() { return {{0}, {0}}; }

/// A mask outside of which the matrix is zero, if one is known.
static std::optional<Mask> findMask(Value matrix) {
  if (auto interaction = matrix.getDefiningOp<InteractionOp>())
    return maskOf(interaction.getPoints(), interaction.getSteps());
  if (matrix.getDefiningOp<InverseOp>())
    return Mask{{1}, {0}};
  // Rows of a triangle gather rows up to their own token's.
  auto throughTriangle = [](std::optional<Mask> mask, size_t rowsPerToken) {
    if (mask)
      mask->points.assign(rowsPerToken, int64_t(mask->steps.size()));
    return mask;
  };
  if (auto applied = matrix.getDefiningOp<ApplyOp>()) {
    std::optional<Mask> triangle = findMask(applied.getMatrix());
    return triangle ? throughTriangle(findMask(applied.getValues()), triangle->points.size()) : std::nullopt;
  }
  if (auto solve = matrix.getDefiningOp<SolveOp>()) {
    std::optional<Mask> mask = findMask(solve.getValues());
    return throughTriangle(mask, mask ? mask->points.size() : 0);
  }
  if (auto interleaved = matrix.getDefiningOp<InterleaveOp>()) {
    std::optional<Mask> all;
    for (Value part : interleaved.getOperands()) {
      std::optional<Mask> mask = findMask(part);
      if (!mask || mask->points.size() != 1 || (all && all->steps != mask->steps))
        return std::nullopt;
      if (all)
        all->points.push_back(mask->points[0]);
      else
        all = mask;
    }
    return all;
  }
  if (auto part = matrix.getDefiningOp<DeinterleaveOp>()) {
    std::optional<Mask> all = findMask(part.getOperand());
    if (!all || all->points.size() != size_t(part.getSteps()))
      return std::nullopt;
    return Mask{{all->points[part.getStep()]}, all->steps};
  }
  auto map = matrix.getDefiningOp<MapOp>();
  if (!map)
    return std::nullopt;
  auto isMatrix = [&](Value value) { return value.getType() == map.getType(); };
  switch (map.getFunction()) {
  case Function::Neg:
    return findMask(map.getOperands()[0]);
  case Function::Mul:
    for (Value operand : map.getOperands())
      if (isMatrix(operand))
        if (std::optional<Mask> mask = findMask(operand))
          return mask;
    return std::nullopt;
  case Function::Div:
    return isMatrix(map.getOperands()[0]) ? findMask(map.getOperands()[0]) : std::nullopt;
  case Function::Select:
    return isMatrix(map.getOperands()[0]) && constantNumber(map.getOperands()[2]) == 0.0
               ? findMask(map.getOperands()[0])
               : std::nullopt;
  case Function::Add:
  case Function::Sub: {
    if (!isMatrix(map.getOperands()[0]) || !isMatrix(map.getOperands()[1]))
      return std::nullopt;
    std::optional<Mask> a = findMask(map.getOperands()[0]), b = findMask(map.getOperands()[1]);
    if (!a || !b)
      return std::nullopt;
    return a->isWithin(*b) ? b : b->isWithin(*a) ? a : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

namespace {
/// Builds products with the decay of an op, or without one.
class ProductBuilder {
public:
  ProductBuilder(OpBuilder &builder, Location loc, Value decay, bool linear)
      : builder(builder), loc(loc), decay(decay), linear(linear) {}

  Value interact(Value rows, Value columns, const Mask &mask, bool decays) {
    return InteractionOp::create(builder, loc, rows, columns, mask.points, mask.steps, decays ? decay : Value(),
                                 decays && linear);
  }
  template <typename OpType> Value product(Value matrix, Value values, const Mask &mask, bool decays) {
    if (!decays || !decay)
      return OpType::create(builder, loc, matrix, values, DenseI64ArrayAttr(), DenseI64ArrayAttr(), Value(), false);
    return OpType::create(builder, loc, matrix, values, builder.getDenseI64ArrayAttr(mask.points),
                          builder.getDenseI64ArrayAttr(mask.steps), decay, linear);
  }
  Value decayCotangent(Value matrix, Value rows, Value columns, const Mask &mask) {
    return DecayCotangentOp::create(builder, loc, matrix, rows, columns, mask.points, mask.steps, decay, linear);
  }
  /// One where a row sees a write, or the decay between the two; zero elsewhere.
  Value decayMatrix(Value matrix, const Mask &mask) {
    auto ones = [&](unsigned side) -> Value {
      return ConstantOp::create(builder, loc, 1.0,
                                makeTokens(builder.getContext(), tensorOf(matrix).getDimSize(side), {1}));
    };
    return interact(ones(0), ones(1), mask, /*decays=*/true);
  }

private:
  OpBuilder &builder;
  Location loc;
  Value decay;
  bool linear;
};
} // namespace

Value recur::chunk::buildLastRow(ValueBuilder &build, Value matrix, Value row) {
  std::optional<Mask> mask = findMask(matrix);
  if (!mask)
    return {};
  OpBuilder &builder = build.getBuilder();
  RankedTensorType numbers = makeTensor(builder.getContext(), {tensorOf(matrix).getDimSize(0)});
  Value one = build.stateConstant(1, makeTensor(builder.getContext(), {}));
  Value last = FollowingOp::create(builder, build.getLoc(), one, build.constant(0, numbers)).getAll();
  return ProductBuilder(builder, build.getLoc(), Value(), false)
      .interact(build.column(last), build.column(row), *mask, /*decays=*/false);
}

//===----------------------------------------------------------------------===//
// Interaction, apply, solve, inverse
//===----------------------------------------------------------------------===//

LogicalResult InteractionOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  ProductBuilder products(builder, getLoc(), getDecay(), getLinear()), plain(builder, getLoc(), Value(), false);
  Mask mask = maskOf(getPoints(), getSteps());
  Value d = adjoints.of(getResult());
  // What lies outside of the mask is no part of the result, and is left out before anything is multiplied.
  std::optional<Mask> known = findMask(d);
  if (!known || !known->isWithin(mask))
    d = build.select(plain.decayMatrix(d, mask), d, Value());
  if (getDecay())
    adjoints.add(build, getDecay(), products.decayCotangent(d, getRows(), getColumns(), mask));
  // One decay for all channels is a factor of the matrix; the products are then ordinary ones.
  bool byChannel = getDecay() && tensorOf(getDecay()).getRank() > 1;
  if (getDecay() && !byChannel) {
    // The decay's cotangent takes the matrix as it is, so that it is made anyway, but for a decay that has none.
    auto made = d.getDefiningOp<InteractionOp>();
    if (made && !made.getDecay() && made.getPoints() == getPoints() && made.getSteps() == getSteps() &&
        getDecay().getDefiningOp<ConstantOp>())
      d = products.interact(made.getRows(), made.getColumns(), mask, /*decays=*/true);
    else
      d = build.mul(products.decayMatrix(d, mask), d);
  }
  adjoints.add(build, getRows(), products.product<ApplyOp>(d, getColumns(), mask, byChannel));
  adjoints.add(build, getColumns(), products.product<ApplyTransposedOp>(d, getRows(), mask, byChannel));
  return success();
}

LogicalResult ApplyOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  ProductBuilder products(builder, getLoc(), getDecay(), getLinear());
  Value d = adjoints.of(getResult());
  std::optional<Mask> mask = getDecay() ? maskOf(*getPoints(), *getSteps()) : findMask(getMatrix());
  if (getDecay())
    adjoints.add(build, getDecay(), products.decayCotangent(getMatrix(), d, getValues(), *mask));
  // Where nothing is known to be zero, every row looks at every value.
  if (mask)
    adjoints.add(build, getMatrix(), products.interact(d, getValues(), *mask, /*decays=*/true));
  else
    adjoints.add(build, getMatrix(), ReadOp::create(builder, getLoc(), d, getValues(), /*left=*/false));
  adjoints.add(build, getValues(), products.product<ApplyTransposedOp>(getMatrix(), d, mask.value_or(Mask()), true));
  return success();
}

/// A number that is never zero, and what it is where that is not nearly zero.
static Value findGiven(Value number) {
  auto choice = number.getDefiningOp<MapOp>();
  bool isChosen =
      choice && choice.getFunction() == Function::Select && constantNumber(choice.getOperands()[2]) == smallestScale;
  return isChosen ? choice.getOperands()[1] : Value();
}

namespace {
/// A system of which each row is multiplied by a number that is not zero, its value too.
struct ScaledSystem {
  Value scale, given, matrix, values; // `given` is the number as it was before it was kept from zero
  explicit operator bool() const { return bool(scale); }
};
} // namespace

static ScaledSystem matchScaledSystem(SolveOp op) {
  auto [scale, matrix, values] = findCommonScale(op);
  Value given = scale ? findGiven(scale) : Value();
  return given ? ScaledSystem{scale, given, matrix, values} : ScaledSystem();
}

CommonScale recur::chunk::findCommonScale(SolveOp op) {
  auto matrix = op.getMatrix().getDefiningOp<MapOp>(), values = op.getValues().getDefiningOp<MapOp>();
  if (!matrix || !values || matrix.getFunction() != Function::Mul || values.getFunction() != Function::Mul)
    return {};
  for (auto [a, b] : {std::pair(0, 1), {1, 0}})
    for (auto [c, d] : {std::pair(0, 1), {1, 0}})
      if (Value scale = matrix.getOperands()[a]; scale == values.getOperands()[c] && tensorOf(scale).getRank() == 1 &&
                                                 matrix.getOperands()[b].getType() == matrix.getType() &&
                                                 values.getOperands()[d].getType() == values.getType())
        return {scale, matrix.getOperands()[b], values.getOperands()[d]};
  return {};
}

Value recur::chunk::keepFromZero(ValueBuilder &build, Value number) {
  Value above = build.sub(build.map(Function::Abs, number), build.number(smallestScale));
  return build.map(Function::Select, {above, number, build.number(smallestScale)});
}

// (I + L) X = B, so dB = (I + L)^-T dX, and L matters as -dB X^T does below the diagonal.
//
// Where both have a factor for each row, L = s M and B = s V, it matters as dB times V - M X does. These two may be far
// larger than their difference, which is X / s.
LogicalResult SolveOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  ProductBuilder products(builder, getLoc(), getDecay(), getLinear());
  Mask mask = belowDiagonal();
  if (getDecay()) {
    mask = maskOf(*getPoints(), *getSteps());
    if (mask.points.size() != mask.steps.size() || !llvm::is_sorted(mask.steps, std::less_equal<int64_t>()))
      return emitOpError("has no adjoint: its decay needs the writes of a token in the order of its rows");
    for (auto [point, step] : llvm::zip(mask.points, mask.steps))
      point = std::min(point, step); // the diagonal and what lies above it are not read
  }
  Value solved = products.product<SolveTransposedOp>(getMatrix(), adjoints.of(getResult()), mask, true);
  if (ScaledSystem system = matchScaledSystem(*this)) {
    Value ofValues = build.mul(system.scale, solved), negated = build.neg(ofValues);
    adjoints.add(build, system.values, ofValues);
    adjoints.add(build, system.matrix, products.interact(negated, getResult(), mask, /*decays=*/true));
    adjoints.add(build, system.given,
                 build.map(Function::Div, {build.map(Function::Dot, {solved, getResult()}), system.scale}));
    if (getDecay())
      adjoints.add(build, getDecay(), products.decayCotangent(system.matrix, negated, getResult(), mask));
    return success();
  }
  Value negated = build.neg(solved);
  adjoints.add(build, getValues(), solved);
  adjoints.add(build, getMatrix(), products.interact(negated, getResult(), mask, /*decays=*/true));
  if (getDecay())
    adjoints.add(build, getDecay(), products.decayCotangent(getMatrix(), negated, getResult(), mask));
  return success();
}

// X + s (L X) = B. What B matters as is D = dX - L^T (s D), so s D is a solve by the same scales from the last row to
// the first; s matters as -D (L X), and L as -(s D) X^T does below the diagonal.
LogicalResult ScaledSolveOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (getReverse())
    return emitOpError("has no adjoint: it is part of one already");
  ValueBuilder build(builder, getLoc());
  ProductBuilder products(builder, getLoc(), Value(), false);
  Value d = adjoints.of(getResult());
  Value scaled = ScaledSolveOp::create(builder, getLoc(), getMatrix(), build.mul(getScales(), d), getScales(),
                                       /*reverse=*/true);
  Value ones = build.constant(1, makeTokens(getContext(), tensorOf(getMatrix()).getDimSize(0), {1}));
  Value mask = products.interact(ones, ones, belowDiagonal(), false);
  Value below = build.map(Function::Select, {mask, getMatrix(), build.number(0)});
  Value solved = build.sub(d, products.product<ApplyTransposedOp>(below, scaled, Mask(), false));
  adjoints.add(build, getValues(), solved);
  adjoints.add(build, getScales(),
               build.neg(build.mul(solved, products.product<ApplyOp>(below, getResult(), Mask(), false))));
  adjoints.add(build, getMatrix(), products.interact(build.neg(scaled), getResult(), belowDiagonal(), false));
  return success();
}

// T = X diag(b) with X = (I + L)^-1, so L matters as -X^T dT T^T does below the diagonal, and b as the diagonal of X^T
// dT.
LogicalResult InverseOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  ProductBuilder products(builder, getLoc(), Value(), false);
  Value inverse = getGain() ? InverseOp::create(builder, getLoc(), getMatrix()).getResult() : getResult();
  Value left = products.product<ApplyTransposedOp>(inverse, adjoints.of(getResult()), Mask(), false);
  adjoints.add(build, getMatrix(), products.interact(build.neg(left), getResult(), belowDiagonal(), false));
  if (getGain()) {
    Value diagonal = build.sub(products.decayMatrix(left, Mask{{1}, {0}}), products.decayMatrix(left, belowDiagonal()));
    adjoints.add(build, getGain(), build.map(Function::Sum, build.select(diagonal, left, Value())));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decays from and to the chunk's ends
//===----------------------------------------------------------------------===//

// A logarithm matters to each range that it is in as the range's whole product does: so sums of products, that run from
// the tokens whose ranges have it.
static Value buildCotangentOfLogarithms(ValueBuilder &build, CumulativeDecayOp op, Value cotangent) {
  OpBuilder &builder = build.getBuilder();
  Value products = build.mul(cotangent, op.getResult());
  Value zero = build.stateConstant(0, makeTensor(builder.getContext(), shapePerToken(op.getDecay())));
  switch (op.getRange()) {
  case DecayRange::Through:
    return ReverseScanOp::create(builder, build.getLoc(), zero, products, Value(), false).getAll();
  case DecayRange::Before: {
    Value later = FollowingOp::create(builder, build.getLoc(), zero, products).getAll();
    return ReverseScanOp::create(builder, build.getLoc(), zero, later, Value(), false).getAll();
  }
  case DecayRange::After: {
    Value earlier = PreviousOp::create(builder, build.getLoc(), zero, products);
    return ScanOp::create(builder, build.getLoc(), zero, earlier, Value(), false).getAll();
  }
  case DecayRange::Total:
    return build.mul(products, build.constant(1, tensorOf(op.getDecay())));
  }
  llvm_unreachable("not a range");
}

// Each step matters as the product of the other steps of each range that it is in: of those before it and those behind.
LogicalResult CumulativeDecayOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value d = adjoints.of(getResult()), steps = getDecay();
  if (!getLinear()) {
    adjoints.add(build, steps, buildCotangentOfLogarithms(build, *this, d));
    return success();
  }
  RankedTensorType state = makeTensor(getContext(), shapePerToken(steps));
  auto cumulate = [&](DecayRange range) -> Value {
    return CumulativeDecayOp::create(builder, getLoc(), range, steps, /*linear=*/true);
  };
  auto zero = [&] { return build.stateConstant(0, state); };
  Value others;
  switch (getRange()) {
  case DecayRange::Through: // sum over t >= s of d_t * (the steps after s up to t)
    others = ReverseScanOp::create(builder, getLoc(), zero(), d, steps, true).getAll();
    break;
  case DecayRange::Before: { // sum over t > s of d_t * (the steps after s before t)
    Value later = FollowingOp::create(builder, getLoc(), zero(), d).getAll();
    others = ReverseScanOp::create(builder, getLoc(), zero(), later, steps, true).getAll();
    break;
  }
  case DecayRange::After: { // sum over t < s of d_t * (the steps after t before s)
    Value earlier = PreviousOp::create(builder, getLoc(), zero(), d);
    Value moved = PreviousOp::create(builder, getLoc(), zero(), steps);
    others = ScanOp::create(builder, getLoc(), zero(), earlier, moved, true).getAll();
    break;
  }
  case DecayRange::Total:
    others = build.mul(d, cumulate(DecayRange::After));
    break;
  }
  Value rest = cumulate(getRange() == DecayRange::After ? DecayRange::After : DecayRange::Before);
  adjoints.add(build, steps, build.mul(rest, others));
  return success();
}

//===----------------------------------------------------------------------===//
// Reads and advances of a state
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value d = adjoints.of(getResult());
  adjoints.add(build, getRows(), ReadOp::create(builder, getLoc(), d, getState(), !getLeft()));
  if (getLeft())
    adjoints.addWrite(build, getState(), getRows(), d);
  else
    adjoints.addWrite(build, getState(), d, getRows());
  return success();
}

LogicalResult ReshapeStateOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  adjoints.addToState(build, getState(),
                      ReshapeStateOp::create(builder, getLoc(), getState().getType(), adjoints.of(getResult())));
  return success();
}

LogicalResult AdvanceOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  ValueBuilder build(builder, getLoc());
  Value d = adjoints.of(getResult());
  adjoints.add(build, getValues(), ReadOp::create(builder, getLoc(), getKeys(), d, /*left=*/false));
  adjoints.add(build, getKeys(), ReadOp::create(builder, getLoc(), getValues(), d, /*left=*/true));
  if (!getColumnDecay() && !getRowDecay()) {
    adjoints.addToState(build, getState(), d);
    return success();
  }
  adjoints.addToState(build, getState(),
                      AdvanceOp::create(builder, getLoc(), d, build.constant(0, tensorOf(getValues())),
                                        build.constant(0, tensorOf(getKeys())), getColumnDecay(), getRowDecay()));
  // A factor of columns matters as the state and its cotangent go together in them, where the rows have decayed.
  auto scale = [&](Function function, Value matrix, Value factor) {
    if (!factor)
      return matrix;
    if (tensorOf(factor).getRank() == 1)
      return build.mul(factor, matrix);
    return function == Function::ScaleRows ? build.map(function, {factor, matrix})
                                           : build.map(function, {matrix, factor});
  };
  Value together = build.mul(build.asToken(d), build.asToken(getState()));
  auto ones = [&](unsigned side) {
    return build.constant(1, makeTokens(getContext(), 1, {tensorOf(getState()).getDimSize(side)}));
  };
  if (getColumnDecay())
    adjoints.add(build, getColumnDecay(),
                 build.map(Function::Vecmat, {ones(0), scale(Function::ScaleRows, together, getRowDecay())}));
  if (getRowDecay())
    adjoints.add(build, getRowDecay(),
                 build.map(Function::Matvec, {scale(Function::ScaleCols, together, getColumnDecay()), ones(1)}));
  return success();
}
