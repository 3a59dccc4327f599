// What gradients are made of: sums, solves and scans from later tokens to earlier ones.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// One row of a matrix as a vector, or one number of a vector.
Value Planner::rowOf(Value tile, Value row) {
  TileType type = tileOf(tile);
  if (type.getRank() == 1)
    return view(tile, {1}, {1}, 0, row);
  return view(tile, type.getShape().drop_front(), type.getStrides().drop_front(), 0, row);
}

/// A loop over the tokens of the chunk from the last to the first.
void Planner::forTokensBack(llvm::function_ref<void(Value token)> build) {
  auto loop = scf::ForOp::create(builder, loc, constant(0), tokens, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value last = arith::SubIOp::create(builder, loc, tokens, constant(1));
  build(arith::SubIOp::create(builder, loc, last, loop.getInductionVar()));
}

//===----------------------------------------------------------------------===//
// Transposed products and solves
//===----------------------------------------------------------------------===//

/// What the writes gather from the rows under a decay. Going back over the tokens, `gathered` has for each write before
/// the token what all rows behind the token make of it, decayed to there: each token's rows are added and its decay
/// multiplied. With `solve` the rows' values are the results themselves, and are subtracted.
void Planner::gatherBack(Value matrix, Value values, Numbers points, Numbers steps, Value factors, Value result,
                         bool solve) {
  int64_t rowsPerToken = points.size(), writesPerToken = steps.size(), channels = tileOf(values).getSize(1);
  Value gathered = alloc(tileOf(result).getShape());
  fill(gathered, 0, rowsOf(gathered));
  auto multiply = [&](Value token, int64_t count) {
    return arith::MulIOp::create(builder, loc, token, constant(count)).getResult();
  };
  auto add = [&](Value a, int64_t b) { return arith::AddIOp::create(builder, loc, a, constant(b)).getResult(); };
  auto exactRow = [&](Value tile, Value row) { return view(tile, {1, channels}, tileOf(tile).getStrides(), 0, row); };
  auto combine = [solve](Scalars &s, Value a, Value b) { return solve ? s.sub(a, b) : s.add(a, b); };
  forTokensBack([&](Value token) {
    Value firstRow = multiply(token, rowsPerToken), firstWrite = multiply(token, writesPerToken);
    SmallVector<Value> weights, rowValues;
    for (int64_t j = 0; j < rowsPerToken; ++j) {
      weights.push_back(rowOf(matrix, add(firstRow, j)));
      rowValues.push_back(rowOf(solve ? result : values, add(firstRow, j)));
    }
    for (int64_t step = writesPerToken - 1; step >= 0; --step) {
      Value write = add(firstWrite, step), to = exactRow(result, write);
      SmallVector<Input> inputs{exactRow(gathered, write)};
      if (solve)
        inputs.push_back(exactRow(values, write));
      for (int64_t j = 0; j < rowsPerToken; ++j)
        if (chunk::seesWrite(points[j], steps[step]) && (!solve || j > step)) {
          inputs.push_back({view(weights[j], {1}, {1}, step, firstWrite), {0}});
          inputs.push_back({rowValues[j], {1}});
        }
      map(inputs, to, constant(1), [&](Scalars &s, ValueRange x) {
        Value sum = solve ? s.add(x[1], x[0]) : x[0];
        for (size_t i = solve ? 2 : 1; i < x.size(); i += 2)
          sum = combine(s, sum, s.mul(x[i], x[i + 1]));
        return sum;
      });
    }
    SmallVector<Input> inputs{gathered};
    Value factor = rowOf(factors, token);
    inputs.push_back({factor, {tileOf(factor).getSize(0) == 1 ? 0 : 1}});
    for (int64_t j = 0; j < rowsPerToken; ++j) {
      inputs.push_back({weights[j], {0}});
      inputs.push_back({rowValues[j], {1}});
    }
    map(inputs, gathered, firstWrite, [&](Scalars &s, ValueRange x) {
      Value sum = x[0];
      auto addRows = [&](bool before) {
        for (auto [j, point] : llvm::enumerate(points))
          if ((point == chunk::beforeDecay) == before)
            sum = combine(s, sum, s.mul(x[2 + 2 * j], x[3 + 2 * j]));
      };
      addRows(false);
      sum = s.mul(sum, x[1]);
      addRows(true);
      return sum;
    });
  });
}

void Planner::plan(chunk::ApplyTransposedOp op) {
  if (tiles.contains(op)) // made with the cotangent of its decay
    return;
  std::optional<analysis::Triangle> triangle = structure.findTriangle(op.getMatrix());
  if (takesPairs(op)) {
    // A triangle of ones is made in no time: again for each product, so that none keeps room for it.
    auto made = op.getMatrix().getDefiningOp<chunk::InteractionOp>();
    bool isMadeAgain = made && !made.getDecay() && isOfOnes(made) && isFactorOnly(made);
    if (isMadeAgain && !tiles.contains(made))
      plan(made);
    bool isInParts = isInTwoParts(op.getValues());
    Value result = isInParts ? make(op) : makeResult(op), rows = rowsOf(chunk::tensorOf(op.getValues()).getShape()[0]);
    auto gather = [&](Value values) {
      ProductOp gathered = product(rounded(op.getMatrix()), true, values, result, rowsOf(result), rows);
      gathered.setLeftTriangle(ArrayRef<int64_t>{triangle->rowsPerToken, triangle->columnsPerToken});
      return gathered;
    };
    gather(rounded(op.getValues()));
    if (isInParts)
      gather(roundedOff(op.getValues())).getPlusMutable().assign(result);
    if (isMadeAgain) {
      tiles.erase(made);
      shared.rounded.erase(made);
    }
    return;
  }
  Value matrix = get(op.getMatrix()), values = get(op.getValues()), result = make(op);
  if (op.getDecay())
    return gatherBack(matrix, values, *op.getPoints(), *op.getSteps(), factors(op.getDecay(), op.getLinear()), result,
                      /*solve=*/false);
  ProductOp gathered = product(matrix, true, values, result, rowsOf(result), rowsOf(values));
  gathered.setTf32(roundsInProduct(op));
  if (triangle)
    gathered.setLeftTriangle(ArrayRef<int64_t>{triangle->rowsPerToken, triangle->columnsPerToken});
}

/// Without a decay by the inverse, which is solved for once however many solves share the matrix.
void Planner::plan(chunk::SolveTransposedOp op) {
  Value matrix = get(op.getMatrix()), values = get(op.getValues()), result = make(op);
  if (op.getDecay())
    return gatherBack(matrix, values, *op.getPoints(), *op.getSteps(), factors(op.getDecay(), op.getLinear()), result,
                      /*solve=*/true);
  Value &inverse = shared.inverses[op.getMatrix()];
  if (!inverse) {
    inverse = alloc(tileOf(matrix).getShape());
    map({}, inverse, rowsOf(inverse),
        [](Scalars &s, ValueRange) { return s.select(s.equal(s.index(0), s.index(1)), s.number(1), s.number(0)); });
    SolveOp::create(builder, loc, matrix, inverse, rowsOf(inverse));
  }
  product(inverse, true, values, result, rowsOf(result), rowsOf(values)).setLeftTriangle(ArrayRef<int64_t>{1, 1});
}

/// Each row, once it is solved, is added to what all others gather, with the weights that they take it by. Rows that
/// are solved already gather more than they look at.
void Planner::solveRowByRow(chunk::ScaledSolveOp op, Value result) {
  Value matrix = get(op.getMatrix()), values = get(op.getValues()), scales = get(op.getScales());
  int64_t channels = tileOf(values).getSize(1), size = tileOf(values).getSize(0);
  Value count = rowsOf(result);
  // The weights by which the others take a row, as a row themselves.
  Value weights = op.getReverse() ? matrix : transpose(matrix, count);
  Value gathered = alloc({size, channels});
  fill(gathered, 0, count);
  auto loop = scf::ForOp::create(builder, loc, constant(0), count, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value row = loop.getInductionVar();
  if (op.getReverse())
    row = arith::SubIOp::create(builder, loc, arith::SubIOp::create(builder, loc, count, constant(1)), row);
  auto exactRow = [&](Value tile) { return view(tile, {1, channels}, tileOf(tile).getStrides(), 0, row); };
  map({exactRow(values), exactRow(scales), exactRow(gathered)}, exactRow(result), constant(1),
      [](Scalars &s, ValueRange x) { return s.sub(x[0], s.mul(x[1], x[2])); });
  map({gathered, {rowOf(weights, row), {0}}, {rowOf(result, row), {1}}}, gathered, count,
      [](Scalars &s, ValueRange x) { return s.add(x[0], s.mul(x[1], x[2])); });
}

//===----------------------------------------------------------------------===//
// The cotangent of a decay
//===----------------------------------------------------------------------===//

/// For each write, which is a column of `pairs` (or a channel of one write's), how much each token's decay matters:
/// what the write has become before the token, times what all rows behind the token's decay make of it. `passed` says
/// how much of the write is left before each token, and `pairsOf` the rows of each token.
void Planner::plan(chunk::DecayCotangentOp op) {
  int64_t rowsPerToken = op.getPoints().size(), writesPerToken = op.getSteps().size(), chunk = program.getChunk();
  Value result = make(op), matrix = get(op.getMatrix());
  // Where in the nest a write is of an earlier token than the row's.
  auto isEarlier = [&](Scalars &s) {
    Value token = s.index(1);
    if (writesPerToken > 1)
      token = arith::DivUIOp::create(s.builder, s.loc, token, s.integer(writesPerToken));
    return s.below(token, s.index(0));
  };
  bool byChannel = chunk::tensorOf(op.getDecay()).getRank() > 1;
  if (Value decayed = op.getLinear() || byChannel ? Value() : findDecayed(op))
    return planDecayOfPairs(op, matrix, decayed, result, isEarlier);
  Value steps = factors(op.getDecay(), op.getLinear());
  if (byChannel)
    return planDecayOfChannels(op, matrix, steps, result);
  Value rows = get(op.getRows()), columns = get(op.getColumns());
  int64_t writes = tileOf(columns).getSize(0);
  // All channels of a pair decay alike: what a pair makes is one number.
  Value pairs = alloc(tileOf(matrix).getShape());
  product(rows, false, transposedColumns(op.getColumns()), pairs, rowsOf(pairs), constant(tileOf(rows).getSize(1)));
  map({pairs, matrix}, pairs, rowsOf(pairs), [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
  Value passed = alloc({chunk, writes}), matters = alloc({chunk, writes}), count = rowsOf(steps);
  scan({steps}, {}, passed, {}, count, 1, false, [&](Scalars &s, ValueRange x) {
    return std::pair(s.select(isEarlier(s), s.mul(x[1], x[0]), s.number(1)), x[1]);
  });
  SmallVector<Input> inputs{steps, passed};
  for (int64_t j = 0; j < rowsPerToken; ++j)
    inputs.push_back(slot(pairs, j, rowsPerToken));
  bool linear = op.getLinear();
  scan(inputs, {}, matters, {}, count, 0, true, [&](Scalars &s, ValueRange x) {
    Value earlier = isEarlier(s), looks = x.back(), behind = s.number(0);
    for (auto [j, point] : llvm::enumerate(op.getPoints()))
      if (point != chunk::beforeDecay)
        looks = s.add(looks, s.select(earlier, x[2 + j], s.number(0)));
    Value reached = s.mul(looks, x[0]);
    for (auto [j, point] : llvm::enumerate(op.getPoints()))
      if (point == chunk::beforeDecay)
        behind = s.add(behind, s.select(earlier, x[2 + j], s.number(0)));
    Value slope = s.select(earlier, s.mul(linear ? looks : reached, x[1]), s.number(0));
    return std::pair(s.add(reached, behind), slope);
  });
  reduce(Reduction::Sum, {matters}, result, {1}, {chunk, writes}, [](Scalars &, ValueRange x) { return x[0]; });
}

/// Whether the interaction is what the cotangent's pairs are with the decay between them.
static bool havePairsInCommon(chunk::InteractionOp made, chunk::DecayCotangentOp op) {
  return made->getBlock() == op->getBlock() && made->isBeforeInBlock(op) && made.getRows() == op.getRows() &&
         made.getColumns() == op.getColumns() && made.getDecay() == op.getDecay() &&
         made.getLinear() == op.getLinear() && made.getPoints() == op.getPoints() && made.getSteps() == op.getSteps();
}

bool Planner::isDecayedPairs(chunk::InteractionOp made) {
  return llvm::any_of(made.getRows().getUsers(), [&](Operation *user) {
    auto cotangent = dyn_cast<chunk::DecayCotangentOp>(user);
    return cotangent && havePairsInCommon(made, cotangent);
  });
}

/// The op's pairs with the decay between them, where an interaction before it has them as they are.
Value Planner::findDecayed(chunk::DecayCotangentOp op) {
  for (Operation *user : op.getRows().getUsers()) {
    auto made = dyn_cast<chunk::InteractionOp>(user);
    if (!made || !havePairsInCommon(made, op) || !tiles.contains(made.getResult()))
      continue;
    if (Value tile = get(made.getResult()); tileOf(tile).getElementType().isF32())
      return tile;
  }
  return {};
}

/// By each logarithm of a decay: the sum of all pairs whose range has it, since each pair is a product of its range's
/// decays. Nothing is multiplied again that the pairs are made of.
void Planner::planDecayOfPairs(chunk::DecayCotangentOp op, Value matrix, Value decayed, Value result,
                               function_ref<Value(Scalars &)> isEarlier) {
  int64_t rowsPerToken = op.getPoints().size(), chunk = program.getChunk(), writes = tileOf(matrix).getSize(1);
  SmallVector<Input> inputs;
  for (int64_t j = 0; j < rowsPerToken; ++j) {
    inputs.push_back(slot(matrix, j, rowsPerToken));
    inputs.push_back(slot(decayed, j, rowsPerToken));
  }
  Value matters = alloc({chunk, writes});
  scan(inputs, {}, matters, {}, rowsOf(result), 0, true, [&](Scalars &s, ValueRange x) {
    Value earlier = isEarlier(s), sum = x.back();
    auto addRows = [&](bool before) {
      for (auto [j, point] : llvm::enumerate(op.getPoints()))
        if ((point == chunk::beforeDecay) == before)
          sum = s.add(sum, s.select(earlier, s.mul(x[2 * j], x[2 * j + 1]), s.number(0)));
    };
    addRows(false);
    Value slope = s.select(earlier, sum, s.number(0));
    addRows(true);
    return std::pair(sum, slope);
  });
  reduce(Reduction::Sum, {matters}, result, {1}, {chunk, writes}, [](Scalars &, ValueRange x) { return x[0]; });
}

//===----------------------------------------------------------------------===//
// Scans, shifts, sums and places
//===----------------------------------------------------------------------===//

void Planner::plan(chunk::ReverseScanOp op) {
  Value additions = get(op.getAdditions()), state = get(op.getState()), all = make(op.getAll()),
        first = make(op.getFirst());
  SmallVector<Input> inputs{additions};
  if (op.getDecay())
    inputs.push_back(factors(op.getDecay(), op.getLinear()));
  scan(inputs, state, all, first, rowsOf(all), 0, true, [&](Scalars &s, ValueRange x) {
    Value here = s.add(x.back(), x[0]);
    return std::pair(op.getDecay() ? s.mul(here, x[1]) : here, here);
  });
}

void Planner::plan(chunk::FollowingOp op) {
  Value rows = get(op.getRows()), state = get(op.getState()), all = make(op.getAll()), first = make(op.getFirst());
  scan({rows}, state, all, first, rowsOf(all), 0, true, [](Scalars &, ValueRange x) { return std::pair(x[0], x[1]); });
}

/// Outer products that nothing but their sum over the tokens takes are one product.
bool Planner::isSummedOuter(chunk::MapOp op) const {
  auto rows = [](Value value) { return chunk::tensorOf(value).getShape()[0]; };
  auto sum = op.getResult().hasOneUse() ? dyn_cast<chunk::SumTokensOp>(*op.getResult().user_begin()) : nullptr;
  return sum && !inTokenLoop && op.getFunction() == chunk::Function::Outer && sum->getBlock() == op->getBlock() &&
         rows(op.getOperands()[0]) == rows(op.getOperands()[1]);
}

void Planner::plan(chunk::SumTokensOp op) {
  if (auto outer = op.getOperand().getDefiningOp<chunk::MapOp>(); outer && isSummedOuter(outer)) {
    Value left = get(outer.getOperands()[0]), right = get(outer.getOperands()[1]);
    Value result = alloc(chunk::tensorOf(op).getShape().drop_front()); // with room for whole blocks of rows
    set(op, withTokens(result));
    product(left, true, right, result, constant(tileOf(result).getSize(0)), rowsOf(left));
    return;
  }
  Value operand = get(op.getOperand()), result = make(op);
  scan({operand}, {}, {}, dropTokens(result), rowsOf(operand), 0, false, [](Scalars &s, ValueRange x) {
    Value next = s.add(x[1], x[0]);
    return std::pair(next, next);
  });
}

void Planner::plan(chunk::InsertOp op) {
  Value operand = get(op.getOperand()), result = make(op);
  Input input(operand);
  for (size_t dim = 1; dim < input.dims.size(); ++dim)
    ++input.dims[dim]; // it lacks the dimension that is put in
  map({input}, result, rowsOf(result), [&](Scalars &s, ValueRange x) {
    return s.select(s.equal(s.index(1), s.integer(op.getIndex())), x[0], s.number(0));
  });
}
