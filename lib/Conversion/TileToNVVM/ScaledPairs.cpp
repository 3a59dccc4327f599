// Products under a running scale of each channel on the matrix units, for numbers that are rounded.
//
// The index of a row and that of a column before it lie in two halves of one aligned range of 2, 4, 8, ... indices. The
// scales between them are those of the upper half up to the row's index times those of the lower half behind the
// column's. So for each size of halves rows and columns are scaled to where the halves meet, and what is left is a
// product. Nothing is divided, a scale may be zero or negative, and what later indices hold has no part in it.
//
// Blocks of 16 indices: a lane has two neighbouring indices, 2 g and 2 g + 1 with g its row, and four channels. The
// running products come from other lanes. A lane's scaled numbers are the elements that an instruction takes of it,
// as a row and as a column alike, in tf32. Where a lane's indices are in the lower half its rows have no meaning, and
// elsewhere its columns: what they give is not stored.
// Most blocks need no halves: as long as the running product of a block stays within a range in which f32 has all its
// digits, rows are scaled by it and columns by its inverse, and one product gives all dots of the block. A row that has
// met a product beyond the range is made of halves, whatever later rows have met.
// Blocks further apart: each thread walks through a half, and leaves scaled rows and columns in the op's work tile.
#include "Conversion/TileToNVVM/ScaledPairs.h"
#include "Conversion/TileToNVVM/MatrixUnits/WarpUnit.h"
#include "dialects/Tile/SteadyProducts.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

constexpr int64_t blockIndices = ScaledDotsOp::unitIndices;

/// The scales of neighbouring channels.
static SmallVector<Value> loadScales(TeamCode &t, ScaledDotsOp op, const Place &scales, Value index, Value channel,
                                     int64_t count) {
  SmallVector<Value> numbers = t.getNeighbours(scales, {Index(index), Index(channel)}, count);
  if (op.getLogarithms())
    for (Value &number : numbers)
      number = t.exp(number);
  return numbers;
}

namespace {
/// Pairs within a block of 16 indices, of some sizes of halves: a warp has this.
class BlockDots {
public:
  using Numbers = SmallVector<Value, 4>; // of a lane's four channels
  /// Of a lane's two indices.
  using Two = std::array<Numbers, 2>;

  BlockDots(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
            const Place &result)
      : t(t), op(op), left(left), right(right), scales(scales), result(result), rowsPerIndex(op.getPoints().size()),
        columnsPerIndex(op.getSteps().size()) {
    place = rowOfLane(t, t.lane);
    step = wordOfLane(t, t.lane);
    for (int64_t i = 0; i < 3; ++i)
      bits[i] = t.below(t.constant(0), arith::AndIOp::create(t.builder, t.loc, place, t.constant(int64_t(1) << i)));
  }

  /// The pairs of these rows and columns of each index.
  void emit(Value block, ArrayRef<int64_t> slots, ArrayRef<int64_t> writes);
  /// The same by halves alone, of those of a lane's indices that are wanted.
  void emitByHalves(Value block, ArrayRef<int64_t> slots, ArrayRef<int64_t> writes,
                    const std::array<Value, 2> &areWanted);

private:
  static constexpr int64_t channelsAtOnce = 16;

  void begin(Value block) {
    first = t.multiply(block, blockIndices);
    index = t.add(first, t.multiply(place, 2));
  }
  Two load(const Place &from, Value channel, int64_t each, int64_t which) {
    Two numbers;
    for (int64_t i : {0, 1}) {
      Value row = t.multiply(t.add(index, i), each);
      numbers[size_t(i)] = Numbers(t.getNeighbours(from, {Index(row, which), Index(channel)}, 4));
    }
    return numbers;
  }
  Numbers times(const Numbers &a, const Numbers &b) {
    Numbers product;
    for (auto [x, y] : llvm::zip(a, b))
      product.push_back(t.mul(x, y));
    return product;
  }
  Two times(const Two &a, const Two &b) { return {times(a[0], b[0]), times(a[1], b[1])}; }
  Numbers select(Value condition, const Numbers &a, const Numbers &b) {
    Numbers chosen;
    for (auto [x, y] : llvm::zip(a, b))
      chosen.push_back(t.select(condition, x, y));
    return chosen;
  }
  /// Which sums a loop over the channels carries.
  struct Parts {
    static constexpr size_t each = 8; // of two instructions
    ArrayRef<int64_t> slots, writes, halves;
    size_t count() const { return each * slots.size() * writes.size() * halves.size(); }
    size_t place(size_t slot, size_t write, size_t half) const {
      return each * ((slot * writes.size() + write) * halves.size() + half);
    }
    MutableArrayRef<Value> sumsOf(MutableArrayRef<Value> sums, size_t slot, size_t write, size_t half,
                                  size_t odd) const {
      return sums.slice(place(slot, write, half) + 4 * odd, 4);
    }
  };
  /// The same by halves of these sizes. Halves of 1 index come with the pairs of an index.
  void emitHalves(ArrayRef<int64_t> slots, ArrayRef<int64_t> writes, ArrayRef<int64_t> halves);
  void emitAllHalves(ArrayRef<int64_t> slots, ArrayRef<int64_t> writes);
  void addStep(Value channel, const Parts &parts, MutableArrayRef<Value> sums);

  /// Running products from a block's start.
  struct FromStart {
    Two through, before, inverse; // with an index's own scale and without it, and the inverse of the first
    Two size;                     // how far from 1 a product is: what is compared with the range
  };
  FromStart runFromStart(Value channel);
  void addSteadyStep(Value channel, const Parts &parts, MutableArrayRef<Value> sums, MutableArrayRef<Value> most);
  /// Whether each of a lane's rows is within the range, and all before it.
  std::array<Value, 2> areSteady(ArrayRef<Value> most);
  void storeSteady(ArrayRef<Value> sums, int64_t slot, int64_t write, const std::array<Value, 2> &isSteady);
  Value areSame(int64_t bit, int64_t other) {
    return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, bits[bit], bits[other]);
  }
  Numbers fromNeighbour(const Numbers &numbers, int64_t distance) {
    Numbers other;
    for (Value number : numbers)
      other.push_back(NVVM::ShflOp::create(t.builder, t.loc, number.getType(), t.constant(-1), number,
                                           t.constant(distance), t.constant(warpThreads - 1), NVVM::ShflKind::bfly,
                                           UnitAttr()));
    return other;
  }

  /// Running products of one step of channels.
  struct Running {
    Two own;                  // the scales of the lane's indices
    Numbers both, ones;       // their product, and ones
    Numbers neighbour, pairs; // the products of the next lanes' two indices, and of the next four
  };
  Running run(Value channel, int64_t mostHalf);
  /// The scales between where the halves meet and each of the lane's indices: for rows of the upper half, up to the
  /// index, or before it; for columns of the lower half, behind the index.
  Two scalesOf(const Running &running, int64_t half, bool isBefore);
  Numbers round(const Numbers &numbers, const Place &from);
  Two round(const Two &numbers) { return {round(numbers[0], {}), round(numbers[1], {})}; }
  void multiply(const Two &rows, const Numbers &columns, MutableArrayRef<Value> sums);
  void store(ArrayRef<Value> sums, int64_t slot, int64_t write, int64_t half);
  void storeNear(ArrayRef<Value> sums, int64_t slot, int64_t write);
  void put(Value number, int64_t below, Value columnIndex, int64_t slot, int64_t write) {
    Value row = t.add(t.multiply(t.add(index, below), rowsPerIndex), slot);
    t.put(number, result, {row, t.add(t.multiply(columnIndex, columnsPerIndex), write)});
  }
  /// Does it for one of the lane's indices, if that is wanted.
  void whenWanted(int64_t below, llvm::function_ref<void()> body) {
    Value condition = isWanted[size_t(below)];
    condition ? t.when(condition, body) : body();
  }
  bool seesOwn(int64_t slot, int64_t write) { return op.getSteps()[write] < op.getPoints()[slot]; }

  TeamCode &t;
  ScaledDotsOp op;
  const Place &left, &right, &scales, &result;
  int64_t rowsPerIndex, columnsPerIndex;
  Value place, step, first, index; // of the lane: 2 g is its first index
  Value bits[3];                   // of g
  std::array<Value, 2> isWanted;   // of the lane's indices, by halves; null: they are
};
} // namespace

BlockDots::Running BlockDots::run(Value channel, int64_t mostHalf) {
  Running running;
  for (int64_t i : {0, 1})
    running.own[size_t(i)] = Numbers(loadScales(t, op, scales, t.add(index, i), channel, 4));
  running.both = times(running.own[0], running.own[1]);
  running.ones.assign(4, t.number(1));
  if (mostHalf >= 4)
    running.neighbour = fromNeighbour(running.both, 4);
  if (mostHalf >= 8)
    running.pairs = fromNeighbour(times(running.both, running.neighbour), 8);
  return running;
}

BlockDots::Two BlockDots::scalesOf(const Running &running, int64_t half, bool isBefore) {
  int64_t bit = int64_t(llvm::Log2_64(uint64_t(half))) - 1;
  Value isUpper = bits[bit];
  const auto &[own, both, ones, neighbour, pairs] = running;
  Two passed;
  passed[0] = select(isUpper, isBefore ? ones : own[0], own[1]);
  passed[1] = select(isUpper, isBefore ? own[0] : both, ones);
  Numbers lanes; // of lanes between this one and where the halves meet
  if (half >= 4)
    lanes = select(areSame(0, bit), neighbour, ones);
  if (half >= 8)
    lanes = times(lanes, select(areSame(1, bit), pairs, ones));
  if (lanes.empty())
    return passed;
  return {times(passed[0], lanes), times(passed[1], lanes)};
}

/// As tf32. Numbers of bf16 are that already.
BlockDots::Numbers BlockDots::round(const Numbers &numbers, const Place &from) {
  Numbers rounded;
  Type word = t.builder.getI32Type();
  bool isShort = from.type && from.type.getElementType().isBF16();
  for (Value number : numbers)
    rounded.push_back(isShort ? LLVM::BitcastOp::create(t.builder, t.loc, word, number).getResult()
                              : LLVM::CallIntrinsicOp::create(t.builder, t.loc, word,
                                                              t.builder.getStringAttr("llvm.nvvm.f2tf32.rna"), number)
                                    .getResult(0));
  return rounded;
}

/// Rows g of an instruction are the lanes' first indices and rows 8 + g the second; columns are of one of the two.
void BlockDots::multiply(const Two &rows, const Numbers &columns, MutableArrayRef<Value> sums) {
  for (size_t c = 0; c < 4; c += 2) {
    Value a[] = {rows[0][c], rows[1][c], rows[0][c + 1], rows[1][c + 1]}, b[] = {columns[c], columns[c + 1]};
    multiplyByWarp(t, ArrayRef<Value>(a), ArrayRef<Value>(b), sums, NVVM::MMATypes::tf32);
  }
}

/// Sums of columns of the first indices, and behind them of the second ones. Columns 2 s and 2 s + 1 of a lane are the
/// indices 4 s to 4 s + 3: only those of the row's range count.
void BlockDots::store(ArrayRef<Value> sums, int64_t slot, int64_t write, int64_t half) {
  Value range = t.divide(place, half), mine = t.divide(step, half / 2);
  Value isThere = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, range, mine);
  Value isUpper = bits[llvm::Log2_64(uint64_t(half)) - 1];
  if (half == 4 || half == 8) { // of the columns, those of the lower half
    Value isLower =
        arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq,
                              arith::AndIOp::create(t.builder, t.loc, step, t.constant(half / 4)), t.constant(0));
    isThere = arith::AndIOp::create(t.builder, t.loc, isThere, isLower);
  }
  isThere = arith::AndIOp::create(t.builder, t.loc, isThere, isUpper);
  int64_t columns = half == 2 ? 1 : 2; // of each of the two
  t.when(isThere, [&] {
    Value from = t.add(first, t.multiply(step, 4));
    for (int64_t below : {0, 1})
      whenWanted(below, [&] {
        SmallVector<Value> side;
        for (int64_t n = 0; n < columns; ++n)
          for (int64_t odd : {0, 1})
            side.push_back(sums[size_t(4 * odd + 2 * below + n)]);
        if (columnsPerIndex == 1) {
          Value row = t.add(t.multiply(t.add(index, below), rowsPerIndex), slot);
          t.putNeighbours(side, result, {Index(row), Index(from)});
          return;
        }
        for (auto [n, number] : llvm::enumerate(side))
          put(number, below, t.add(from, int64_t(n)), slot, write);
      });
  });
}

/// The sums of an index with its own columns, and of the second with the first. They lie on the diagonal.
void BlockDots::storeNear(ArrayRef<Value> sums, int64_t slot, int64_t write) {
  Value isThere = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.divide(place, 2), step);
  auto mine = [&](int64_t from) { return t.select(bits[0], sums[size_t(from + 1)], sums[size_t(from)]); };
  t.when(isThere, [&] {
    bool own = seesOwn(slot, write);
    if (own)
      whenWanted(0, [&] { put(mine(0), 0, index, slot, write); });
    whenWanted(1, [&] {
      put(mine(2), 1, index, slot, write);
      if (own)
        put(mine(6), 1, t.add(index, 1), slot, write);
    });
  });
}

/// Adds what one step of channels gives. Sums are, for each row, column and size of halves, those of two products.
void BlockDots::addStep(Value channel, const Parts &parts, MutableArrayRef<Value> sums) {
  Running running = run(channel, *llvm::max_element(parts.halves));
  SmallVector<Two> rows, columns;
  for (int64_t slot : parts.slots)
    rows.push_back(load(left, channel, rowsPerIndex, slot));
  for (int64_t write : parts.writes)
    columns.push_back(load(right, channel, columnsPerIndex, write));
  auto isBefore = [&](size_t slot) { return op.getPoints()[parts.slots[slot]] == pointBeforeScale; };
  // Of two neighbours the second passes its own scale; of its own columns a row passes none.
  auto meetNear = [&](size_t place) {
    for (size_t slot = 0; slot < rows.size(); ++slot) {
      Numbers own = round(rows[slot][0], left), second = round(rows[slot][1], left);
      Numbers scaled = isBefore(slot) ? second : round(times(rows[slot][1], running.own[1]), {});
      for (size_t write = 0; write < columns.size(); ++write) {
        multiply({own, scaled}, round(columns[write][0], right), parts.sumsOf(sums, slot, write, place, 0));
        if (seesOwn(parts.slots[slot], parts.writes[write]))
          multiply({own, second}, round(columns[write][1], right), parts.sumsOf(sums, slot, write, place, 1));
      }
    }
  };
  auto meet = [&](int64_t half, size_t place) {
    Two passed, before;
    for (size_t slot = 0; slot < rows.size(); ++slot)
      (isBefore(slot) ? before : passed) = scalesOf(running, half, isBefore(slot));
    SmallVector<Two> scaled; // of columns, which either kind of rows meets at the same place
    for (const Two &column : columns)
      scaled.push_back(round(times(column, passed[0].empty() ? before : passed)));
    for (size_t slot = 0; slot < rows.size(); ++slot) {
      bool isSame = op.getLeft() == op.getRight() && rowsPerIndex == 1 && columnsPerIndex == 1;
      Two row = isSame ? scaled[0] : round(times(rows[slot], isBefore(slot) ? before : passed));
      for (size_t write = 0; write < columns.size(); ++write)
        for (size_t odd : {0, 1})
          multiply(row, scaled[write][odd], parts.sumsOf(sums, slot, write, place, odd));
    }
  };
  for (auto [place, half] : llvm::enumerate(parts.halves))
    half == 1 ? meetNear(place) : meet(half, place);
}

void BlockDots::emitHalves(ArrayRef<int64_t> slots, ArrayRef<int64_t> writes, ArrayRef<int64_t> halves) {
  Parts parts{slots, writes, halves};
  SmallVector<Value> sums(parts.count(), t.number(0));
  sums = t.loop(t.constant(0), t.constant(left.type.getSize(1)), channelsAtOnce, sums,
                [&](Value channel, ValueRange values) {
                  SmallVector<Value> next = llvm::to_vector_of<Value>(values);
                  addStep(t.add(channel, t.multiply(step, 4)), parts, next);
                  return next;
                });
  for (size_t slot = 0; slot < slots.size(); ++slot)
    for (size_t write = 0; write < writes.size(); ++write)
      for (auto [place, half] : llvm::enumerate(halves)) {
        ArrayRef<Value> own = ArrayRef(sums).slice(parts.place(slot, write, place), Parts::each);
        half == 1 ? storeNear(own, slots[slot], writes[write]) : store(own, slots[slot], writes[write], half);
      }
}

//===----------------------------------------------------------------------===//
// Blocks whose running products stay within the range
//===----------------------------------------------------------------------===//

BlockDots::FromStart BlockDots::runFromStart(Value channel) {
  auto sizeOf = [&](Value number) -> Value { return math::AbsFOp::create(t.builder, t.loc, number); };
  FromStart run;
  Two own;
  for (int64_t i : {0, 1})
    own[size_t(i)] = Numbers(t.getNeighbours(scales, {Index(t.add(index, i)), Index(channel)}, 4));
  for (size_t c = 0; c < 4; ++c) {
    Value sofar = t.mul(own[0][c], own[1][c]);
    for (int64_t distance = 4; distance < warpThreads; distance *= 2) {
      Value other = t.fromLaneBefore(sofar, distance);
      sofar = t.select(t.below(t.lane, t.constant(distance)), sofar, t.mul(other, sofar));
    }
    Value start = t.select(t.below(t.lane, t.constant(4)), t.number(1), t.fromLaneBefore(sofar, 4));
    Value first = t.mul(start, own[0][c]), second = t.mul(first, own[1][c]), both[] = {first, second};
    run.before[0].push_back(start);
    run.before[1].push_back(first);
    run.through[0].push_back(first);
    run.through[1].push_back(second);
    for (auto [i, number] : llvm::enumerate(ArrayRef<Value>(both))) {
      Value inverse = LLVM::CallIntrinsicOp::create(t.builder, t.loc, t.builder.getF32Type(),
                                                    t.builder.getStringAttr("llvm.nvvm.rcp.approx.ftz.f"), number)
                          .getResult(0);
      run.inverse[i].push_back(inverse);
      run.size[i].push_back(arith::MaximumFOp::create(t.builder, t.loc, sizeOf(number), sizeOf(inverse)));
    }
  }
  return run;
}

/// Adds what one step of channels gives, and looks how far from 1 the products of each row are.
void BlockDots::addSteadyStep(Value channel, const Parts &parts, MutableArrayRef<Value> sums,
                              MutableArrayRef<Value> most) {
  FromStart run = runFromStart(channel);
  for (size_t i : {0, 1})
    for (Value size : run.size[i])
      most[i] = arith::MaximumFOp::create(t.builder, t.loc, most[i], size);
  SmallVector<Two> columns;
  for (int64_t write : parts.writes)
    columns.push_back(round(times(load(right, channel, columnsPerIndex, write), run.inverse)));
  for (size_t slot = 0; slot < parts.slots.size(); ++slot) {
    bool isBefore = op.getPoints()[parts.slots[slot]] == pointBeforeScale;
    Two rows = round(times(load(left, channel, rowsPerIndex, parts.slots[slot]), isBefore ? run.before : run.through));
    for (size_t write = 0; write < columns.size(); ++write)
      for (size_t odd : {0, 1})
        multiply(rows, columns[write][odd], parts.sumsOf(sums, slot, write, 0, odd));
  }
}

std::array<Value, 2> BlockDots::areSteady(ArrayRef<Value> most) {
  auto larger = [&](Value a, Value b) -> Value { return arith::MaximumFOp::create(t.builder, t.loc, a, b); };
  std::array<Value, 2> own{most[0], most[1]};
  for (Value &number : own)
    for (int64_t distance : {1, 2})
      number = larger(number, fromNeighbour({number}, distance)[0]);
  Value sofar = larger(own[0], own[1]);
  for (int64_t distance = 4; distance < warpThreads; distance *= 2) {
    Value other = t.fromLaneBefore(sofar, distance);
    sofar = t.select(t.below(t.lane, t.constant(distance)), sofar, larger(other, sofar));
  }
  Value earlier = t.select(t.below(t.lane, t.constant(4)), t.number(0), t.fromLaneBefore(sofar, 4));
  constexpr double bits = steadyBits;
  Value limit = t.number(std::exp2(bits));
  auto isWithin = [&](Value number) -> Value { // no number is not
    return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLE, number, limit);
  };
  Value first = larger(earlier, own[0]);
  return {isWithin(first), isWithin(larger(first, own[1]))};
}

void BlockDots::storeSteady(ArrayRef<Value> sums, int64_t slot, int64_t write, const std::array<Value, 2> &isSteady) {
  Value from = t.multiply(step, 4), row = t.multiply(place, 2);
  for (int64_t below : {0, 1})
    for (int64_t i = 0; i < 4; ++i) {
      // A row sees the columns before its index, and its own if that is said.
      Value last = t.add(row, below + (seesOwn(slot, write) ? 1 : 0));
      Value isThere = arith::AndIOp::create(t.builder, t.loc, isSteady[size_t(below)], t.below(t.add(from, i), last));
      t.when(isThere, [&] {
        put(sums[size_t(4 * (i % 2) + 2 * below + i / 2)], below, t.add(first, t.add(from, i)), slot, write);
      });
    }
}

void BlockDots::emitByHalves(Value block, ArrayRef<int64_t> slots, ArrayRef<int64_t> writes,
                             const std::array<Value, 2> &areWanted) {
  begin(block);
  isWanted = areWanted;
  emitAllHalves(slots, writes);
}

void BlockDots::emitAllHalves(ArrayRef<int64_t> slots, ArrayRef<int64_t> writes) {
  constexpr int64_t groups[][2] = {{8, 1}, {2, 4}};
  for (ArrayRef<int64_t> halves : groups)
    emitHalves(slots, writes, halves);
}

void BlockDots::emit(Value block, ArrayRef<int64_t> slots, ArrayRef<int64_t> writes) {
  constexpr int64_t whole[] = {blockIndices};
  Parts parts{slots, writes, whole};
  begin(block);
  size_t count = parts.count();
  SmallVector<Value> sums(count + 2, t.number(0));
  sums = t.loop(
      t.constant(0), t.constant(left.type.getSize(1)), channelsAtOnce, sums, [&](Value channel, ValueRange values) {
        SmallVector<Value> next = llvm::to_vector_of<Value>(values);
        MutableArrayRef<Value> all = next;
        addSteadyStep(t.add(channel, t.multiply(step, 4)), parts, all.take_front(count), all.drop_front(count));
        return next;
      });
  std::array<Value, 2> isSteady = areSteady(ArrayRef(sums).drop_front(count));
  for (size_t slot = 0; slot < slots.size(); ++slot)
    for (size_t write = 0; write < writes.size(); ++write)
      storeSteady(ArrayRef(sums).slice(parts.place(slot, write, 0), Parts::each), slots[slot], writes[write], isSteady);
  unlessSteady(t, isSteady, [&] {
    Value yes = arith::ConstantIntOp::create(t.builder, t.loc, 1, 1);
    for (size_t below : {0, 1})
      isWanted[below] = arith::XOrIOp::create(t.builder, t.loc, isSteady[below], yes);
    emitAllHalves(slots, writes);
  });
}

void nvvm::unlessSteady(TeamCode &t, const std::array<Value, 2> &isSteady, llvm::function_ref<void()> makeHalves) {
  Value areOwn = arith::AndIOp::create(t.builder, t.loc, isSteady[0], isSteady[1]);
  Value areAll = NVVM::VoteSyncOp::create(t.builder, t.loc, t.builder.getI1Type(), t.constant(-1), areOwn,
                                          NVVM::VoteSyncKind::all);
  t.either(areAll, [] {}, makeHalves);
}

void nvvm::emitPairsByHalves(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                             const Place &result, Value block, ArrayRef<int64_t> slots, ArrayRef<int64_t> writes,
                             const std::array<Value, 2> &isWanted) {
  BlockDots(t, op, left, right, scales, result).emitByHalves(block, slots, writes, isWanted);
}

/// Pairs within blocks: a warp has a block, for few rows and columns of an index at once, each pair of which has sums
/// of its own in registers.
static void emitBlocks(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                       const Place &result, Value indices) {
  constexpr size_t mostPairs = 2;
  SmallVector<int64_t> slots = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(op.getPoints().size()))),
                       writes = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(op.getSteps().size())));
  size_t slotsAtOnce = slots.size() * writes.size() <= mostPairs ? slots.size() : 1;
  size_t writesAtOnce = std::min(writes.size(), mostPairs);
  Value blocks = t.divide(t.add(indices, blockIndices - 1), blockIndices);
  t.dealToWarps(blocks, [&](Value block) {
    BlockDots dots(t, op, left, right, scales, result);
    for (size_t slot = 0; slot < slots.size(); slot += slotsAtOnce)
      for (size_t write = 0; write < writes.size(); write += writesAtOnce)
        dots.emit(block, ArrayRef(slots).slice(slot, slotsAtOnce),
                  ArrayRef(writes).slice(write, std::min(writesAtOnce, writes.size() - write)));
  });
}

namespace {
/// What the work tile has for halves of one size: scaled rows of all upper halves, then scaled columns of all lower
/// ones.
struct HalvesWork {
  int64_t half, firstRow, firstColumn;
};
} // namespace

static SmallVector<HalvesWork> splitWork(ScaledDotsOp op, int64_t indices) {
  SmallVector<HalvesWork> parts;
  int64_t rows = int64_t(op.getPoints().size()), columns = int64_t(op.getSteps().size()), row = 0;
  for (int64_t half = blockIndices; half < int64_t(op.getBlock()); half *= 2) {
    parts.push_back({half, row, row + indices / 2 * rows});
    row += indices / 2 * (rows + columns);
  }
  return parts;
}

/// The threads that scale halves: those of the warps that have no block of their own, if they are at least half of all.
static int64_t findFirstScaler(const TeamCode &t, int64_t indices) {
  int64_t blocks = llvm::divideCeil(indices, blockIndices);
  return 2 * blocks <= t.warps() ? blocks * warpThreads : 0;
}

/// Each thread has two channels of a half, or one, and goes from where the halves meet to the other end.
static void scaleHalves(TeamCode &t, ScaledDotsOp op, const HalvesWork &part, const Place &left, const Place &right,
                        const Place &scales, const Place &work) {
  int64_t indices = scales.type.getSize(0), channels = scales.type.getSize(1), half = part.half;
  int64_t sides = indices / half, firstScaler = findFirstScaler(t, indices), scalers = t.threads - firstScaler,
          width = sides * channels / 2 >= scalers ? 2 : 1, across = channels / width;
  constexpr int64_t inStep = 8;
  auto multiplied = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return llvm::map_to_vector(llvm::zip(a, b), [&](auto two) { return t.mul(std::get<0>(two), std::get<1>(two)); });
  };
  // Others begin behind the last unit.
  Value own = firstScaler ? t.subtract(t.thread, t.constant(firstScaler)) : t.thread;
  Value begin =
      firstScaler ? t.select(t.below(t.thread, t.constant(firstScaler)), t.constant(sides * across), own) : own;
  t.loop(begin, t.constant(sides * across), scalers, [&](Value unit) {
    Value side = t.divide(unit, across), channel = t.multiply(t.remainder(unit, across), width);
    Value range = t.divide(side, 2), meeting = t.add(t.multiply(range, 2 * half), half);
    SmallVector<Value> ones(size_t(width), t.number(1));
    auto walk = [&](bool isUpper) {
      const Place &from = isUpper ? left : right;
      int64_t each = isUpper ? int64_t(op.getPoints().size()) : int64_t(op.getSteps().size());
      int64_t begin = isUpper ? part.firstRow : part.firstColumn;
      t.loop(t.constant(0), t.constant(half), inStep, ones, [&](Value step, ValueRange values) {
        SmallVector<Value> running = llvm::to_vector_of<Value>(values);
        SmallVector<SmallVector<Value>> factors, numbers;
        SmallVector<Value> inHalf; // the index in its half
        for (int64_t i = 0; i < inStep; ++i) {
          Value at = t.add(step, i);
          inHalf.push_back(isUpper ? at : t.subtract(t.constant(half - 1), at));
          Value index = isUpper ? t.add(meeting, at) : t.add(t.subtract(meeting, at), -1);
          factors.push_back(loadScales(t, op, scales, index, channel, width));
          for (int64_t j = 0; j < each; ++j)
            numbers.push_back(t.getNeighbours(from, {Index(t.multiply(index, each), j), Index(channel)}, width));
        }
        for (int64_t i = 0; i < inStep; ++i) {
          SmallVector<Value> after = multiplied(running, factors[size_t(i)]);
          for (int64_t j = 0; j < each; ++j) {
            bool passesOwn = isUpper && op.getPoints()[j] != pointBeforeScale;
            Value row = t.multiply(t.add(t.multiply(range, half), inHalf[size_t(i)]), each);
            t.putNeighbours(multiplied(numbers[size_t(i * each + j)], passesOwn ? after : running), work,
                            {Index(row, begin + j), Index(channel)});
          }
          running = after;
        }
        return running;
      });
    };
    t.either(t.below(t.remainder(side, 2), t.constant(1)), [&] { walk(true); }, [&] { walk(false); });
  });
}

static Place partOf(TeamCode &t, const Place &place, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  TileType type = TileType::get(t.builder.getContext(), {rows, columns}, place.type.getElementType(),
                                place.type.getMemory(), place.type.getStrides(), 0);
  int64_t bytes = (row * place.type.getStride(0) + column) * place.type.getElementBytes();
  return {t.address(place, {Index(row), Index(column)}), type, std::gcd(place.alignment, bytes)};
}

/// One product for each range, each size of halves beginning with another warp.
static void multiplyHalves(TeamCode &t, ScaledDotsOp op, const HalvesWork &part, const Place &work, const Place &result,
                           Value rows) {
  int64_t rowsPerIndex = op.getPoints().size(), columnsPerIndex = op.getSteps().size(), half = part.half;
  int64_t indices = result.type.getSize(0) / rowsPerIndex, channels = work.type.getSize(1);
  for (int64_t range = 0; range < indices / (2 * half); ++range) {
    int64_t lower = 2 * half * range, upper = lower + half, count = half * rowsPerIndex;
    Value left = t.subtract(rows, t.constant(upper * rowsPerIndex));
    left = t.smaller(arith::MaxSIOp::create(t.builder, t.loc, left, t.constant(0)), t.constant(count));
    Product product{
        partOf(t, work, part.firstRow + range * count, 0, count, channels),
        partOf(t, work, part.firstColumn + range * half * columnsPerIndex, 0, half * columnsPerIndex, channels),
        partOf(t, result, upper * rowsPerIndex, lower * columnsPerIndex, count, half * columnsPerIndex), left,
        t.constant(channels)};
    product.innerMultiple = channels;
    product.rightTransposed = true;
    emitProduct(t, product);
  }
}

void nvvm::emitRoundedDots(TeamCode &t, ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                           std::optional<Place> work, const Place &result, Value rows) {
  SmallVector<HalvesWork> parts = splitWork(op, scales.type.getSize(0));
  for (const HalvesWork &part : parts)
    scaleHalves(t, op, part, left, right, scales, *work);
  emitBlocks(t, op, left, right, scales, result, t.divide(rows, int64_t(op.getPoints().size())));
  if (parts.empty())
    return;
  t.barrier();
  for (const HalvesWork &part : parts)
    multiplyHalves(t, op, part, *work, result, rows);
}
