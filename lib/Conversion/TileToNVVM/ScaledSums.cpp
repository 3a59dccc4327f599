// Products under a running scale of each channel: pairs of a row and an earlier index, each with its own scale.
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

constexpr int64_t beforeScale = -1; // the point of a row that its own index's scale does not reach

/// Goes back over the indices before `own` down to `first`. `running` are multiplied by the scales that are passed,
/// with `scale(index, running)`, and `visit(index, running, carried)` gives what is carried on.
static SmallVector<Value> goBack(TeamCode &t, Value own, Value first, int64_t point, ArrayRef<Value> running,
                                 ArrayRef<Value> carried,
                                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> scale,
                                 llvm::function_ref<SmallVector<Value>(Value, ArrayRef<Value>, ValueRange)> visit) {
  Value distance = t.subtract(own, first);
  SmallVector<Value> initial = llvm::to_vector(running);
  llvm::append_range(initial, carried);
  SmallVector<Value> result = t.loop(t.constant(1), t.add(distance, 1), 1, initial, [&](Value step, ValueRange values) {
    Value index = t.subtract(own, step);
    SmallVector<Value> now = llvm::to_vector_of<Value>(values.take_front(running.size()));
    bool before = point == beforeScale;
    if (!before)
      now = scale(t.add(index, 1), now);
    SmallVector<Value> next = visit(index, now, values.drop_front(running.size()));
    if (before)
      now = scale(index, now);
    llvm::append_range(now, next);
    return now;
  });
  return llvm::to_vector(ArrayRef(result).drop_front(running.size()));
}

/// Sums over all lanes of so many numbers, a power of two: lane l has that of number l modulo their count. Half of the
/// numbers go to the neighbour in each round, so that the sums of all take little more than that of one.
static Value sumOverLanes(TeamCode &t, SmallVector<Value> numbers) {
  Value everyLane = t.constant(-1), clamp = t.constant(warpThreads - 1);
  auto other = [&](Value number, int64_t distance) -> Value {
    return NVVM::ShflOp::create(t.builder, t.loc, number.getType(), everyLane, number, t.constant(distance), clamp,
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  int64_t distance = 1;
  for (; numbers.size() > 1; distance *= 2) {
    Value bit = arith::AndIOp::create(t.builder, t.loc, t.lane, t.constant(distance));
    Value isUpper = t.below(t.constant(0), bit);
    SmallVector<Value> sums;
    for (size_t i = 0; i < numbers.size(); i += 2)
      sums.push_back(t.plus(t.select(isUpper, numbers[i + 1], numbers[i]),
                            other(t.select(isUpper, numbers[i], numbers[i + 1]), distance)));
    numbers = std::move(sums);
  }
  for (; distance < warpThreads; distance *= 2)
    numbers[0] = t.plus(numbers[0], other(numbers[0], distance));
  return numbers[0];
}

/// A row for each warp, its channels spread over the lanes, neighbours in one lane where they come in whole fours or
/// twos.
void nvvm::emitScaledDots(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                          const Place &result, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), channels = left.type.getSize(1);
  int64_t width = channels % (4 * warpThreads) == 0 ? 4 : channels % (2 * warpThreads) == 0 ? 2 : 1;
  auto load = [&](const Place &place, Value row) {
    SmallVector<Value> numbers;
    for (int64_t from = 0; from < channels; from += width * warpThreads) {
      Value channel = t.add(t.multiply(t.lane, width), from);
      if (from + width * warpThreads <= channels) {
        llvm::append_range(numbers, t.getNeighbours(place, {Index(row), Index(channel)}, width));
        continue;
      }
      Value last = t.constant(channels - 1);
      numbers.push_back(
          t.select(t.below(channel, t.constant(channels)), t.get(place, {row, t.smaller(channel, last)}), t.number(0)));
    }
    return numbers;
  };
  auto multiply = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return llvm::map_to_vector(llvm::zip(a, b), [&](auto pair) { return t.mul(std::get<0>(pair), std::get<1>(pair)); });
  };
  auto dot = [&](ArrayRef<Value> row, Value column) {
    Value sum = t.number(0);
    for (auto [a, b] : llvm::zip(row, load(right, column)))
      sum = t.fma(a, b, sum);
    return sum;
  };
  constexpr int64_t stepsAtOnce = 4;
  int64_t dots = stepsAtOnce * columnsPerIndex, padded = llvm::PowerOf2Ceil(dots);
  for (auto [slot, point] : llvm::enumerate(op.getPoints()))
    t.dealToWarps(t.divide(rows, rowsPerIndex), [&](Value own) {
      Value row = t.add(t.multiply(own, rowsPerIndex), slot);
      SmallVector<Value> running = load(left, row);
      for (auto [j, step] : llvm::enumerate(op.getSteps()))
        if (step < point) {
          Value column = t.add(t.multiply(own, columnsPerIndex), j);
          Value sum = t.combineLanes(dot(running, column), [&](Value a, Value b) { return t.plus(a, b); });
          t.when(t.below(t.lane, t.constant(1)), [&] { t.put(sum, result, {row, column}); });
        }
      Value first = t.multiply(t.divide(own, op.getBlock()), op.getBlock());
      bool before = point == beforeScale;
      t.loop(t.constant(1), t.add(t.subtract(own, first), 1), stepsAtOnce, running, [&](Value step, ValueRange values) {
        SmallVector<Value> now = llvm::to_vector_of<Value>(values), sums;
        for (int64_t i = 0; i < stepsAtOnce; ++i) {
          // Beyond the first index of the block nothing is stored.
          Value index = arith::MaxSIOp::create(t.builder, t.loc, t.subtract(own, t.add(step, i)), first);
          if (!before)
            now = multiply(now, load(scales, t.add(index, 1)));
          for (int64_t j = 0; j < columnsPerIndex; ++j)
            sums.push_back(dot(now, t.add(t.multiply(index, columnsPerIndex), j)));
          if (before)
            now = multiply(now, load(scales, index));
        }
        sums.resize(padded, t.number(0));
        Value sum = sumOverLanes(t, sums);
        Value index = t.subtract(own, t.add(step, t.divide(t.lane, columnsPerIndex)));
        Value isThere = arith::AndIOp::create(t.builder, t.loc, t.below(t.lane, t.constant(dots)),
                                              t.below(t.add(first, -1), index));
        t.when(isThere, [&] {
          Value column = t.multiply(index, columnsPerIndex);
          if (columnsPerIndex > 1)
            column = t.add(column, t.remainder(t.lane, columnsPerIndex));
          t.put(sum, result, {row, column});
        });
        return now;
      });
    });
}

/// An element for each thread; of a solve, which needs the rows above, a column.
void nvvm::emitScaledSums(TeamCode &t, ScaledSumsOp op, const Place &matrix, const Place &values, const Place &scales,
                          const Place &result, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(),
          columns = result.type.getSize(1);
  bool perChannel = scales.type.getRank() > 1, solve = op.getSolve();
  Value indices = t.divide(rows, rowsPerIndex);
  auto giveRow = [&](Value own, size_t slot, int64_t point, Value column) {
    Value row = t.add(t.multiply(own, rowsPerIndex), slot);
    auto gather = [&](Value index, int64_t j, Value factor, Value sum) {
      Value from = t.add(t.multiply(index, columnsPerIndex), j);
      return t.fma(t.mul(t.get(matrix, {row, from}), factor), t.get(values, {from, column}), sum);
    };
    Value sum = t.number(0), one = t.number(1);
    for (auto [j, step] : llvm::enumerate(op.getSteps()))
      if (step < point && (!solve || j < slot))
        sum = gather(own, j, one, sum);
    auto scale = [&](Value index, ValueRange factors) {
      Value by = perChannel ? t.get(scales, {index, column}) : t.get(scales, {index});
      return SmallVector<Value>{t.mul(factors[0], by)};
    };
    sum = goBack(t, own, t.constant(0), point, one, sum, scale,
                 [&](Value index, ArrayRef<Value> factors, ValueRange carried) {
                   Value next = carried[0];
                   for (int64_t j = 0; j < columnsPerIndex; ++j)
                     next = gather(index, j, factors[0], next);
                   return SmallVector<Value>{next};
                 })[0];
    t.put(solve ? t.minus(t.get(result, {row, column}), sum) : sum, result, {row, column});
  };
  if (solve)
    return t.deal(t.constant(columns), [&](Value column) {
      t.loop(t.constant(0), indices, 1, [&](Value own) {
        for (auto [slot, point] : llvm::enumerate(op.getPoints()))
          giveRow(own, slot, point, column);
      });
    });
  t.deal(t.multiply(indices, columns), [&](Value index) {
    for (auto [slot, point] : llvm::enumerate(op.getPoints()))
      giveRow(t.divide(index, columns), slot, point, t.remainder(index, columns));
  });
}
