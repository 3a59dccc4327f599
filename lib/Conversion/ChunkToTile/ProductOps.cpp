// Products with matrices of tokens and with states, and triangular solves.
#include "Conversion/ChunkToTile/Planner.h"
#include "dialects/Tile/RegisterTiles.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

ProductOp Planner::product(Value left, bool transposed, Value right, Value result, Value rows, Value inner) {
  auto op = ProductOp::create(builder, loc, left, right, result, rows, inner);
  op.setTransposed(transposed);
  return op;
}

/// The columns of an interaction as the right factor of a product.
Value Planner::transposedColumns(Value columns) {
  Value &known = shared.transposed[columns];
  if (!known) {
    Value tile = get(columns);
    known = transpose(tile, rowsOf(tile));
  }
  return known;
}

std::optional<Planner::Start> Planner::startOf(chunk::ApplyOp op) {
  if (inTokenLoop || op.getDecay() || !op.getResult().hasOneUse())
    return std::nullopt;
  auto sum = dyn_cast<chunk::MapOp>(*op->user_begin());
  if (!sum || sum.getFunction() != chunk::Function::Add || sum->getBlock() != op->getBlock())
    return std::nullopt;
  Type type = op.getResult().getType();
  Value rows = sum.getOperands()[sum.getOperands()[0] == op.getResult()], scale;
  auto scaled = rows.getDefiningOp<chunk::MapOp>();
  if (scaled && scaled.getFunction() == chunk::Function::Mul && rows.hasOneUse())
    for (auto [a, b] : {std::pair(0, 1), {1, 0}})
      if (Value factor = scaled.getOperands()[a];
          chunk::tensorOf(factor).getRank() == 1 && scaled.getOperands()[b].getType() == type &&
          (tiles.contains(factor) || chunk::constantNumber(factor) || factor.getDefiningOp<chunk::TakeOp>()))
        scale = factor, rows = scaled.getOperands()[b];
  // The rows are spent: nothing else reads them, and they were read by now.
  if (!rows.getDefiningOp<chunk::ReadOp>() || !rows.hasOneUse() || !tiles.contains(rows) || rows.getType() != type ||
      sum.getResult().getType() != type)
    return std::nullopt;
  if (!passes.assign(sum, sum) || (scale && !passes.assign(scaled, sum)))
    return std::nullopt; // it is computed elsewhere
  sumsOfStarts.insert(sum);
  return Start{rows, scale, sum};
}

/// A product adds what is there already. On a core that is done with other maps in a pass over the elements.
chunk::MapOp Planner::findSum(Value product) {
  if (!machine.isCTA() || inTokenLoop || !product.hasOneUse())
    return {};
  auto sum = dyn_cast<chunk::MapOp>(*product.user_begin());
  if (!sum || sum.getFunction() != chunk::Function::Add || sum->getBlock() != product.getParentBlock() ||
      passes.of(sum) != sum.getOperation())
    return {};
  Value other = sum.getOperands()[sum.getOperands()[0] == product ? 1 : 0];
  Operation *maker = other.getDefiningOp();
  bool isThere = tiles.contains(other) || isa_and_nonnull<chunk::TakeOp>(maker);
  return isThere && other != product && other.getType() == sum.getResult().getType() ? sum : chunk::MapOp();
}

void Planner::plan(chunk::ApplyOp op) {
  if (tiles.contains(op)) // made with the cotangent of its decay
    return;
  std::optional<analysis::Triangle> triangle = structure.findTriangle(op.getMatrix());
  std::optional<Start> start = startOf(op);
  bool isInParts = takesPairs(op) && isInTwoParts(op.getValues());
  Value result = start       ? get(start->rows)
                 : isInParts ? make(op)
                             : makeResult(op),
        startScale = start && start->scale ? get(start->scale) : Value();
  auto begin = [&](ProductOp product) {
    if (start)
      product.getPlusMutable().assign(result);
    if (startScale)
      product.getRowScaleMutable().assign(startScale);
    return product;
  };
  if (start)
    set(start->sum.getResult(), result);
  if (takesPairs(op)) {
    Value rows = rowsOf(chunk::tensorOf(op.getValues()).getShape()[0]), left = rounded(op.getMatrix());
    begin(product(left, false, paired(op.getValues(), rows), result, rowsOf(result), rows))
        .setLeftTriangle(ArrayRef<int64_t>{triangle->rowsPerToken, triangle->columnsPerToken});
    if (isInParts) {
      ProductOp rest = product(left, false, roundedOff(op.getValues()), result, rowsOf(result), rows);
      rest.setLeftTriangle(ArrayRef<int64_t>{triangle->rowsPerToken, triangle->columnsPerToken});
      rest.getPlusMutable().assign(result);
    }
    return;
  }
  Value matrix = get(op.getMatrix()), values = get(op.getValues());
  if (op.getDecay()) {
    Value steps = factors(op.getDecay(), op.getLinear());
    ScaledSumsOp::create(builder, loc, matrix, values, steps, result, rowsOf(result), nullptr,
                         builder.getDenseI64ArrayAttr(*op.getPoints()), builder.getDenseI64ArrayAttr(*op.getSteps()));
    return;
  }
  ProductOp gathered = begin(product(matrix, false, values, result, rowsOf(result), rowsOf(values)));
  if (triangle)
    gathered.setLeftTriangle(ArrayRef<int64_t>{triangle->rowsPerToken, triangle->columnsPerToken});
  gathered.setLeftExchanged(isPrecise(op.getMatrix()));
  gathered.setTf32(roundsInProduct(op));
}

void Planner::plan(chunk::SolveOp op) {
  Value matrix = get(op.getMatrix()), values = get(op.getValues()), result = values;
  // Solved in place where nobody else looks at the right-hand side, which is a tile of its own if a map made it.
  auto producer = op.getValues().getDefiningOp<chunk::MapOp>();
  if (producer && op.getValues().hasOneUse() && producer->getBlock() == op->getBlock()) {
    set(op, values);
  } else {
    result = make(op);
    copy(values, result, rowsOf(result));
  }
  if (op.getDecay()) {
    Value steps = factors(op.getDecay(), op.getLinear());
    ScaledSumsOp::create(builder, loc, matrix, result, steps, result, rowsOf(result), builder.getUnitAttr(),
                         builder.getDenseI64ArrayAttr(*op.getPoints()), builder.getDenseI64ArrayAttr(*op.getSteps()));
    return;
  }
  SolveOp::create(builder, loc, matrix, result, rowsOf(result));
}

/// By blocks of rows on a core; a row at a time where there is no op for that.
void Planner::plan(chunk::ScaledSolveOp op) {
  Value result = make(op);
  if (machine.isCTA() || op.getReverse())
    return solveRowByRow(op, result);
  ScaledSolveOp::create(builder, loc, get(op.getMatrix()), get(op.getValues()), get(op.getScales()), result,
                        rowsOf(result));
}

void Planner::plan(chunk::EliminateOp op) {
  Value lower = get(op.getLower()), upper = transposedColumns(op.getUpper()), result = make(op);
  map({lower, upper, {get(op.getColumns()), {1}}, {get(op.getDiagonal()), {1}}}, result, rowsOf(result),
      [](Scalars &s, ValueRange x) {
        Value scaled = s.mul(s.select(s.below(s.index(0), s.index(1)), x[1], x[0]), x[2]);
        return s.select(s.equal(s.index(0), s.index(1)), s.add(scaled, x[3]), scaled);
      });
  if (machine.isCTA())
    return eliminateByPasses(result);
  EliminateOp::create(builder, loc, result, rowsOf(result));
}

/// Each step takes from all rows what the pivot's row explains of them. The columns are rows of the transposed matrix,
/// which loses the same. Of rows and columns that are done no more is looked at, whatever is taken from them.
void Planner::eliminateByPasses(Value matrix) {
  int64_t size = tileOf(matrix).getSize(0);
  Value count = rowsOf(matrix), columns = transpose(matrix, count), above = alloc({size, size}),
        below = alloc({size, size});
  // Rows behind the last are taken along in the transposed matrix, which has them as columns.
  Value all = constant(size), pivotRow = alloc({size}), multipliers = alloc({size});
  {
    auto loop = scf::ForOp::create(builder, loc, constant(0), count, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value step = loop.getInductionVar(), row = rowOf(matrix, step);
    Value pivot = view(row, {1}, {1}, 0, step);
    copy(row, pivotRow, all);
    map({rowOf(columns, step), {pivot, {0}}}, multipliers, all,
        [](Scalars &s, ValueRange x) { return s.div(x[0], x[1]); });
    copy(pivotRow, rowOf(above, step), all);
    copy(multipliers, rowOf(below, step), all);
    map({matrix, {multipliers, {0}}, {pivotRow, {1}}}, matrix, count,
        [](Scalars &s, ValueRange x) { return s.sub(x[0], s.mul(x[1], x[2])); });
    map({columns, {pivotRow, {0}}, {multipliers, {1}}}, columns, all,
        [](Scalars &s, ValueRange x) { return s.sub(x[0], s.mul(x[1], x[2])); });
  }
  Value left = transpose(below, count);
  map({above, left}, matrix, count,
      [](Scalars &s, ValueRange x) { return s.select(s.below(s.index(1), s.index(0)), x[1], x[0]); });
}

void Planner::plan(chunk::InverseOp op) {
  Value matrix = get(op.getMatrix());
  auto give = op.getResult().hasOneUse() ? dyn_cast<chunk::GiveOp>(*op->user_begin()) : chunk::GiveOp();
  if (give && give.getPrecise() && machine.isCTA() && isInvertedByBlocks(tileOf(matrix).getSize(0))) {
    Value result = make(op);
    InvertOp::create(builder, loc, matrix, result, rowsOf(result), Value()).setExchanged(true);
    return;
  }
  constexpr int64_t blockRows = 16;
  int64_t size = tileOf(matrix).getSize(0);
  if (machine.isCTA() && program.hasTF32Factors() && !op.getGain() && isInvertedByBlocks(size) && size > blockRows) {
    InvertOp::create(builder, loc, matrix, make(op), rowsOf(matrix), Value());
    return;
  }
  // Rounded at once, so that what it multiplies may lie where the matrix was.
  bool isRounded = isFactorOnly(op);
  if (isRounded && isInvertedByBlocks(tileOf(matrix).getSize(0))) {
    Value result = makeRounded(op);
    InvertOp::create(builder, loc, matrix, result, rowsOf(result), op.getGain() ? get(op.getGain()) : Value());
    return;
  }
  Value result = make(op);
  map({}, result, rowsOf(result),
      [](Scalars &s, ValueRange) { return s.select(s.equal(s.index(0), s.index(1)), s.number(1), s.number(0)); });
  SolveOp::create(builder, loc, matrix, result, rowsOf(result));
  if (op.getGain()) // zeros stay, whatever later tokens' gains are
    map({result, {get(op.getGain()), {1}}}, result, rowsOf(result), [](Scalars &s, ValueRange x) {
      Value isLater = s.below(s.index(0), s.index(1));
      return s.select(isLater, s.number(0), s.mul(x[0], x[1]));
    });
  if (isRounded)
    rounded(op);
}

void Planner::plan(chunk::ReadOp op) {
  bool transposed = isTransposed(op.getState()), otherWay = transposed == op.getLeft();
  int64_t inner = chunk::tensorOf(op.getRows()).getShape().back();
  if (machine.isCTA()) { // the matrix units take both
    bool pairs = takesPairs(op);
    chunk::MapOp sum = findSum(op);
    Value made = sum ? sum.getResult() : op.getResult(), result = makeResult(made);
    Value rows = pairs ? rounded(op.getRows()) : get(op.getRows());
    Value state = pairs ? rounded(op.getState()) : get(op.getState());
    ProductOp read = product(rows, false, state, result, rowsOf(result), constant(inner));
    read.setRightTransposed(!op.getLeft());
    read.setTf32(roundsInProduct(op));
    if (sum) {
      Value other = sum.getOperands()[sum.getOperands()[0] == op.getResult() ? 1 : 0];
      auto left = other.getDefiningOp<chunk::TakeOp>();
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(read);
      read.getPlusMutable().assign(left && left.getRounded() && factorType ? rounded(other) : get(other));
      planned.insert(sum);
    }
    return;
  }
  Value result = make(op);
  if (!otherWay && takesPairs(op)) {
    product(rounded(op.getRows()), false, paired(op.getState(), constant(inner)), result, rowsOf(result),
            constant(inner));
    return;
  }
  Value rows = get(op.getRows()), state = get(op.getState());
  if (otherWay) {
    Value &known = shared.transposed[op.getState()];
    if (!known)
      known = transpose(state, constant(tileOf(state).getSize(0)));
    state = known;
  }
  product(rows, false, state, result, rowsOf(result), constant(tileOf(rows).getSize(1)));
}

void Planner::plan(chunk::AdvanceOp op) {
  Value state = get(op.getState());
  Value rowScale = op.getRowDecay() ? dropTokens(get(op.getRowDecay())) : Value();
  Value columnScale = op.getColumnDecay() ? dropTokens(get(op.getColumnDecay())) : Value();
  bool transposed = isTransposed(op.getResult());
  if (transposed)
    std::swap(rowScale, columnScale);
  Value result = state;
  Operation *maker = op.getState().getDefiningOp();
  if (isa_and_nonnull<chunk::StateOp, chunk::AdvanceOp>(maker) && isLastReader(op.getState(), op))
    set(op, state);
  else
    result = make(op);
  bool rankOne = isRankOne(op);
  if (op.writesNothing() || rankOne) {
    SmallVector<Input> inputs{state};
    if (rankOne) {
      inputs.push_back({dropTokens(get(op.getValues())), {0}});
      inputs.push_back({dropTokens(get(op.getKeys())), {1}});
    }
    for (auto [scale, dim] : {std::pair(rowScale, 0), {columnScale, 1}})
      if (scale)
        inputs.push_back({scale, {tileOf(scale).getSize(0) == 1 ? 0 : dim}});
    return map(inputs, result, constant(tileOf(result).getSize(0)), [&](Scalars &s, ValueRange x) {
      Value product = x[0];
      for (Value scale : x.drop_front(rankOne ? 3 : 1))
        product = s.mul(product, scale);
      return rankOne ? s.add(product, s.mul(x[1], x[2])) : product;
    });
  }
  bool pairs = takesPairs(op);
  Value rows = rowsOf(chunk::tensorOf(op.getValues()).getShape()[0]);
  Value left = op.getValues(), right = op.getKeys();
  if (transposed)
    std::swap(left, right);
  bool inRows = pairs && machine.hasAMX;
  left = inRows ? roundedTransposed(left, rows) : pairs ? paired(left, rows) : get(left);
  right = pairs ? paired(right, rows) : get(right);
  ProductOp update = product(left, !inRows, right, result, constant(tileOf(result).getSize(0)), rows);
  update.setTf32(roundsInProduct(op));
  update.getPlusMutable().assign(state);
  if (rowScale)
    update.getRowScaleMutable().assign(rowScale);
  if (columnScale)
    update.getColumnScaleMutable().assign(columnScale);
}

/// A vector and the only row of a matrix are the same tile, and so are a number and the only one of a vector.
void Planner::plan(chunk::ReshapeStateOp op) {
  if (isLoadedHeld(op))
    return;
  Value tile = isLoadedRounded(op.getState()) ? rounded(op.getState()) : get(op.getState());
  int64_t before = tileOf(tile).getRank(), after = std::max<int64_t>(1, chunk::tensorOf(op).getRank());
  set(op, before < after ? withTokens(tile) : before > after ? dropTokens(tile) : tile);
}

void Planner::plan(chunk::ComposeOp op) {
  Value map1 = get(op.getFirstMap()), offset1 = get(op.getFirstOffset());
  Value map2 = get(op.getSecondMap()), offset2 = get(op.getSecondOffset());
  // A map that nobody looks at is not computed: then the offset is what the second segment makes of a state.
  bool wantsMap = !op.getMap().use_empty();
  Value resultMap = wantsMap ? make(op.getMap()) : Value(), resultOffset = make(op.getOffset());
  auto rows = [&](Value tile) { return constant(tileOf(tile).getSize(0)); };
  switch (op.getKind()) {
  case chunk::SummaryKind::Right: {
    Value inner = rows(map2);
    if (wantsMap)
      product(map1, false, map2, resultMap, rows(resultMap), inner);
    product(offset1, false, map2, resultOffset, rows(resultOffset), inner).getPlusMutable().assign(offset2);
    return;
  }
  case chunk::SummaryKind::Left: {
    Value inner = rows(map1);
    if (wantsMap)
      product(map2, false, map1, resultMap, rows(resultMap), inner);
    product(map2, false, offset1, resultOffset, rows(resultOffset), inner).getPlusMutable().assign(offset2);
    return;
  }
  case chunk::SummaryKind::Elementwise:
    if (wantsMap)
      map({map1, map2}, resultMap, rows(resultMap), [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
    return map({offset1, map2, offset2}, resultOffset, rows(resultOffset),
               [](Scalars &s, ValueRange x) { return s.add(s.mul(x[0], x[1]), x[2]); });
  case chunk::SummaryKind::Tropical:
  case chunk::SummaryKind::TropicalMin:
  case chunk::SummaryKind::SoftMax:
  case chunk::SummaryKind::SoftMin:
    if (wantsMap)
      map({map1, map2}, resultMap, rows(resultMap), [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
    return map({offset1, map2, offset2}, resultOffset, rows(resultOffset), [&](Scalars &s, ValueRange x) {
      return s.extremum(*chunk::extremumOf(op.getKind()), s.add(x[0], x[1]), x[2]);
    });
  }
}
