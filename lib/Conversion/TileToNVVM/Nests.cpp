// Maps, scans, reductions, transposes and copies: an element, a column or a sum for each thread.
#include "Analysis/KernelTime.h"
#include "Analysis/RunningNumbers.h"
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/RowDots.h"
#include <limits>

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;
using recur::analysis::matchRunning;
using recur::analysis::RunningNumber;

namespace {
/// The inputs of a nest.
struct Inputs {
  ArrayRef<Place> places;
  ArrayAttr dims;

  SmallVector<Value> load(TeamCode &t, ArrayRef<Index> at) const {
    SmallVector<Value> values;
    for (auto [place, attribute] : llvm::zip(places, dims)) {
      SmallVector<Index> indices;
      for (auto [d, dim] : llvm::enumerate(cast<DenseI64ArrayAttr>(attribute).asArrayRef()))
        indices.push_back(place.type.getSize(d) == 1 ? Index(0) : at[dim]);
      values.push_back(t.get(place, indices));
    }
    return values;
  }
};
} // namespace

static int64_t countInRow(ArrayRef<int64_t> sizes) { return llvm::product_of(sizes.drop_front()); }

/// The elements of so many rows of a nest.
static Count countIn(TeamCode &t, Value rows, ArrayRef<int64_t> sizes) {
  return {t.multiply(rows, countInRow(sizes)), llvm::product_of(sizes)};
}

/// Whether so many numbers of a tile can be taken at once along its last dimension.
static bool isSideBySide(const Place &place, int64_t count) {
  TileType type = place.type;
  int64_t bytes = count * type.getElementBytes(), last = type.getRank() - 1;
  if (type.getStride(last) != 1 || place.alignment % std::min<int64_t>(bytes, 16) || type.getSize(last) % count)
    return false;
  return llvm::all_of(type.getStrides().drop_back(), [&](int64_t stride) { return stride % count == 0; });
}

/// Whether so many neighbours along a nest's last dimension lie side by side in each input, or are one number there.
static bool takesNeighbours(ArrayRef<Place> places, ArrayAttr dims, int64_t last, int64_t count) {
  for (auto [place, attribute] : llvm::zip(places, dims)) {
    ArrayRef<int64_t> own = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    for (auto [d, dim] : llvm::enumerate(own))
      if (dim == last && place.type.getSize(d) != 1 && (d + 1 != own.size() || !isSideBySide(place, count)))
        return false;
  }
  return true;
}

/// The same of a map, whose result has them side by side as well.
static bool takesNeighbours(ArrayRef<Place> places, ArrayAttr dims, const Place &result, int64_t count) {
  int64_t last = result.type.getRank() - 1;
  return last >= 1 && isSideBySide(result, count) && takesNeighbours(places, dims, last, count);
}

/// What a body gives of so many neighbours along a nest's last dimension, from the place of the first one on.
static SmallVector<Value> computeNeighbours(TeamCode &t, Region &body, ArrayRef<Place> places, ArrayAttr dims,
                                            ArrayRef<Index> at, int64_t count) {
  int64_t last = at.size() - 1;
  SmallVector<SmallVector<Value>> numbers;
  for (auto [place, attribute] : llvm::zip(places, dims)) {
    SmallVector<Index> indices;
    bool isWide = false;
    for (auto [d, dim] : llvm::enumerate(cast<DenseI64ArrayAttr>(attribute).asArrayRef())) {
      bool isOne = place.type.getSize(d) == 1;
      indices.push_back(isOne ? Index(0) : at[dim]);
      isWide |= dim == last && !isOne;
    }
    numbers.push_back(isWide ? t.getNeighbours(place, indices, count)
                             : SmallVector<Value>(count, t.get(place, indices)));
  }
  SmallVector<Value> given;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> arguments;
    for (const SmallVector<Value> &known : numbers)
      arguments.push_back(known[i]);
    SmallVector<Index> own(at);
    own.back().constant = i;
    given.push_back(t.body(body, arguments, own)[0]);
  }
  return given;
}

namespace {
/// A map of neighbours, whose place in the nest is that of the first one.
struct NeighbourMap {
  TeamCode &t;
  MapOp op;
  ArrayRef<Place> places;
  const Place &result;
  int64_t count;

  SmallVector<Value> read(ArrayRef<Index> at) {
    return computeNeighbours(t, op.getBody(), places, op.getDims(), at, count);
  }
};
} // namespace

/// Each thread keeps to its columns, and takes some rows in step. Rows beyond the last one are computed as well, for
/// what they hold has no meaning: so nothing is asked but whether there is a row to begin with.
static bool emitMapInStrips(NeighbourMap map, Value rows, int64_t inStep) {
  TeamCode &t = map.t;
  ArrayRef<int64_t> sizes = map.result.type.getShape();
  if (sizes.size() != 2)
    return false;
  int64_t pieces = sizes[1] / map.count, rowsAtOnce = t.threads / pieces;
  while (inStep > 1 && (rowsAtOnce == 0 || sizes[0] % (rowsAtOnce * inStep) != 0))
    inStep /= 2;
  if (t.threads % pieces != 0 || sizes[0] % (rowsAtOnce * inStep) != 0)
    return false;
  Value column = t.multiply(t.remainder(t.thread, pieces), map.count);
  t.loop(t.divide(t.thread, pieces), rows, rowsAtOnce * inStep, [&](Value row) {
    auto placeOf = [&](int64_t step) { return SmallVector<Index>{Index(row, step * rowsAtOnce), Index(column)}; };
    SmallVector<SmallVector<Value>> given;
    for (int64_t step = 0; step < inStep; ++step)
      given.push_back(map.read(placeOf(step)));
    for (int64_t step = 0; step < inStep; ++step)
      t.putNeighbours(given[step], map.result, placeOf(step));
  });
  return true;
}

void nvvm::emitMap(TeamCode &t, MapOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = result.type.getShape();
  Inputs inputs{places, op.getDims()};
  // Long functions fill the time by themselves.
  bool isLong = llvm::any_of(op.getBody().front(), [](Operation &op) {
    return isa<math::MathDialect>(op.getDialect()) && !isa<math::AbsFOp>(op);
  });
  constexpr int64_t few = 4, many = 8, numbersInStep = 16;
  // And code that is several thousand instructions long takes ptxas more time than its copies save anyone.
  constexpr int64_t mostInstructions = 384;
  bool isVeryLong = analysis::countInstructions(op.getBody()) > mostInstructions;
  bool isOneEach = llvm::product_of(sizes) <= t.threads;
  if (isVeryLong || isOneEach || !takesNeighbours(places, op.getDims(), result, few)) {
    t.dealInStep(
        countIn(t, rows, sizes),
        isVeryLong ? 1
        : isLong   ? 2
                   : 4,
        [&](Value index) {
          SmallVector<Index> at = t.takeApart(index, sizes);
          return t.body(op.getBody(), inputs.load(t, at), at);
        },
        [&](Value index, ArrayRef<Value> given) { t.put(given[0], result, t.takeApart(index, sizes)); });
    return;
  }
  // Of 16 bits, eight are an access; of 32, threads that took eight would meet in the banks.
  bool isNarrow = result.type.getElementBytes() == 2 && llvm::all_of(places, [](const Place &place) {
                    return place.type.getRank() < 2 || place.type.getElementBytes() == 2;
                  });
  int64_t count = isNarrow && takesNeighbours(places, op.getDims(), result, many) ? many : few;
  if (emitMapInStrips({t, op, places, result, count}, rows, isLong ? 1 : numbersInStep / count))
    return;
  NeighbourMap map{t, op, places, result, few};
  int64_t last = sizes.size() - 1;
  SmallVector<int64_t> pieces(sizes);
  pieces[last] /= few;
  auto placeOf = [&](Value index) {
    SmallVector<Index> at = t.takeApart(index, pieces);
    at.back() = at.back().value ? Index(t.multiply(at.back().value, few)) : Index(0);
    return at;
  };
  t.dealInStep(
      countIn(t, rows, pieces), isLong ? 1 : 2, [&](Value index) { return map.read(placeOf(index)); },
      [&](Value index, ArrayRef<Value> given) { t.putNeighbours(given, result, placeOf(index)); });
}

namespace {
/// A pass over the elements of tiles in registers, of which each warp has a block.
class RegisterPass {
public:
  RegisterPass(TeamCode &t, Region &body, ArrayRef<Place> places, ArrayAttr dims, WarpBlock block)
      : t(t), body(body), places(places), dims(dims), block(block) {
    row = t.add(t.multiply(t.divide(t.warp, block.across), block.rows()), rowOfLane(t, t.lane));
    column = t.add(t.multiply(t.remainder(t.warp, block.across), block.columns()), pairOfLane(t, t.lane));
  }

  /// Calls `take` for each of a lane's rows with its number and place, and what the body gives of the lane's columns:
  /// two neighbours of each unit.
  void run(llvm::function_ref<void(int64_t number, Value row, ArrayRef<Value> given)> take);
  Value columnOf(int64_t unit) { return t.add(column, unit * SumsLayout::unitColumns); }

private:
  ArrayRef<int64_t> dimsOf(size_t input) const { return cast<DenseI64ArrayAttr>(dims[input]).asArrayRef(); }
  bool dependsOn(size_t input, int64_t dim) const {
    return llvm::any_of(llvm::enumerate(dimsOf(input)),
                        [&](auto own) { return own.value() == dim && places[input].type.getSize(own.index()) != 1; });
  }
  SmallVector<Value> load(size_t input, Value row, Value column);
  SmallVector<Value> loadAll(size_t input, int64_t number, Value row);

  TeamCode &t;
  Region &body;
  ArrayRef<Place> places;
  ArrayAttr dims;
  WarpBlock block;
  Value row, column; // the lane's first ones
};
} // namespace

/// The two neighbours of an input in the nest's row and column.
SmallVector<Value> RegisterPass::load(size_t input, Value row, Value column) {
  const Place &place = places[input];
  ArrayRef<int64_t> own = dimsOf(input);
  SmallVector<Index> indices;
  for (auto [d, dim] : llvm::enumerate(own))
    indices.push_back(place.type.getSize(d) == 1 ? Index(0) : Index(dim == 0 ? row : column));
  bool hasColumns = !own.empty() && own.back() == 1 && place.type.getSize(own.size() - 1) != 1;
  bool isAcross = !hasColumns && dependsOn(input, 1);
  if (hasColumns)
    return t.getNeighbours(place, indices, 2);
  SmallVector<Value> both{t.get(place, indices)};
  for (auto [d, dim] : llvm::enumerate(own))
    if (isAcross && dim == 1)
      indices[d] = Index(column, 1);
  both.push_back(isAcross ? t.get(place, indices) : both[0]);
  return both;
}

/// All that an input has of a row, or of all rows (-1).
SmallVector<Value> RegisterPass::loadAll(size_t input, int64_t number, Value row) {
  TeamCode::ReadElements what{places[input].pointer.getAsOpaquePointer(), llvm::to_vector<2>(dimsOf(input)),
                              block.rows(), block.columns(), number};
  auto &[inBlock, read] = t.known[what];
  if (inBlock == t.builder.getInsertionBlock())
    return read;
  inBlock = t.builder.getInsertionBlock();
  read.clear();
  for (int64_t c = 0; c < (dependsOn(input, 1) ? block.columnUnits : 1); ++c)
    llvm::append_range(read, load(input, row, columnOf(c)));
  return read;
}

void RegisterPass::run(llvm::function_ref<void(int64_t number, Value row, ArrayRef<Value> given)> take) {
  SmallVector<SmallVector<Value>> ofColumns(places.size()); // inputs that have no rows, read once
  for (size_t input = 0; input < places.size(); ++input)
    if (!places[input].registers && !dependsOn(input, 0))
      ofColumns[input] = loadAll(input, -1, row);
  for (int64_t number = 0; number < 2 * block.rowUnits; ++number) {
    Value at = t.add(row, number * matrixRows);
    // Everything is read before anything is written, so that a lane waits once a row.
    SmallVector<SmallVector<Value>> ofRow(places.size());
    for (size_t input = 0; input < places.size(); ++input)
      if (!places[input].registers && dependsOn(input, 0))
        ofRow[input] = loadAll(input, number, at);
    SmallVector<Value> given;
    for (int64_t c = 0; c < block.columnUnits; ++c)
      for (int64_t i : {0, 1}) {
        SmallVector<Value> arguments;
        for (size_t input = 0; input < places.size(); ++input) {
          ArrayRef<Value> read = ofRow[input].empty() ? ofColumns[input] : ofRow[input];
          arguments.push_back(places[input].registers
                                  ? places[input].registers->numbers[size_t(block.sums().numberAt(number, c, i))]
                                  : read[(dependsOn(input, 1) ? 2 * c : 0) + i]);
        }
        given.push_back(t.body(body, arguments, {Index(at), Index(columnOf(c), i)})[0]);
      }
    take(number, at, given);
  }
}

/// A number that is computed here and not where it is used, which would keep all that it is made of in registers.
static Value computeHere(TeamCode &t, Value number) { return forget(t, number); }

void nvvm::emitMapOfRegisters(TeamCode &t, MapOp op, ArrayRef<Place> places, const Place &result) {
  WarpBlock block = *spreadOverWarps(result.type.getSize(0), result.type.getSize(1), t.warps());
  RegisterPass pass(t, op.getBody(), places, op.getDims(), block);
  SmallVector<Value> all(block.numbersPerThread());
  bool joins = result.registers && llvm::count_if(places, [](const Place &input) { return input.registers; }) > 1;
  pass.run([&](int64_t number, Value row, ArrayRef<Value> given) {
    for (int64_t c = 0; c < block.columnUnits; ++c) {
      if (!result.registers)
        t.putNeighbours(given.slice(2 * c, 2), result, {Index(row), Index(pass.columnOf(c))});
      for (int64_t i : {0, 1})
        all[size_t(block.sums().numberAt(number, c, i))] = joins ? computeHere(t, given[2 * c + i]) : given[2 * c + i];
    }
  });
  if (result.registers)
    result.registers->numbers = all;
}

/// One warp takes 32 rows at once.
static void emitRunning(TeamCode &t, ScanOp op, const Inputs &inputs, const RunningNumber &running,
                        std::optional<Place> initial, std::optional<Place> all, std::optional<Place> last, Value rows) {
  bool isSum = running.isSum(), isReverse = op.getReverse();
  auto combine = [&](Value a, Value b) { return isSum ? t.plus(a, b) : t.mul(a, b); };
  Value neutral = t.number(isSum ? 0 : 1);
  t.when(t.isTurn(), [&] {
    Value start = initial ? t.get(*initial, {0}) : t.number(op.getStart().convertToDouble());
    Value end = t.loop(t.constant(0), rows, warpThreads, start, [&](Value first, ValueRange before) {
      Value step = t.add(first, t.lane), counts = t.below(step, rows);
      Value within = t.select(counts, step, t.constant(0));
      SmallVector<Index> at{isReverse ? t.subtract(t.add(rows, -1), within) : within};
      SmallVector<Value> arguments = inputs.load(t, at);
      arguments.push_back(neutral); // of which the number does not depend
      Value number = t.bodyValue(op.getBody(), running.number, arguments, at);
      Value sum = t.select(counts, number, neutral);
      for (int64_t distance = 1; distance < warpThreads; distance *= 2) {
        Value other = t.fromLaneBefore(sum, distance);
        sum = t.select(t.below(t.lane, t.constant(distance)), sum, combine(sum, other));
      }
      Value given = combine(before[0], sum);
      if (all) {
        Value out = given;
        if (running.isBefore) {
          Value previous = t.fromLaneBefore(given, 1);
          out = t.select(t.below(t.lane, t.constant(1)), before[0], previous);
        }
        t.when(counts, [&] { t.put(out, *all, at); });
      }
      return SmallVector<Value>{t.fromLane(given, warpThreads - 1)};
    })[0];
    if (last)
      t.when(t.below(t.lane, t.constant(1)), [&] { t.put(end, *last, {0}); });
  });
}

/// Whether each row gives what the one before it passes on, which is made of that row alone.
static bool isShift(ScanOp op) {
  Block &body = op.getBody().front();
  BlockArgument carried = body.getArguments().back();
  Operation *yield = body.getTerminator();
  bool isInPlace = llvm::is_contained(op.getInputs(), op.getAll());
  return op.getAll() && !isInPlace && carried.hasOneUse() && yield->getOperand(1) == carried;
}

/// Then no row waits for another.
static void emitShift(TeamCode &t, ScanOp op, const Inputs &inputs, std::optional<Place> initial, const Place &all,
                      std::optional<Place> last, ArrayRef<int64_t> columns, Value rows) {
  auto startOf = [&](ArrayRef<Index> outer) {
    return initial ? t.get(*initial, outer.empty() ? SmallVector<Index>{0} : SmallVector<Index>(outer))
                   : t.number(op.getStart().convertToDouble());
  };
  auto passedOn = [&](Value step, ArrayRef<Index> outer) {
    SmallVector<Index> at{op.getReverse() ? t.subtract(t.add(rows, -1), step) : step};
    llvm::append_range(at, outer);
    SmallVector<Value> arguments = inputs.load(t, at);
    arguments.push_back(t.number(0)); // of which it does not depend
    return t.body(op.getBody(), arguments, at)[0];
  };
  int64_t count = llvm::product_of(columns);
  t.deal({t.multiply(rows, count), all.type.getSize(0) * count}, [&](Value index) {
    Value step = t.divide(index, count);
    SmallVector<Index> outer = columns.empty() ? SmallVector<Index>() : t.takeApart(t.remainder(index, count), columns);
    SmallVector<Index> at{op.getReverse() ? t.subtract(t.add(rows, -1), step) : step};
    llvm::append_range(at, outer);
    Value given =
        t.choose(t.below(t.constant(0), step), [&] { return passedOn(t.add(step, -1), outer); }, startOf(outer));
    t.put(given, all, at);
  });
  if (last)
    t.deal(t.constant(count), [&](Value index) {
      SmallVector<Index> outer = columns.empty() ? SmallVector<Index>() : t.takeApart(index, columns);
      Value end =
          t.choose(t.below(t.constant(0), rows), [&] { return passedOn(t.add(rows, -1), outer); }, startOf(outer));
      t.put(end, *last, outer.empty() ? SmallVector<Index>{0} : outer);
    });
}

void nvvm::emitScan(TeamCode &t, ScanOp op, ArrayRef<Place> places, std::optional<Place> initial,
                    std::optional<Place> all, std::optional<Place> last, Value rows) {
  SmallVector<int64_t> columns; // the sizes but for the rows
  if (all)
    columns = llvm::to_vector(all->type.getShape().drop_front());
  else if (last->type.getShape() != ArrayRef<int64_t>(1) || (!places.empty() && places[0].type.getRank() > 1))
    columns = llvm::to_vector(last->type.getShape());
  Inputs inputs{places, op.getDims()};
  bool isReverse = op.getReverse();
  if (isShift(op))
    return emitShift(t, op, inputs, initial, *all, last, columns, rows);
  if (columns.empty())
    if (std::optional<RunningNumber> running = matchRunning(op))
      return emitRunning(t, op, inputs, *running, initial, all, last, rows);
  t.deal(t.constant(llvm::product_of(columns)), [&](Value column) {
    SmallVector<Index> outer = t.takeApart(column, columns);
    SmallVector<Index> flat = columns.empty() ? SmallVector<Index>{Index(0)} : outer; // of a lone running number
    Value start = initial ? t.get(*initial, flat) : t.number(op.getStart().convertToDouble());
    // The inputs of several rows are read before the first one is written: what a row waits for is the row before.
    auto takeRows = [&](Value begin, Value end, int64_t inStep, Value start) {
      return t.loop(begin, end, inStep, start, [&](Value first, ValueRange running) {
        SmallVector<SmallVector<Index>> places;
        SmallVector<SmallVector<Value>> known;
        for (int64_t i = 0; i < inStep; ++i) {
          Value step = t.add(first, i);
          SmallVector<Index> at{isReverse ? t.subtract(t.add(rows, -1), step) : step};
          llvm::append_range(at, outer);
          known.push_back(inputs.load(t, at));
          places.push_back(std::move(at));
        }
        Value next = running[0];
        for (auto [at, arguments] : llvm::zip(places, known)) {
          arguments.push_back(next);
          SmallVector<Value> given = t.body(op.getBody(), arguments, at);
          next = given[0];
          if (all)
            t.put(given[1], *all, at);
        }
        return SmallVector<Value>{next};
      })[0];
    };
    constexpr int64_t inStep = 8;
    Value whole = t.multiply(t.divide(rows, inStep), inStep);
    Value end = takeRows(whole, rows, 1, takeRows(t.constant(0), whole, inStep, start));
    if (last)
      t.put(end, *last, flat);
  });
}

using Combine = llvm::function_ref<Value(Value, Value)>;

/// Numbers of each row that lie side by side: a lane takes neighbours of them, so many lanes of a warp share a row as
/// there are such pieces, and a warp has several rows at once.
static bool emitReduceInPieces(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows,
                               Value neutral, Combine combine) {
  ArrayRef<int64_t> sizes = op.getSizes();
  if (sizes.size() != 2 || op.getOver() != ArrayRef<int64_t>({1}) || result.type.getRank() != 1)
    return false;
  int64_t count = 8;
  while (count > 1 && (sizes[1] % count || !takesNeighbours(places, op.getDims(), 1, count)))
    count /= 2;
  int64_t pieces = sizes[1] / count, lanes = int64_t(llvm::bit_floor(uint64_t(std::min(pieces, warpThreads))));
  int64_t rowsAtOnce = warpThreads / lanes;
  if (count == 1)
    return false;
  Value first = t.multiply(t.remainder(t.lane, lanes), count), own = t.divide(t.lane, lanes);
  Value groups = t.divide(t.add(rows, rowsAtOnce - 1), rowsAtOnce);
  Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, first, t.constant(0));
  // A warp has some groups of rows in step, for what it waits for is one lane after another of the same row.
  constexpr int64_t mostInStep = 4;
  int64_t warpGroups = llvm::divideCeil(sizes[0], rowsAtOnce * t.warps());
  int64_t inStep = std::min(mostInStep, int64_t(llvm::bit_floor(uint64_t(warpGroups))));
  t.loop(t.warp, groups, inStep * t.warps(), [&](Value group) {
    SmallVector<Value> ownRows, read;
    for (int64_t i = 0; i < inStep; ++i) {
      ownRows.push_back(t.add(t.multiply(t.add(group, i * t.warps()), rowsAtOnce), own));
      read.push_back(t.smaller(ownRows.back(), t.add(rows, -1)));
    }
    SmallVector<Value> none(inStep, neutral);
    SmallVector<Value> totals =
        t.loop(first, t.constant(sizes[1]), lanes * count, none, [&](Value column, ValueRange running) {
          SmallVector<Value> sums(running);
          for (auto [row, sum] : llvm::zip(read, sums))
            for (Value number :
                 computeNeighbours(t, op.getBody(), places, op.getDims(), {Index(row), Index(column)}, count))
              sum = combine(sum, number);
          return sums;
        });
    for (Value &total : totals)
      total = t.combineLanes(total, combine, lanes);
    for (auto [row, total] : llvm::zip(ownRows, totals)) {
      Value isThere = arith::AndIOp::create(t.builder, t.loc, isFirst, t.below(row, rows));
      t.when(isThere, [&] { t.put(total, result, {Index(row)}); });
    }
  });
  return true;
}

/// Four lanes have what a warp has of a row: whole parts of it.
static void emitReduceOfRegisters(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result,
                                  Combine combine) {
  constexpr int64_t lanesOfRow = 4, unitColumns = 8;
  WarpBlock block = *spreadOverWarps(op.getSizes()[0], op.getSizes()[1], t.warps());
  int64_t parts = result.type.getRank() == 2 ? result.type.getSize(1) : 1, own = parts / block.across;
  int64_t unitsOfPart = op.getSizes()[1] / parts / unitColumns;
  RegisterPass pass(t, op.getBody(), places, op.getDims(), block);
  Value first = t.multiply(t.remainder(t.warp, block.across), own);
  SmallVector<std::pair<SmallVector<Index>, Value>> sums;
  pass.run([&](int64_t, Value row, ArrayRef<Value> given) {
    for (int64_t part = 0; part < own; ++part) {
      ArrayRef<Value> numbers = given.slice(2 * part * unitsOfPart, 2 * unitsOfPart);
      Value sum = numbers[0];
      for (Value next : numbers.drop_front())
        sum = combine(sum, next);
      SmallVector<Index> to{Index(row)};
      if (result.type.getRank() == 2)
        to.push_back(Index(first, part));
      sums.push_back({to, t.combineLanes(sum, combine, lanesOfRow)});
    }
  });
  t.when(t.below(t.remainder(t.lane, lanesOfRow), t.constant(1)), [&] {
    for (auto &[to, sum] : sums)
      t.put(sum, result, to);
  });
}

/// The input of which each row begins one step of the reduced dimension behind the row before it.
static std::optional<size_t> findMovingInput(ArrayRef<Place> places, ArrayAttr dims) {
  for (auto [number, place] : llvm::enumerate(places))
    if (cast<DenseI64ArrayAttr>(dims[number]).asArrayRef() == ArrayRef<int64_t>({0, 1, 2}) &&
        place.type.getStride(0) == place.type.getStride(1) && place.type.getSize(0) != 1 && place.type.getSize(1) != 1)
      return number;
  return std::nullopt;
}

/// A sum over a window that moves by a step from row to row, as that of a convolution. A thread has some rows of a
/// column: of that input they share all numbers but the first and the last ones, and what all rows have alike is read
/// once. Rows beyond the last one are computed as well, for what they hold has no meaning.
static bool emitMovingSum(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  constexpr int64_t atOnce = 8;
  ArrayRef<int64_t> sizes = op.getSizes();
  if (op.getKind() != Reduction::Sum || sizes.size() != 3 || op.getOver() != ArrayRef<int64_t>({1}) ||
      sizes[0] % atOnce)
    return false;
  std::optional<size_t> moving = findMovingInput(places, op.getDims());
  if (!moving)
    return false;
  auto dimsOf = [&](size_t input) { return cast<DenseI64ArrayAttr>(op.getDims()[input]).asArrayRef(); };
  auto load = [&](size_t input, ArrayRef<Index> at) {
    SmallVector<Index> indices;
    for (auto [d, dim] : llvm::enumerate(dimsOf(input)))
      indices.push_back(places[input].type.getSize(d) == 1 ? Index(0) : at[dim]);
    return t.get(places[input], indices);
  };
  auto hasRows = [&](size_t input) {
    return llvm::any_of(llvm::enumerate(dimsOf(input)),
                        [&](auto own) { return own.value() == 0 && places[input].type.getSize(own.index()) != 1; });
  };
  Value blocks = t.divide(t.add(rows, atOnce - 1), atOnce);
  int64_t mostBlocks = llvm::divideCeil(sizes[0], atOnce);
  t.deal({t.multiply(blocks, sizes[2]), mostBlocks * sizes[2]}, [&](Value item) {
    Value row = t.multiply(t.divide(item, sizes[2]), atOnce);
    Index column(t.remainder(item, sizes[2]));
    // Carried are the sums, and what the rows but the last one have of the next step.
    auto takeSteps = [&](int64_t begin, int64_t end, int64_t inStep, ValueRange start) {
      return t.loop(t.constant(begin), t.constant(end), inStep, start, [&](Value step, ValueRange carried) {
        SmallVector<Value> sums(carried.take_front(atOnce)), window(carried.drop_front(atOnce));
        for (int64_t ahead = 0; ahead < inStep; ++ahead) {
          Index now(step, ahead);
          window.push_back(load(*moving, {Index(row, atOnce - 1), now, column}));
          SmallVector<Value> alike(places.size());
          for (size_t input = 0; input < places.size(); ++input)
            if (input != *moving && !hasRows(input))
              alike[input] = load(input, {Index(row), now, column});
          for (int64_t i = 0; i < atOnce; ++i) {
            SmallVector<Index> at{Index(row, i), now, column};
            SmallVector<Value> arguments(alike);
            for (size_t input = 0; input < places.size(); ++input)
              if (!arguments[input])
                arguments[input] = input == *moving ? window[ahead + i] : load(input, at);
            sums[i] = t.plus(sums[i], t.body(op.getBody(), arguments, at).front());
          }
        }
        llvm::append_range(sums, ArrayRef(window).take_back(atOnce - 1));
        return sums;
      });
    };
    SmallVector<Value> start(atOnce, t.number(0));
    for (int64_t i = 0; i + 1 < atOnce; ++i)
      start.push_back(load(*moving, {Index(row, i), Index(0), column}));
    int64_t whole = sizes[1] / atOnce * atOnce;
    SmallVector<Value> sums(takeSteps(whole, sizes[1], 1, takeSteps(0, whole, atOnce, start)));
    for (int64_t i = 0; i < atOnce; ++i)
      t.put(sums[i], result, {Index(row, i), column});
  });
  return true;
}

void nvvm::emitReduce(TeamCode &t, ReduceOp op, ArrayRef<Place> places, const Place &result, Value rows) {
  ArrayRef<int64_t> sizes = op.getSizes(), over = op.getOver();
  Inputs inputs{places, op.getDims()};
  bool max = op.getKind() == Reduction::Max;
  auto combine = [&](Value a, Value b) -> Value {
    return max ? arith::MaximumFOp::create(t.builder, t.loc, a, b).getResult() : t.plus(a, b);
  };
  if (llvm::any_of(places, [](const Place &place) { return place.registers; }))
    return emitReduceOfRegisters(t, op, places, result, combine);
  if (areRowDots(op, places, result))
    return emitRowDots(t, op, places, result, rows);
  Value neutral = t.number(max ? -std::numeric_limits<double>::infinity() : 0);
  if (emitReduceInPieces(t, op, places, result, rows, neutral, combine) || emitMovingSum(t, op, places, result, rows))
    return;
  SmallVector<int64_t> keptDims, reducedSizes;
  for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim)
    if (!llvm::is_contained(over, dim))
      keptDims.push_back(dim);
  for (int64_t dim : over)
    reducedSizes.push_back(sizes[dim]);
  int64_t reduced = llvm::product_of(reducedSizes);
  // Neighbours that are added up are read by neighbours.
  bool byWarps = reduced >= warpThreads && llvm::is_contained(over, int64_t(sizes.size()) - 1);
  auto sum = [&](Value index) {
    SmallVector<Index> to = t.takeApart(index, result.type.getShape()), at(sizes.size());
    for (auto [dim, place] : llvm::zip(keptDims, to))
      at[dim] = place;
    Value begin = byWarps ? t.lane : t.constant(0);
    Value total =
        t.loop(begin, t.constant(reduced), byWarps ? warpThreads : 1, neutral, [&](Value element, ValueRange running) {
          for (auto [dim, place] : llvm::zip(over, t.takeApart(element, reducedSizes)))
            at[dim] = place;
          Value value = t.body(op.getBody(), inputs.load(t, at), at).front();
          return SmallVector<Value>{combine(running[0], value)};
        })[0];
    if (!byWarps)
      return t.put(total, result, to);
    total = t.combineLanes(total, combine);
    Value isFirst = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.lane, t.constant(0));
    t.when(isFirst, [&] { t.put(total, result, to); });
  };
  Count count = countIn(t, rows, result.type.getShape());
  byWarps ? t.dealToWarps(count.value, sum) : t.deal(count, sum);
}

void nvvm::emitTranspose(TeamCode &t, const Place &source, Value rows, const Place &result) {
  ArrayRef<int64_t> sizes = source.type.getShape();
  t.dealInStep(
      countIn(t, rows, sizes), 4,
      [&](Value index) { return SmallVector<Value>{t.get(source, t.takeApart(index, sizes))}; },
      [&](Value index, ArrayRef<Value> element) {
        SmallVector<Index> at = t.takeApart(index, sizes);
        t.put(element[0], result, {at[1], at[0]});
      });
}
