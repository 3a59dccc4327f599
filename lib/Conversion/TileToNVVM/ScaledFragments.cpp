// Products under a running scale of each channel, where the scales come as logarithms.
//
// The logarithm of what lies between a row and a column is a sum over the indices between them. Sums over 16 indices
// are a product of the matrix units with a triangle of ones, in f32, and what such a product leaves in a lane are the
// sums of the very elements that the lane has of a factor. So rows and columns are scaled in registers, without an
// exchange:
// - A block of 16 indices with itself: rows are scaled from the start of their eight, columns by the inverse, in tf32.
//   Rows that have met a sum beyond the range take halves (ScaledPairs.cpp), whatever later rows have met.
// - Blocks further apart: rows are scaled from where their halves of an aligned range meet, by a triangle of their own
//   block and by ones of the blocks between. So are columns, which are left in the work tile for the warps that have
//   rows.
// A triangle's zeros meet steps of later indices, so steps are bounded: what is no number becomes one that no row stays
// steady with, and a finite one beyond the bound leaves nothing of a scale either way.
// Ops that have the same columns are made together: the sums, their exponentials and the scaled columns are the same.
#include "Conversion/TileToNVVM/InlinePTX.h"
#include "Conversion/TileToNVVM/ScaledPairs.h"
#include "Conversion/TileToNVVM/StepSums.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "dialects/Tile/SteadyProducts.h"
#include <cmath>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

namespace {
/// What lies between an index of the earlier eight and the later ones is no more than this, or the later ones take
/// halves.
constexpr double mostAhead = 96;
/// Operands are scaled by this power of two more, for what matrix units cut off.
const double cutOff = std::log2(centredTF32);

/// One of an index's rows of an op.
struct Slot {
  const DotsOfRows *dots;
  int64_t which;
};

/// Code of one warp for blocks of 16 indices and steps of 16 channels.
class SumFragments : public StepSums {
public:
  SumFragments(TeamCode &t, ArrayRef<DotsOfRows> all, const Place &right, const Place &scales,
               std::optional<Place> work)
      : StepSums(t, scales, Base::Two), all(all), op(all.front().op), right(right), scales(scales), work(work),
        rowsPerIndex(op.getPoints().size()), columnsPerIndex(op.getSteps().size()), channels(scales.type.getSize(1)) {
    auto own = addressedPiece(t, t.lane, BlockOrder::UpperFirst);
    columnDown = own.row;
    columnAcross = t.multiply(own.piece, pieceHalves);
  }

  void emitBlock(Value block, ArrayRef<Slot> slots, ArrayRef<int64_t> writes);
  void leaveColumns(int64_t half, int64_t firstColumn, Value side, int64_t write, Value begin, Value end);
  void emitFarBlock(int64_t half, int64_t firstColumn, Value side, ArrayRef<Slot> slots, Value indices);

private:
  /// For rows up to their own index, and for rows before it: of each kind of which there are any.
  std::array<SmallVector<Words>, 2> rowTriangles(ArrayRef<Slot> slots, Within within) {
    std::array<SmallVector<Words>, 2> kinds;
    for (Slot slot : slots)
      if (SmallVector<Words> &kind = kinds[isBefore(slot) ? 1 : 0]; kind.empty())
        kind = triangle(isBefore(slot) ? Reach::BeforeOwn : Reach::UpToOwn, within);
    return kinds;
  }
  /// Steps of channels, one after another: unrolled they take registers that a second CTA lacks.
  SmallVector<Value> loopOverChannels(Value begin, Value end, ValueRange initial, TeamCode::CarryBody body) {
    return t.loop(begin, forget(t, end), stepChannels, initial, body);
  }
  /// 16 columns of the work tile as right factors.
  Words loadColumns(Value first, Value channel);
  Numbers scaled(const Numbers &numbers, const Numbers &logarithms) {
    Numbers product;
    for (auto [number, logarithm] : llvm::zip(numbers, logarithms))
      product.push_back(t.mul(number, exp2(logarithm)));
    return product;
  }
  Numbers powers(const Numbers &logarithms) {
    return Numbers(llvm::map_range(logarithms, [&](Value x) { return exp2(x); }));
  }
  /// As a left factor.
  Words packed(const Numbers &numbers) {
    Words words;
    for (size_t i = 0; i < 8; i += 2)
      words.push_back(pack(numbers[i], numbers[i + 1]));
    return words;
  }
  static int64_t pointOf(Slot slot) {
    ScaledDotsOp own = slot.dots->op;
    return own.getPoints()[size_t(slot.which)];
  }
  static bool isBefore(Slot slot) { return pointOf(slot) == pointBeforeScale; }
  /// The row of an index.
  Value rowOf(Slot slot, Value index) { return t.add(t.multiply(index, rowsPerIndex), slot.which); }
  /// Of the rows that are not steady. A lane says whether its rows r and r + 8 are.
  void emitByHalves(Value block, ArrayRef<Slot> slots, ArrayRef<int64_t> writes, const std::array<Value, 2> &isSteady);
  /// Whether each of a lane's two rows is within the range, and all before it.
  std::array<Value, 2> areSteady(ArrayRef<Value> most);
  /// Of sums, which are bounded and so are numbers.
  Value larger(Value a, Value b) { return arith::MaxNumFOp::create(t.builder, t.loc, a, b); }

  ArrayRef<DotsOfRows> all;
  ScaledDotsOp op; // any of them, for what they have in common
  const Place &right, &scales;
  std::optional<Place> work;
  int64_t rowsPerIndex, columnsPerIndex, channels;
  Value columnDown, columnAcross; // the same of a right factor's
};
} // namespace

Words SumFragments::loadColumns(Value first, Value channel) {
  if (hasMatrices(*work))
    return loadMatrices(*work, t.add(first, columnDown), t.add(channel, columnAcross), /*isAcross=*/false);
  Type two = VectorType::get(2, t.builder.getBF16Type());
  Words words;
  for (int64_t later : {0, 8})
    for (int64_t eight : {0, 8}) {
      Value row = t.add(t.add(first, group), later), column = t.add(t.add(channel, pair), eight);
      words.push_back(asWord(t.load(t.address(*work, {Index(row), Index(column)}), two)));
    }
  return words;
}

/// `most` has the largest sizes of both rows' sums from the first of their eight, and the largest sum between an index
/// of the earlier eight and the later ones.
std::array<Value, 2> SumFragments::areSteady(ArrayRef<Value> most) {
  auto acrossLanes = [&](Value number, ArrayRef<int64_t> distances) {
    for (int64_t distance : distances)
      number = larger(number, NVVM::ShflOp::create(t.builder, t.loc, number.getType(), t.constant(-1), number,
                                                   t.constant(distance), t.constant(warpThreads - 1),
                                                   NVVM::ShflKind::bfly, UnitAttr()));
    return number;
  };
  std::array<Value, 2> own{acrossLanes(most[0], {1, 2}), acrossLanes(most[1], {1, 2})};
  for (Value &number : own)
    for (int64_t distance = 4; distance < warpThreads; distance *= 2)
      number =
          t.select(t.below(t.lane, t.constant(distance)), number, larger(t.fromLaneBefore(number, distance), number));
  auto isWithin = [&](Value number, double limit) -> Value {
    return arith::CmpFOp::create(t.builder, t.loc, arith::CmpFPredicate::OLE, number, t.number(limit));
  };
  auto both = [&](Value a, Value b) -> Value { return arith::AndIOp::create(t.builder, t.loc, a, b); };
  constexpr auto limit = double(steadyBits);
  Value earlier = both(isWithin(t.fromLane(own[0], warpThreads - 1), boundedSum),
                       isWithin(acrossLanes(most[2], {1, 2, 4, 8, 16}), mostAhead));
  return {isWithin(own[0], limit), both(isWithin(own[1], limit), earlier)};
}

void SumFragments::emitByHalves(Value block, ArrayRef<Slot> slots, ArrayRef<int64_t> writes,
                                const std::array<Value, 2> &isSteady) {
  auto vote = [&](Value isOwn) -> Value {
    return NVVM::VoteSyncOp::create(t.builder, t.loc, t.builder.getI32Type(), t.constant(-1), isOwn,
                                    NVVM::VoteSyncKind::ballot);
  };
  std::array<Value, 2> steadyLanes{vote(isSteady[0]), vote(isSteady[1])};
  // A lane has rows r and r + 8, and here 2 r and 2 r + 1.
  Value eight = t.select(t.below(group, t.constant(4)), steadyLanes[0], steadyLanes[1]),
        inEight = t.remainder(group, 4);
  std::array<Value, 2> isWanted;
  for (int64_t odd : {0, 1}) {
    Value lane = t.add(t.multiply(inEight, 2 * wordsOfPiece), wordsOfPiece * odd),
          bit = arith::ShRUIOp::create(t.builder, t.loc, eight, lane);
    isWanted[size_t(odd)] = t.below(t.remainder(bit, 2), t.constant(1));
  }
  for (const DotsOfRows &dots : all) {
    SmallVector<int64_t> own;
    for (Slot slot : slots)
      if (slot.dots == &dots)
        own.push_back(slot.which);
    if (!own.empty())
      emitPairsByHalves(t, dots.op, dots.rows, right, scales, dots.result, block, own, writes, isWanted);
  }
}

/// The pairs of a block with itself, of these rows and columns of each index.
void SumFragments::emitBlock(Value block, ArrayRef<Slot> slots, ArrayRef<int64_t> writes) {
  SmallVector<Words> back = triangle(Reach::UpToOwn, Within::Eight, /*isNegative=*/true),
                     between = triangle(Reach::BehindOwn, Within::Eight);
  auto ofRows = rowTriangles(slots, Within::Eight);
  // Of each pair of a row and a column of an index: the earlier eight with themselves, the later ones with them, and
  // the later ones with themselves.
  constexpr size_t ofPair = 12;
  size_t count = ofPair * slots.size() * writes.size();
  SmallVector<Value> carried(count + 3, t.number(0));
  carried = loopOverChannels(t.constant(0), t.constant(channels), carried, [&](Value channel, ValueRange values) {
    SmallVector<Value> next = llvm::to_vector_of<Value>(values);
    SmallVector<Words> steps = loadSteps(block, channel);
    Numbers inverse = sumsFrom(cutOff), ahead = sumsFrom(cutOff), sofar[2] = {sumsFrom(cutOff), sumsFrom(cutOff)};
    addSums(back, steps, inverse);
    addSums(between, steps, ahead);
    for (size_t kind : {0, 1})
      if (!ofRows[kind].empty())
        addSums(ofRows[kind], steps, sofar[kind]);
    for (size_t i = 0; i < 8; ++i) {
      Value &most = next[count + size_t(SumsLayout::lowerOf(int64_t(i)))];
      most = larger(most, math::AbsFOp::create(t.builder, t.loc, inverse[i]));
    }
    for (size_t i : {0, 1, 4, 5}) // of the earlier eight
      next[count + 2] = larger(next[count + 2], ahead[i]);
    inverse = powers(inverse);
    ahead = powers(ahead);
    for (size_t kind : {0, 1})
      if (!ofRows[kind].empty())
        sofar[kind] = powers(sofar[kind]);
    auto times = [&](const Numbers &a, const Numbers &b) {
      Words words;
      for (auto [x, y] : llvm::zip(a, b))
        words.push_back(asWord(t.mul(x, y)));
      return words;
    };
    SmallVector<Words> columns, aheadColumns;
    SmallVector<Numbers> rawColumns;
    for (int64_t write : writes) {
      rawColumns.push_back(loadRows(right, block, columnsPerIndex, write, channel));
      columns.push_back(times(rawColumns.back(), inverse));
      aheadColumns.push_back(times(rawColumns.back(), ahead));
    }
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      DotsOfRows dots = *slots[slot].dots;
      bool isSame = dots.op.getLeft() == op.getRight() && rowsPerIndex == 1 && columnsPerIndex == 1;
      Numbers raw = isSame ? rawColumns[0] : loadRows(dots.rows, block, rowsPerIndex, slots[slot].which, channel);
      Words rows = times(raw, sofar[isBefore(slots[slot]) ? 1 : 0]);
      for (size_t write = 0; write < writes.size(); ++write)
        for (size_t eight : {0, 4}) { // of the channels
          size_t place = ofPair * (slot * writes.size() + write);
          auto sums = [&](size_t from) { return MutableArrayRef(next).slice(place + from, 4); };
          auto columnsOf = [&](const SmallVector<Words> &of, size_t from) {
            return ArrayRef<Value>(of[write]).slice(eight + from, 2);
          };
          Value factor[FactorLayout::leftWords];
          for (size_t word = 0; word < std::size(factor); ++word)
            factor[word] = rows[eight + size_t(exchangedNumber(int64_t(word)))];
          multiplyByWarp(t, factor, columnsOf(columns, 0), sums(0), NVVM::MMATypes::tf32);
          multiplyByWarp(t, factor, columnsOf(aheadColumns, 0), sums(4), NVVM::MMATypes::tf32);
          multiplyByWarp(t, factor, columnsOf(columns, 2), sums(8), NVVM::MMATypes::tf32);
        }
    }
    return next;
  });
  std::array<Value, 2> isSteady = areSteady(ArrayRef(carried).drop_front(count));
  Value first = t.multiply(block, blockIndices);
  for (size_t slot = 0; slot < slots.size(); ++slot)
    for (size_t write = 0; write < writes.size(); ++write) {
      ArrayRef<Value> own = ArrayRef(carried).slice(ofPair * (slot * writes.size() + write), ofPair);
      // A row sees the columns before its index, and its own if that is said.
      int64_t sees = op.getSteps()[size_t(writes[write])] < pointOf(slots[slot]) ? 1 : 0;
      auto leave = [&](int64_t rowEight, int64_t columnEight, ArrayRef<Value> two) {
        Value index = t.add(group, 8 * rowEight);
        Value row = rowOf(slots[slot], t.add(first, index));
        for (int64_t odd : {0, 1}) {
          Value column = t.add(pair, 8 * columnEight + odd), isThere = isSteady[size_t(rowEight)];
          if (rowEight == columnEight)
            isThere = arith::AndIOp::create(t.builder, t.loc, isThere, t.below(column, t.add(index, sees)));
          t.when(isThere, [&] {
            t.put(two[size_t(odd)], slots[slot].dots->result,
                  {row, t.add(t.multiply(t.add(first, column), columnsPerIndex), writes[write])});
          });
        }
      };
      leave(0, 0, own.slice(0, 2));
      leave(1, 0, own.slice(6, 2));
      leave(1, 1, own.slice(10, 2));
    }
  unlessSteady(t, isSteady, [&] { emitByHalves(block, slots, writes, isSteady); });
}

/// Where a half lies, in blocks: `side` counts the blocks of all halves of one kind.
static std::pair<Value, Value> findHalf(TeamCode &t, Value side, int64_t blocks) {
  Value range = t.divide(side, blocks);
  return {t.multiply(range, 2 * blocks), t.remainder(side, blocks)};
}

/// Scales a block of columns of lower halves up to where the halves meet, for some of the channels.
void SumFragments::leaveColumns(int64_t half, int64_t firstColumn, Value side, int64_t write, Value begin, Value end) {
  int64_t blocks = half / blockIndices;
  auto [lower, own] = findHalf(t, side, blocks);
  Value block = t.add(lower, own);
  SmallVector<Words> behind = triangle(Reach::BehindOwn);
  SmallVector<SmallVector<Words>> between; // of the blocks that lie behind
  for (int64_t other = 1; other < blocks; ++other)
    between.push_back(onesIf(t.below(own, t.constant(other))));
  Value firstRow = t.multiply(side, blockIndices);
  loopOverChannels(begin, end, {}, [&](Value channel, ValueRange) {
    Numbers sums = sumsFrom(0);
    for (int64_t other = 1; other < blocks; ++other)
      addSums(between[size_t(other - 1)], loadSteps(t.add(lower, other), channel), sums);
    addSums(behind, loadSteps(block, channel), sums);
    Words words = packed(scaled(loadRows(right, block, columnsPerIndex, write, channel), sums));
    Type two = VectorType::get(2, t.builder.getBF16Type());
    for (int64_t i = 0; i < FactorLayout::leftWords; ++i) {
      KnownPosition offset = FactorLayout::ofHalves().offsetOfLeft(i);
      Value index = t.add(firstRow, t.add(group, offset.row));
      Value row = t.add(t.multiply(index, columnsPerIndex), firstColumn + write);
      Value column = t.add(t.add(channel, pair), offset.column);
      t.store(LLVM::BitcastOp::create(t.builder, t.loc, two, words[size_t(i)]),
              t.address(*work, {Index(row), Index(column)}));
    }
    return SmallVector<Value>();
  });
}

/// The dots of a block of rows of upper halves with all columns of the lower ones.
void SumFragments::emitFarBlock(int64_t half, int64_t firstColumn, Value side, ArrayRef<Slot> slots, Value indices) {
  int64_t blocks = half / blockIndices, columns = half * columnsPerIndex;
  auto [lower, own] = findHalf(t, side, blocks);
  Value upper = t.add(lower, blocks), block = t.add(upper, own);
  auto kinds = rowTriangles(slots, Within::Block);
  SmallVector<SmallVector<Words>> between; // of the blocks that lie before
  for (int64_t other = 0; other + 1 < blocks; ++other)
    between.push_back(onesIf(t.below(t.constant(other), own)));
  Value firstWork = t.add(t.multiply(t.divide(lower, 2), blockIndices * columnsPerIndex), firstColumn);
  // So many columns at once as leave a thread its registers.
  int64_t atOnce = std::min<int64_t>(columns, std::max<int64_t>(16, 64 / int64_t(slots.size())));
  t.when(t.below(t.multiply(block, blockIndices), indices), [&] {
    for (int64_t from = 0; from < columns; from += atOnce) {
      int64_t count = std::min(atOnce, columns - from), perSlot = count / 2; // numbers of a lane
      SmallVector<Value> dots(size_t(perSlot) * slots.size(), t.number(0));
      dots = loopOverChannels(t.constant(0), t.constant(channels), dots, [&](Value channel, ValueRange values) {
        SmallVector<Value> next = llvm::to_vector_of<Value>(values);
        Numbers common = sumsFrom(0);
        for (int64_t other = 0; other + 1 < blocks; ++other)
          addSums(between[size_t(other)], loadSteps(t.add(upper, other), channel), common);
        SmallVector<Words> steps = loadSteps(block, channel);
        Numbers sums[2] = {common, common};
        for (size_t kind : {0, 1})
          if (!kinds[kind].empty())
            addSums(kinds[kind], steps, sums[kind]);
        SmallVector<Words> rows;
        for (Slot slot : slots) {
          Numbers raw = loadRows(slot.dots->rows, block, rowsPerIndex, slot.which, channel);
          rows.push_back(packed(scaled(raw, sums[isBefore(slot) ? 1 : 0])));
        }
        for (int64_t column = 0; column < count; column += 16) {
          Words factors = loadColumns(t.add(firstWork, from + column), channel);
          for (size_t slot = 0; slot < slots.size(); ++slot)
            for (size_t later : {0, 1})
              multiplyByWarp(t, rows[slot], ArrayRef(factors).slice(2 * later, 2),
                             MutableArrayRef(next).slice(slot * size_t(perSlot) + size_t(column / 2) + 4 * later, 4),
                             NVVM::MMATypes::bf16);
        }
        return next;
      });
      for (size_t slot = 0; slot < slots.size(); ++slot)
        for (size_t below : {0, 1}) {
          Value index = t.add(t.multiply(block, blockIndices), t.add(group, int64_t(8 * below)));
          Value row = rowOf(slots[slot], index);
          t.when(t.below(index, indices), [&] {
            for (int64_t eight = 0; eight < count; eight += 8) {
              size_t place = slot * size_t(perSlot) + size_t(eight / 2) + 2 * below;
              Value column = t.add(t.add(t.multiply(lower, blockIndices * columnsPerIndex), pair), from + eight);
              t.putNeighbours(ArrayRef(dots).slice(place, 2), slots[slot].dots->result, {Index(row), Index(column)});
            }
          });
        }
    }
  });
}

void nvvm::emitDotsOfSums(TeamCode &t, ArrayRef<DotsOfRows> all, const Place &right, const Place &scales,
                          std::optional<Place> work, Value rows) {
  constexpr size_t mostPairs = 2; // of rows and columns of an index at once, each pair of which has sums in registers
  ScaledDotsOp op = all.front().op;
  int64_t chunk = scales.type.getSize(0), channels = scales.type.getSize(1), rowsPerIndex = op.getPoints().size(),
          columnsPerIndex = op.getSteps().size();
  SmallVector<int64_t> writes = llvm::to_vector(llvm::seq<int64_t>(0, columnsPerIndex));
  SmallVector<Slot> slots;
  for (const DotsOfRows &dots : all)
    for (int64_t which = 0; which < rowsPerIndex; ++which)
      slots.push_back({&dots, which});
  size_t writesAtOnce = std::min(writes.size(), mostPairs), slotsAtOnce = mostPairs / writesAtOnce;
  auto slotsFrom = [&](size_t slot) { return ArrayRef(slots).slice(slot, std::min(slotsAtOnce, slots.size() - slot)); };
  Value indices = t.divide(rows, rowsPerIndex), blocks = t.divide(t.add(indices, blockIndices - 1), blockIndices);
  SumFragments code(t, all, right, scales, work);
  auto firstColumnOf = [&](int64_t half) {
    return int64_t(llvm::Log2_64(uint64_t(half / blockIndices))) * chunk / 2 * columnsPerIndex;
  };
  /// Deals units to warps, beginning with a certain one.
  auto deal = [&](Value count, int64_t firstWarp, llvm::function_ref<void(Value)> body) {
    Value own = t.remainder(t.add(t.warp, t.warps() - firstWarp % t.warps()), t.warps());
    t.loop(own, count, t.warps(), body);
  };
  int64_t sides = chunk / 2 / blockIndices, warp = 0;
  // Channels are split where there are more warps than blocks.
  int64_t splits = channels % (2 * stepChannels) == 0 ? 2 : 1, width = channels / splits;
  for (int64_t half = blockIndices; half < int64_t(op.getBlock()); half *= 2)
    for (int64_t write : writes) {
      deal(t.constant(sides * splits), warp, [&](Value unit) {
        Value begin = t.multiply(t.remainder(unit, splits), width);
        code.leaveColumns(half, firstColumnOf(half), t.divide(unit, splits), write, begin, t.add(begin, width));
      });
      warp += sides * splits;
    }
  if (work)
    t.barrier();
  deal(blocks, 0, [&](Value block) {
    for (size_t slot = 0; slot < slots.size(); slot += slotsAtOnce)
      for (size_t write = 0; write < writes.size(); write += writesAtOnce)
        code.emitBlock(block, slotsFrom(slot),
                       ArrayRef(writes).slice(write, std::min(writesAtOnce, writes.size() - write)));
  });
  warp = chunk / blockIndices;
  for (int64_t half = blockIndices; half < int64_t(op.getBlock()); half *= 2) {
    deal(t.constant(sides), warp, [&](Value side) {
      for (size_t slot = 0; slot < slots.size(); slot += slotsAtOnce)
        code.emitFarBlock(half, firstColumnOf(half), side, slotsFrom(slot), indices);
    });
    warp += sides;
  }
}
