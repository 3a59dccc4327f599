// Cotangents under a decay of channels: those of the decay, of rows and of writes have nearly all in common.
#include "Conversion/ChunkToTile/Planner.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

/// Tokens of a block, as interactions have them: pairs within a block have their own products of decays, and pairs
/// apart meet at a block's end.
constexpr int64_t blockTokens = 16;

/// How many of `count` tokens from `first` on there are in this chunk.
Value Planner::tokensFrom(int64_t first, int64_t count) {
  Value left = arith::SubIOp::create(builder, loc, rowsOf(program.getChunk()), constant(first));
  left = arith::MaxSIOp::create(builder, loc, left, constant(0));
  return arith::MinSIOp::create(builder, loc, left, constant(count));
}

/// Whether an op goes from rows to writes or back as the cotangent's decay does.
template <typename OpType> static bool goesAlong(OpType op, chunk::DecayCotangentOp cotangent) {
  return op && op->getBlock() == cotangent->getBlock() && op.getDecay() == cotangent.getDecay() &&
         op.getLinear() == cotangent.getLinear() && op.getMatrix() == cotangent.getMatrix() &&
         *op.getPoints() == cotangent.getPoints() && *op.getSteps() == cotangent.getSteps();
}

/// A decay for each channel, and with it what else takes the same matrix under the same decay and is not planned yet:
/// what the rows gather of the writes, and the writes of the rows. Pairs within a block go one by one; what pairs have
/// in common that are in different blocks goes by products of matrices. Where factors are given instead of logarithms,
/// a step of zero has a cotangent too, which no product with it says: then all is one block.
void Planner::planDecayOfChannels(chunk::DecayCotangentOp op, Value matrix, Value steps, Value result) {
  Value ofRows, ofWrites;
  for (Operation *user : op.getMatrix().getUsers()) {
    auto apply = dyn_cast<chunk::ApplyOp>(user);
    if (goesAlong(apply, op) && apply.getValues() == op.getColumns() && !tiles.contains(apply))
      ofRows = make(apply);
    auto gather = dyn_cast<chunk::ApplyTransposedOp>(user);
    if (goesAlong(gather, op) && gather.getValues() == op.getRows() && !tiles.contains(gather))
      ofWrites = make(gather);
  }
  Value rows = get(op.getRows()), writes = get(op.getColumns());
  if (!ofRows)
    ofRows = alloc(tileOf(rows).getShape());
  if (!ofWrites)
    ofWrites = alloc(tileOf(writes).getShape());
  int64_t chunk = tileOf(steps).getSize(0), channels = tileOf(steps).getSize(1);
  bool byBlocks = !op.getLinear() && chunk > blockTokens;
  int64_t size = byBlocks ? blockTokens : chunk;
  // The blocks of a core come one after another, those of a CTA at the same time.
  Value work = alloc({machine.isCTA() ? chunk : size, channels});
  ScaledCotangentsOp::create(builder, loc, matrix, rows, writes, steps, ofRows, ofWrites, result, work, rowsOf(rows),
                             size, op.getLinear(), op.getPoints(), op.getSteps());
  if (!byBlocks)
    return;
  DecayParts parts{op.getPoints(), op.getSteps(), matrix, rows, writes, steps, ofRows, ofWrites, result};
  Value scaled = alloc(tileOf(rows).getShape());
  for (auto [j, point] : llvm::enumerate(op.getPoints())) {
    Value to = slot(scaled, j, op.getPoints().size());
    multiply(slot(rows, j, op.getPoints().size()), blockDecay(steps, point == chunk::beforeDecay), to, rowsOf(to));
  }
  addEarlierWrites(parts, scaled);
  addLaterRows(parts, scaled);
}

/// Elements times those of a tile, or of a vector for all rows.
void Planner::multiply(Value a, Value b, Value to, Value rows) {
  map({a, tileOf(b).getRank() == 1 ? Input(b, {1}) : Input(b)}, to, rows,
      [](Scalars &s, ValueRange x) { return s.mul(x[0], x[1]); });
}

/// What each block's rows see of the writes of the blocks before it, which meet the rows at the block's start. A decay
/// of the block matters to it as far as it lies before the row; and those of a block in between matter as all does that
/// was written before them. `scaledRows` are the rows from their block's start.
void Planner::addEarlierWrites(const DecayParts &parts, Value scaledRows) {
  int64_t rowsPerToken = parts.points.size(), writesPerToken = parts.steps.size(),
          chunk = tileOf(parts.factors).getSize(0), channels = tileOf(parts.factors).getSize(1);
  int64_t blockWrites = blockTokens * writesPerToken;
  Value writes = alloc(tileOf(parts.writes).getShape()), through = blockDecay(parts.factors, false),
        seen = alloc({blockTokens * rowsPerToken, channels}), passing = alloc({channels});
  for (int64_t j = 0; j < writesPerToken; ++j) {
    Value to = slot(writes, j, writesPerToken);
    multiply(slot(parts.writes, j, writesPerToken), blockRest(parts.factors), to, rowsOf(to));
  }
  for (int64_t first = blockTokens; first < chunk; first += blockTokens) {
    int64_t count = std::min(blockTokens, chunk - first), firstRow = first * rowsPerToken;
    Value tokens = tokensFrom(first, count), rowCount = tokens;
    if (rowsPerToken > 1)
      rowCount = arith::MulIOp::create(builder, loc, tokens, constant(rowsPerToken));
    Value rows = block(scaledRows, firstRow, count * rowsPerToken, channels),
          sums = block(seen, 0, count * rowsPerToken, channels);
    if (int64_t passed = (first - blockTokens) * writesPerToken) {
      Value part = block(writes, 0, passed, channels);
      multiply(part, rowOf(through, constant(first - 1)), part, constant(passed));
    }
    for (int64_t from = 0; from < first; from += blockTokens) {
      int64_t firstWrite = from * writesPerToken;
      TileType matrix = tileOf(parts.matrix);
      Value weights = view(parts.matrix, {count * rowsPerToken, blockWrites}, matrix.getStrides(),
                           firstRow * matrix.getStride(0) + firstWrite);
      ProductOp gathered = product(weights, false, block(writes, firstWrite, blockWrites, channels), sums, rowCount,
                                   constant(blockWrites));
      if (from)
        gathered.getPlusMutable().assign(sums);
      if (from + blockTokens == first)
        continue;
      scan({sums, rows}, {}, {}, passing, rowCount, 0, false, [](Scalars &s, ValueRange x) {
        Value next = s.add(x[2], s.mul(x[0], x[1]));
        return std::pair(next, next);
      });
      Value between = block(parts.result, from + blockTokens, blockTokens, channels);
      map({between, Input(passing, {1})}, between, constant(blockTokens),
          [](Scalars &s, ValueRange x) { return s.add(x[0], x[1]); });
    }
    Value result = block(parts.result, first, count, channels);
    SmallVector<Input> inputs{result};
    for (auto [j, point] : llvm::enumerate(parts.points)) {
      Value own = slot(sums, j, rowsPerToken),
            to = slot(block(parts.ofRows, firstRow, count * rowsPerToken, channels), j, rowsPerToken),
            decay = block(blockDecay(parts.factors, point == chunk::beforeDecay), first, count, channels);
      map({to, own, decay}, to, tokens, [](Scalars &s, ValueRange x) { return s.add(x[0], s.mul(x[1], x[2])); });
      inputs.push_back(own);
      inputs.push_back(slot(rows, j, rowsPerToken));
    }
    scan(inputs, {}, result, {}, tokens, 0, true, [&](Scalars &s, ValueRange x) {
      Value next = x.back();
      auto addRows = [&](bool before) {
        for (auto [j, point] : llvm::enumerate(parts.points))
          if ((point == chunk::beforeDecay) == before)
            next = s.add(next, s.mul(x[1 + 2 * j], x[2 + 2 * j]));
      };
      addRows(false);
      Value here = s.add(x[0], next);
      addRows(true);
      return std::pair(next, here);
    });
  }
}

/// What the rows of the blocks behind each block make of its writes, which matters to the decays behind the write.
/// `scaledRows` are the rows from their block's start, and on the way those from the end of the block before them all.
void Planner::addLaterRows(const DecayParts &parts, Value scaledRows) {
  int64_t rowsPerToken = parts.points.size(), writesPerToken = parts.steps.size(),
          chunk = tileOf(parts.factors).getSize(0), channels = tileOf(parts.factors).getSize(1);
  Value through = blockDecay(parts.factors, false), rest = blockRest(parts.factors),
        gathered = alloc({blockTokens * writesPerToken, channels});
  auto scaled = [&](Value count, int64_t factor) {
    return factor == 1 ? count : arith::MulIOp::create(builder, loc, count, constant(factor)).getResult();
  };
  for (int64_t end = (chunk - 1) / blockTokens * blockTokens; end > 0; end -= blockTokens) {
    int64_t first = end - blockTokens, behind = end + blockTokens, blockWrites = blockTokens * writesPerToken;
    if (behind < chunk) {
      Value part = block(scaledRows, behind * rowsPerToken, (chunk - behind) * rowsPerToken, channels);
      multiply(part, rowOf(through, constant(behind - 1)), part,
               scaled(tokensFrom(behind, chunk - behind), rowsPerToken));
    }
    Value tokens = tokensFrom(first, blockTokens), count = scaled(tokens, writesPerToken);
    TileType matrix = tileOf(parts.matrix);
    int64_t rows = (chunk - end) * rowsPerToken;
    Value weights = view(parts.matrix, {rows, blockWrites}, matrix.getStrides(),
                         end * rowsPerToken * matrix.getStride(0) + first * writesPerToken);
    product(weights, true, block(scaledRows, end * rowsPerToken, rows, channels), gathered, count,
            scaled(tokensFrom(end, chunk - end), rowsPerToken));
    Value result = block(parts.result, first, blockTokens, channels), left = block(rest, first, blockTokens, channels);
    SmallVector<Input> inputs{result, left};
    for (int64_t j = 0; j < writesPerToken; ++j) {
      auto ofBlock = [&](Value tile) {
        return slot(block(tile, first * writesPerToken, blockWrites, channels), j, writesPerToken);
      };
      Value own = slot(gathered, j, writesPerToken), to = ofBlock(parts.ofWrites);
      map({to, own, left}, to, tokens, [](Scalars &s, ValueRange x) { return s.add(x[0], s.mul(x[1], x[2])); });
      inputs.push_back(own);
      inputs.push_back(ofBlock(parts.writes));
    }
    scan(inputs, {}, result, {}, tokens, 0, false, [](Scalars &s, ValueRange x) {
      Value next = x.back();
      for (size_t i = 2; i + 1 < x.size(); i += 2)
        next = s.add(next, s.mul(s.mul(x[i], x[1]), x[i + 1]));
      return std::pair(next, s.add(x[0], x.back()));
    });
  }
}
