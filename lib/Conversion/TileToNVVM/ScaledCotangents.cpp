// What dots under a running scale of each channel matter, passed on to their rows, columns and scales.
//
// Channels have nothing to do with each other, and neither have blocks of indices: each thread has one channel of one
// block. Neighbouring threads have neighbouring channels.
//
// Of a whole block all is spelled out, and numbers that are on their way stay in registers. One thread goes over the
// indices with what is left of all columns before them, and gives to rows. Another goes from each column to the rows
// behind it and back again, with what is left of the column on the way there, and with what the rows make of it on the
// way back, and gives to columns and scales. A block that is cut short, or a long one, has one thread for both, which
// leaves numbers on their way in memory.
#include "Conversion/TileToNVVM/Team.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

constexpr int64_t beforeScale = -1; // the point of a row that its own index's scale does not reach

namespace {
/// One channel of one block.
class ChannelCotangents {
public:
  ChannelCotangents(TeamCode &t, ScaledCotangentsOp op, const CotangentPlaces &places, Value first, Value end,
                    Value channel)
      : t(t), op(op), p(places), first(first), end(end), channel(channel), rowsPerIndex(op.getPoints().size()),
        columnsPerIndex(op.getSteps().size()) {}
  void emit();

private:
  Value load(const Place &place, Value row) { return t.get(place, {Index(row), Index(channel)}); }
  void store(Value number, const Place &place, Value row) { t.put(number, place, {Index(row), Index(channel)}); }
  Value rowOf(Value index, size_t slot) { return t.add(t.multiply(index, rowsPerIndex), int64_t(slot)); }
  Value weightOf(Value row, Value column) { return t.get(p.matrix, {Index(row), Index(column)}); }
  /// Calls visit for the rows of an index whose point is before its scale, or for those whose is not.
  void forRows(Value index, bool before, llvm::function_ref<void(Value row)> visit) {
    for (auto [slot, point] : llvm::enumerate(op.getPoints()))
      if ((point == beforeScale) == before)
        visit(rowOf(index, slot));
  }
  /// Adds to what a row gets of the column what is left of that.
  void giveRow(Value row, Value column, Value left) {
    store(t.fma(weightOf(row, column), left, load(p.leftResult, row)), p.leftResult, row);
  }
  void emitColumn(Value own, size_t number);

  TeamCode &t;
  ScaledCotangentsOp op;
  const CotangentPlaces &p;
  Value first, end, channel;
  int64_t rowsPerIndex, columnsPerIndex;
};
} // namespace

void ChannelCotangents::emitColumn(Value own, size_t number) {
  int64_t step = op.getSteps()[number];
  Value column = t.add(t.multiply(own, columnsPerIndex), int64_t(number)), next = t.add(own, 1);
  Value written = load(p.right, column), ofOwn = t.number(0);
  for (auto [slot, point] : llvm::enumerate(op.getPoints()))
    if (step < point) {
      Value row = rowOf(own, slot);
      giveRow(row, column, written);
      ofOwn = t.fma(weightOf(row, column), load(p.left, row), ofOwn);
    }
  // What is left of the column before each index's scale stays in `work`, in the index's own row.
  t.loop(next, end, 1, written, [&](Value index, ValueRange running) {
    store(running[0], p.work, index);
    forRows(index, true, [&](Value row) { giveRow(row, column, running[0]); });
    Value scaled = t.mul(running[0], load(p.scales, index));
    forRows(index, false, [&](Value row) { giveRow(row, column, scaled); });
    return SmallVector<Value>{scaled};
  });
  Value gathered = t.loop(t.constant(0), t.subtract(end, next), 1, t.number(0), [&](Value back, ValueRange behind) {
    Value index = t.subtract(t.add(end, -1), back), looks = behind[0];
    auto gather = [&](Value row) { looks = t.fma(weightOf(row, column), load(p.left, row), looks); };
    forRows(index, false, gather);
    Value reached = t.mul(looks, load(p.scales, index));
    Value slope = op.getLinear() ? looks : reached;
    store(t.fma(slope, load(p.work, index), load(p.scalesResult, index)), p.scalesResult, index);
    looks = reached;
    forRows(index, true, gather);
    return SmallVector<Value>{looks};
  })[0];
  store(t.plus(gathered, ofOwn), p.rightResult, column);
}

void ChannelCotangents::emit() {
  t.loop(first, end, 1, [&](Value index) {
    store(t.number(0), p.scalesResult, index);
    for (int64_t slot = 0; slot < rowsPerIndex; ++slot)
      store(t.number(0), p.leftResult, rowOf(index, size_t(slot)));
  });
  t.loop(first, end, 1, [&](Value own) {
    for (size_t number = 0; number < size_t(columnsPerIndex); ++number)
      emitColumn(own, number);
  });
}

namespace {
/// One channel of a whole block, spelled out.
class WholeBlock {
public:
  WholeBlock(TeamCode &t, ScaledCotangentsOp op, const CotangentPlaces &places, Value first, Value channel)
      : t(t), op(op), p(places), first(first), channel(channel), block(int64_t(op.getBlock())),
        rowsPerIndex(int64_t(op.getPoints().size())), columnsPerIndex(int64_t(op.getSteps().size())) {
    firstRow = t.multiply(first, rowsPerIndex);
    firstColumn = t.multiply(first, columnsPerIndex);
  }
  void giveToRows();
  void giveToColumns();

private:
  Index rowOf(int64_t index, size_t slot) const { return {firstRow, index * rowsPerIndex + int64_t(slot)}; }
  Index columnOf(int64_t index, size_t number) const {
    return {firstColumn, index * columnsPerIndex + int64_t(number)};
  }
  Value load(const Place &place, Index row) { return t.get(place, {row, Index(channel)}); }
  void store(Value number, const Place &place, Index row) { t.put(number, place, {row, Index(channel)}); }
  SmallVector<Value> loadScales() {
    SmallVector<Value> scales;
    for (int64_t index = 0; index < block; ++index)
      scales.push_back(load(p.scales, {first, index}));
    return scales;
  }
  /// Calls visit for the slots of rows whose point is before their index's scale, or for those whose is not.
  void forRows(bool before, llvm::function_ref<void(size_t slot, int64_t point)> visit) {
    for (auto [slot, point] : llvm::enumerate(op.getPoints()))
      if ((point == beforeScale) == before)
        visit(slot, point);
  }

  TeamCode &t;
  ScaledCotangentsOp op;
  const CotangentPlaces &p;
  Value first, channel, firstRow, firstColumn;
  int64_t block, rowsPerIndex, columnsPerIndex;
};
} // namespace

void WholeBlock::giveToRows() {
  SmallVector<Value> scales = loadScales(), left; // of each column behind which the index is
  for (int64_t index = 0; index < block; ++index) {
    SmallVector<Value> own;
    for (int64_t number = 0; number < columnsPerIndex; ++number)
      own.push_back(load(p.right, columnOf(index, size_t(number))));
    auto give = [&](size_t slot, int64_t point) {
      constexpr int64_t atOnce = 4; // weights, where the block has as many columns
      int64_t known = int64_t(left.size()), columns = block * columnsPerIndex;
      SmallVector<Value> weights =
          t.getNeighbours(p.matrix, {rowOf(index, slot), Index(firstColumn)},
                          std::min(columns, int64_t(llvm::alignTo(known + columnsPerIndex, atOnce))));
      Value sum = t.number(0);
      for (auto [number, weight] : llvm::zip(left, weights))
        sum = t.fma(weight, number, sum);
      for (auto [number, step] : llvm::enumerate(op.getSteps()))
        if (step < point)
          sum = t.fma(weights[size_t(known) + number], own[number], sum);
      store(sum, p.leftResult, rowOf(index, slot));
    };
    forRows(true, give);
    for (Value &number : left)
      number = t.mul(number, scales[size_t(index)]);
    forRows(false, give);
    llvm::append_range(left, own);
  }
}

void WholeBlock::giveToColumns() {
  SmallVector<Value> scales = loadScales(), ofScales(size_t(block), t.number(0));
  for (int64_t own = 0; own < block; ++own)
    for (auto [number, step] : llvm::enumerate(op.getSteps())) {
      Index column = columnOf(own, number);
      // What is left of it before the scale of each index behind.
      SmallVector<Value> left{load(p.right, column)};
      for (int64_t index = own + 1; index + 1 < block; ++index)
        left.push_back(t.mul(left.back(), scales[size_t(index)]));
      Value looks = t.number(0);
      for (int64_t index = block - 1; index > own; --index) {
        auto gather = [&](size_t slot, int64_t) {
          Index row = rowOf(index, slot);
          looks = t.fma(t.get(p.matrix, {row, column}), load(p.left, row), looks);
        };
        forRows(false, gather);
        Value reached = t.mul(looks, scales[size_t(index)]), &sum = ofScales[size_t(index)];
        sum = t.fma(op.getLinear() ? looks : reached, left[size_t(index - own - 1)], sum);
        looks = reached;
        forRows(true, gather);
      }
      for (auto [slot, point] : llvm::enumerate(op.getPoints()))
        if (int64_t(step) < point) {
          Index row = rowOf(own, slot);
          looks = t.fma(t.get(p.matrix, {row, column}), load(p.left, row), looks);
        }
      store(looks, p.rightResult, column);
    }
  for (auto [index, sum] : llvm::enumerate(ofScales))
    store(sum, p.scalesResult, {first, int64_t(index)});
}

/// Whether a block is short enough for registers.
static bool isSpelledOut(ScaledCotangentsOp op) {
  constexpr int64_t mostIndices = 16, mostSlots = 4;
  return int64_t(op.getBlock()) <= mostIndices && int64_t(op.getPoints().size() * op.getSteps().size()) <= mostSlots;
}

void nvvm::emitScaledCotangents(TeamCode &t, ScaledCotangentsOp op, const CotangentPlaces &places, Value rows) {
  auto block = int64_t(op.getBlock());
  int64_t channels = places.scales.type.getSize(1);
  Value indices = t.divide(rows, int64_t(op.getPoints().size()));
  Value blocks = t.divide(t.add(indices, block - 1), block), units = t.multiply(blocks, channels);
  auto emit = [&](Value unit, llvm::function_ref<void(Value first, Value end, Value channel)> body) {
    Value first = t.multiply(t.divide(unit, channels), block);
    body(first, t.smaller(t.add(first, block), indices), t.remainder(unit, channels));
  };
  auto inLoops = [&](Value first, Value end, Value channel) {
    ChannelCotangents(t, op, places, first, end, channel).emit();
  };
  if (!isSpelledOut(op)) {
    t.deal(units, [&](Value unit) { emit(unit, inLoops); });
    return;
  }
  t.deal(t.multiply(units, 2), [&](Value unit) {
    Value ofRows = t.below(unit, units);
    emit(t.select(ofRows, unit, t.subtract(unit, units)), [&](Value first, Value end, Value channel) {
      WholeBlock all(t, op, places, first, channel);
      auto whole = [&] { t.either(ofRows, [&] { all.giveToRows(); }, [&] { all.giveToColumns(); }); };
      auto cut = [&] { t.when(ofRows, [&] { inLoops(first, end, channel); }); };
      t.either(t.below(t.subtract(end, first), t.constant(block)), cut, whole);
    });
  });
}
