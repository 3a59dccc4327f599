// What dots under a running scale of each channel matter, passed on to their rows, columns and scales.
//
// Channels have nothing to do with each other, and neither have blocks of indices: each thread has one channel of one
// block. It goes from each column to the rows behind it and back again, with what is left of the column on the way
// there, and with what the rows make of it on the way back. Neighbouring threads have neighbouring channels.
#include "Conversion/TileToNVVM/Team.h"

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

void nvvm::emitScaledCotangents(TeamCode &t, ScaledCotangentsOp op, const CotangentPlaces &places, Value rows) {
  auto block = int64_t(op.getBlock());
  int64_t channels = places.scales.type.getSize(1);
  Value indices = t.divide(rows, int64_t(op.getPoints().size()));
  Value blocks = t.divide(t.add(indices, block - 1), block);
  t.deal(t.multiply(blocks, channels), [&](Value unit) {
    Value first = t.multiply(t.divide(unit, channels), block), end = t.smaller(t.add(first, block), indices);
    ChannelCotangents(t, op, places, first, end, t.remainder(unit, channels)).emit();
  });
}
