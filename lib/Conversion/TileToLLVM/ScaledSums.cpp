// Products under a running scale of each channel: pairs of a row and an earlier index, each with its own scale.
#include "Conversion/TileToLLVM/Emitter.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;

constexpr int64_t beforeScale = -1; // the point of a row that its own index's scale does not reach

/// Goes back over the indices before `own` down to `first`. `running` are multiplied by the scales that are passed,
/// with `scale(index, running)`, and `visit(index, running, carried)` gives what is carried on.
static SmallVector<Value> goBack(Emitter &e, Value own, Value first, int64_t point, ArrayRef<Value> running,
                                 ArrayRef<Value> carried,
                                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> scale,
                                 llvm::function_ref<SmallVector<Value>(Value, ArrayRef<Value>, ValueRange)> visit) {
  Value distance = arith::SubIOp::create(e.builder, e.loc, own, first);
  SmallVector<Value> initial = llvm::to_vector(running);
  llvm::append_range(initial, carried);
  Value end = e.add(distance, 1);
  SmallVector<Value> result = e.loop(1, end, 1, initial, [&](Value step, ValueRange values) {
    Value index = arith::SubIOp::create(e.builder, e.loc, own, step);
    SmallVector<Value> now = llvm::to_vector_of<Value>(values.take_front(running.size()));
    bool before = point == beforeScale;
    if (!before)
      now = scale(e.add(index, 1), now);
    SmallVector<Value> next = visit(index, now, values.drop_front(running.size()));
    if (before)
      now = scale(index, now);
    llvm::append_range(now, next);
    return now;
  });
  return llvm::to_vector(ArrayRef(result).drop_front(running.size()));
}

void conversion::emitScaledDots(Emitter &e, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                                const Place &result, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), channels = left.type.getSize(1);
  int64_t lanes = e.lanes(), widest = e.shape.isWide() ? 8 : 4;
  Value indices = e.divide(rows, rowsPerIndex);
  for (int64_t panel = 0; panel < channels; panel += widest * lanes) {
    int64_t vectors = std::min((channels - panel + lanes - 1) / lanes, widest);
    // Lanes beyond the last channel hold numbers of no meaning.
    auto loadVector = [&](const Place &place, Index row, int64_t v) {
      int64_t column = panel + v * lanes;
      Value value = e.load(e.address(place, {row, column}), e.floats(lanes));
      return e.keepLanes(value, channels - column, e.splat(e.floats(lanes), 0));
    };
    for (auto [slot, point] : llvm::enumerate(op.getPoints()))
      e.loop(0, indices, 1, [&](Value own) {
        Value row = e.add(e.multiply(own, rowsPerIndex), slot);
        Value first = e.multiply(e.divide(own, op.getBlock()), op.getBlock());
        SmallVector<Value> running;
        for (int64_t v = 0; v < vectors; ++v)
          running.push_back(loadVector(left, row, v));
        auto giveDot = [&](Value index, int64_t j, ArrayRef<Value> scaled) {
          Value column = e.add(e.multiply(index, columnsPerIndex), j);
          Value sum = e.splat(e.floats(lanes), 0);
          for (int64_t v = 0; v < vectors; ++v)
            sum = e.fma(scaled[v], loadVector(right, column, v), sum);
          Value dot = e.sumLanes(sum), pointer = e.address(result, {row, column});
          if (panel)
            dot = e.plus(dot, e.load(pointer, e.floats(1)));
          e.store(dot, pointer);
        };
        for (auto [j, step] : llvm::enumerate(op.getSteps()))
          if (step < point)
            giveDot(own, j, running);
        auto scale = [&](Value index, ValueRange values) {
          SmallVector<Value> scaled;
          for (int64_t v = 0; v < vectors; ++v)
            scaled.push_back(e.mul(values[v], loadVector(scales, index, v)));
          return scaled;
        };
        goBack(e, own, first, point, running, {}, scale, [&](Value index, ArrayRef<Value> scaled, ValueRange) {
          for (int64_t j = 0; j < columnsPerIndex; ++j)
            giveDot(index, j, scaled);
          return SmallVector<Value>();
        });
      });
  }
}

void conversion::emitScaledSums(Emitter &e, ScaledSumsOp op, const Place &matrix, const Place &values,
                                const Place &scales, const Place &result, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), lanes = e.lanes();
  bool perChannel = scales.type.getRank() > 1, solve = op.getSolve();
  Value indices = e.divide(rows, rowsPerIndex);
  e.panels(result.type.getSize(1), 2, [&](Index column, int64_t vectors) {
    auto at = [&](int64_t v) { return Index(column.value, column.constant + v * lanes); };
    e.loop(0, indices, 1, [&](Value own) {
      for (auto [slot, point] : llvm::enumerate(op.getPoints())) {
        Value row = e.add(e.multiply(own, rowsPerIndex), slot);
        auto gather = [&](Value index, int64_t j, ValueRange factors, ValueRange sums) {
          Value from = e.add(e.multiply(index, columnsPerIndex), j);
          Value weight = e.loadSplat(e.address(matrix, {row, from}), lanes);
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(
                e.fma(e.mul(weight, factors[v]), e.load(e.address(values, {from, at(v)}), e.floats(lanes)), sums[v]));
          return next;
        };
        SmallVector<Value> ones(vectors, e.splat(e.floats(lanes), 1)), sums(vectors, e.splat(e.floats(lanes), 0));
        for (auto [j, step] : llvm::enumerate(op.getSteps()))
          if (step < point && (!solve || j < slot))
            sums = gather(own, j, ones, sums);
        auto scale = [&](Value index, ValueRange factors) {
          SmallVector<Value> scaled;
          for (int64_t v = 0; v < vectors; ++v)
            scaled.push_back(e.mul(factors[v], perChannel ? e.load(e.address(scales, {index, at(v)}), e.floats(lanes))
                                                          : e.loadSplat(e.address(scales, Index(index)), lanes)));
          return scaled;
        };
        sums = goBack(e, own, e.constant(0), point, ones, sums, scale,
                      [&](Value index, ArrayRef<Value> factors, ValueRange carried) {
                        SmallVector<Value> next = llvm::to_vector_of<Value>(carried);
                        for (int64_t j = 0; j < columnsPerIndex; ++j)
                          next = gather(index, j, factors, next);
                        return next;
                      });
        for (int64_t v = 0; v < vectors; ++v) {
          Value pointer = e.address(result, {row, at(v)});
          e.store(solve ? e.minus(e.load(pointer, e.floats(lanes)), sums[v]) : sums[v], pointer);
        }
      }
    });
  });
}

void conversion::emitScaledCotangents(Emitter &e, ScaledCotangentsOp op, const CotangentPlaces &p, Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), lanes = e.lanes();
  Value indices = e.divide(rows, rowsPerIndex);
  using Vectors = SmallVector<Value>;
  auto emitBlock = [&](Value first, Value end, Index column, int64_t vectors) {
    auto at = [&](const Place &place, Index row, int64_t v) {
      return e.address(place, {row, Index(column.value, column.constant + v * lanes)});
    };
    auto load = [&](const Place &place, Index row) {
      Vectors loaded;
      for (int64_t v = 0; v < vectors; ++v)
        loaded.push_back(e.load(at(place, row, v), e.floats(lanes)));
      return loaded;
    };
    auto store = [&](ValueRange stored, const Place &place, Index row) {
      for (int64_t v = 0; v < vectors; ++v)
        e.store(stored[v], at(place, row, v));
    };
    auto multiply = [&](ValueRange a, ValueRange b) {
      Vectors product;
      for (int64_t v = 0; v < vectors; ++v)
        product.push_back(e.mul(a[v], b[v]));
      return product;
    };
    auto addWeighed = [&](Value weight, ValueRange a, ValueRange sum) {
      Vectors next;
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(e.fma(weight, a[v], sum[v]));
      return next;
    };
    auto rowOf = [&](Value index, size_t slot) { return e.add(e.multiply(index, rowsPerIndex), int64_t(slot)); };
    auto weightOf = [&](Value row, Value write) { return e.loadSplat(e.address(p.matrix, {row, write}), lanes); };
    // The rows of an index whose point is before its scale, or those whose is not.
    auto forRows = [&](Value index, bool before, llvm::function_ref<void(Value row)> visit) {
      for (auto [slot, point] : llvm::enumerate(op.getPoints()))
        if ((point == beforeScale) == before)
          visit(rowOf(index, slot));
    };
    Vectors zeros(vectors, e.splat(e.floats(lanes), 0));
    e.loop(first, end, 1, [&](Value index) {
      store(zeros, p.scalesResult, index);
      for (int64_t slot = 0; slot < rowsPerIndex; ++slot)
        store(zeros, p.leftResult, rowOf(index, slot));
    });
    e.loop(first, end, 1, [&](Value own) {
      Value next = e.add(own, 1);
      for (auto [j, step] : llvm::enumerate(op.getSteps())) {
        Value write = e.add(e.multiply(own, columnsPerIndex), int64_t(j));
        Vectors written = load(p.right, write), ofOwn = zeros;
        auto giveRow = [&](Value row, ValueRange running) {
          store(addWeighed(weightOf(row, write), running, load(p.leftResult, row)), p.leftResult, row);
        };
        for (auto [slot, point] : llvm::enumerate(op.getPoints()))
          if (step < point) {
            Value row = rowOf(own, slot);
            giveRow(row, written);
            ofOwn = addWeighed(weightOf(row, write), load(p.left, row), ofOwn);
          }
        // What is left of the write before each index's scale stays in `work`.
        e.loop(next, end, 1, written, [&](Value index, ValueRange running) {
          store(running, p.work, arith::SubIOp::create(e.builder, e.loc, index, first).getResult());
          forRows(index, true, [&](Value row) { giveRow(row, running); });
          Vectors scaled = multiply(running, load(p.scales, index));
          forRows(index, false, [&](Value row) { giveRow(row, scaled); });
          return scaled;
        });
        Value count = arith::SubIOp::create(e.builder, e.loc, end, next);
        Vectors gathered = e.loop(0, count, 1, zeros, [&](Value back, ValueRange behind) {
          Value index = arith::SubIOp::create(e.builder, e.loc, e.add(end, -1), back);
          Vectors looks(behind.begin(), behind.end());
          auto gather = [&](Value row) { looks = addWeighed(weightOf(row, write), load(p.left, row), looks); };
          forRows(index, false, gather);
          Vectors reached = multiply(looks, load(p.scales, index));
          Vectors left = load(p.work, arith::SubIOp::create(e.builder, e.loc, index, first).getResult());
          Vectors slope = load(p.scalesResult, index);
          for (int64_t v = 0; v < vectors; ++v)
            slope[v] = e.fma(op.getLinear() ? looks[v] : reached[v], left[v], slope[v]);
          store(slope, p.scalesResult, index);
          looks = reached;
          forRows(index, true, gather);
          return looks;
        });
        for (int64_t v = 0; v < vectors; ++v)
          gathered[v] = e.plus(gathered[v], ofOwn[v]);
        store(gathered, p.rightResult, write);
      }
    });
  };
  e.loop(0, indices, int64_t(op.getBlock()), [&](Value first) {
    Value end = e.smaller(e.add(first, int64_t(op.getBlock())), indices);
    e.panels(p.scales.type.getSize(1), 4,
             [&](Index column, int64_t vectors) { emitBlock(first, end, column, vectors); });
  });
}
