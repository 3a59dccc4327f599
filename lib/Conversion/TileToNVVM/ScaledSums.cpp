// Products under a running scale of each channel: pairs of a row and an earlier index, each with its own scale.
#include "Conversion/TileToNVVM/Team.h"

using namespace mlir;
using namespace recur;
using namespace recur::tile;
using namespace recur::tile::nvvm;

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

/// A row for each warp, its channels spread over the lanes.
void nvvm::emitScaledDots(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                          const Place &result, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), channels = left.type.getSize(1);
  int64_t registers = llvm::divideCeil(channels, warpThreads);
  auto channel = [&](int64_t i) { return t.add(t.lane, i * warpThreads); };
  auto load = [&](const Place &place, Value row, int64_t i) {
    if ((i + 1) * warpThreads <= channels)
      return t.get(place, {row, channel(i)});
    Value last = t.constant(channels - 1);
    return t.select(t.below(channel(i), t.constant(channels)), t.get(place, {row, t.smaller(channel(i), last)}),
                    t.number(0));
  };
  Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.lane, t.constant(0));
  for (auto [slot, point] : llvm::enumerate(op.getPoints()))
    t.dealToWarps(t.divide(rows, rowsPerIndex), [&](Value own) {
      Value row = t.add(t.multiply(own, rowsPerIndex), slot);
      SmallVector<Value> running;
      for (int64_t i = 0; i < registers; ++i)
        running.push_back(load(left, row, i));
      auto giveDot = [&](Value index, int64_t j, ArrayRef<Value> scaled) {
        Value column = t.add(t.multiply(index, columnsPerIndex), j), sum = t.number(0);
        for (int64_t i = 0; i < registers; ++i)
          sum = t.fma(scaled[i], load(right, column, i), sum);
        sum = t.combineLanes(sum, [&](Value a, Value b) { return t.plus(a, b); });
        t.when(isFirst, [&] { t.put(sum, result, {row, column}); });
      };
      for (auto [j, step] : llvm::enumerate(op.getSteps()))
        if (step < point)
          giveDot(own, j, running);
      auto scale = [&](Value index, ValueRange values) {
        SmallVector<Value> scaled;
        for (int64_t i = 0; i < registers; ++i)
          scaled.push_back(t.mul(values[i], load(scales, index, i)));
        return scaled;
      };
      Value first = t.multiply(t.divide(own, op.getBlock()), op.getBlock());
      goBack(t, own, first, point, running, {}, scale, [&](Value index, ArrayRef<Value> scaled, ValueRange) {
        for (int64_t j = 0; j < columnsPerIndex; ++j)
          giveDot(index, j, scaled);
        return SmallVector<Value>();
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
