#include "Conversion/TileToNVVM/ChainSummaries.h"
#include "Conversion/TileToNVVM/Warpgroup.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;
using StepKind = StateChain::StepKind;

static constexpr int64_t unit = FactorLayout::ofHalves().inner;

namespace {

class SummaryCode {
public:
  SummaryCode(TeamCode &team, const StateChain &chain, const SegmentSummaries &summaries)
      : t(team), code(team), chain(chain), summaries(summaries) {}

  SmallVector<Value> loadState(Value segment);
  void storeState(ValueRange state);
  SmallVector<Value> makeIdentity();
  void storeMap(ValueRange state);
  /// What becomes of a state in a segment, but for what is added.
  SmallVector<Value> scale(ValueRange state, Value segment);
  SmallVector<Value> multiply(ValueRange state, Value segment, Value base);
  /// The last segment before the CTA's own which forgets what was before; else the first.
  Value findFirst();

private:
  Type f32() { return t.builder.getF32Type(); }
  Value placeOf(Value first, Value segment) {
    return t.offset(first, t.multiplyWide(t.widen(segment), summaries.stride), t.builder.getI8Type());
  }
  Value ownPlace(Value segment) { return t.offset(placeOf(summaries.states, segment), t.widen(t.thread), f32()); }
  Value after(Value pointer, int64_t numbers) {
    return LLVM::GEPOp::create(t.builder, t.loc, pointer.getType(), f32(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(numbers)});
  }
  /// Of the thread's first number.
  Value rowInMap() {
    Value inBlock = rowOfWarp(t, t.warp, t.lane);
    return t.add(t.multiply(summaries.rowBlock, StateChain::channels), inBlock);
  }
  Value firstColumn() { return pairOfLane(t, t.lane); }
  /// Two numbers rounded, and what that leaves of them.
  struct Halves {
    Value rounded, rest;
  };
  Halves split(Value low, Value high);
  PanelLayout layout() const { return {chain.keys, /*elementBytes=*/2}; }
  int64_t tileBytes() const { return layout().bytes(chain.keys); }
  void copyMap(Value segment, Value base);
  void waitForAll() { code.anyOfWarpgroup(arith::ConstantIntOp::create(t.builder, t.loc, 0, 1)); }

  TeamCode &t;
  WarpgroupCode code;
  const StateChain &chain;
  const SegmentSummaries &summaries;
};

} // namespace

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<Value> SummaryCode::loadState(Value segment) {
  Value own = ownPlace(segment);
  SmallVector<Value> state;
  for (int64_t i = 0; i < chain.keys / 2; ++i)
    state.push_back(t.load(after(own, i * StateChain::stateThreads), f32()));
  return state;
}

void SummaryCode::storeState(ValueRange state) {
  Value own = ownPlace(summaries.segment);
  for (auto [i, number] : llvm::enumerate(state))
    t.store(number, after(own, int64_t(i) * StateChain::stateThreads));
}

//===----------------------------------------------------------------------===//
// What becomes of them
//===----------------------------------------------------------------------===//

SmallVector<Value> SummaryCode::makeIdentity() {
  Value row = rowInMap(), column = firstColumn();
  SmallVector<Value> state;
  for (int64_t i = 0; i < chain.keys / 2; ++i) {
    KnownPosition offset = warpSums.offsetOf(i);
    Value isOne = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, t.add(row, offset.row),
                                        t.add(column, offset.column));
    state.push_back(t.select(isOne, t.number(1), t.number(0)));
  }
  return state;
}

SummaryCode::Halves SummaryCode::split(Value low, Value high) {
  Value rounded = code.pack(low, high);
  auto [first, second] = code.unpack(rounded);
  return {rounded, code.pack(t.minus(low, first), t.minus(high, second))};
}

void SummaryCode::storeMap(ValueRange state) {
  Type word = t.builder.getI32Type();                                   // of two numbers
  Value row = rowInMap(), isRow = t.below(row, t.constant(chain.keys)); // for all rows of a warp
  t.when(isRow, [&] {
    Value offset = t.add(t.multiply(row, chain.keys), firstColumn());
    Value first = t.offset(placeOf(summaries.maps, summaries.segment), t.widen(offset), t.builder.getBF16Type());
    auto store = [&](Value both, int64_t elements) {
      t.store(both, LLVM::GEPOp::create(t.builder, t.loc, first.getType(), word, first,
                                        ArrayRef<LLVM::GEPArg>{int32_t(elements / 2)}));
    };
    for (int64_t i = 0; i < chain.keys / 2; i += 2) {
      KnownPosition offset = warpSums.offsetOf(i);
      int64_t place = offset.row * chain.keys + offset.column;
      Halves halves = split(state[i], state[i + 1]);
      store(halves.rounded, place);
      store(halves.rest, chain.keys * chain.keys + place);
    }
  });
}

SmallVector<Value> SummaryCode::scale(ValueRange state, Value segment) {
  SmallVector<Value> scaled(state);
  Value own = t.offset(placeOf(summaries.maps, segment), t.widen(firstColumn()), f32());
  for (int64_t first = 0; first < chain.keys / 2; first += SumsLayout::numbersOfUnit) {
    Value two = t.load(after(own, warpSums.offsetOf(first).column), VectorType::get(2, f32()));
    for (int64_t number = first; number < first + SumsLayout::numbersOfUnit; ++number) {
      Value factor = LLVM::ExtractElementOp::create(t.builder, t.loc, two, t.constant(SumsLayout::secondOf(number)));
      scaled[size_t(number)] = t.mul(scaled[size_t(number)], factor);
    }
  }
  return scaled;
}

/// As two tiles of keys, whose tokens are the map's rows.
void SummaryCode::copyMap(Value segment, Value base) {
  int64_t pieces = chain.keys / pieceHalves, rows = 2 * chain.keys, threads = StateChain::stateThreads;
  Value map = placeOf(summaries.maps, segment);
  for (int64_t first = 0; first < rows * pieces; first += threads) {
    Value index = t.add(t.thread, first);
    auto copy = [&] {
      Value row = t.divide(index, pieces), piece = t.remainder(index, pieces);
      Value isRest = t.below(t.constant(chain.keys - 1), row);
      Value tile = t.add(base, t.select(isRest, t.constant(tileBytes()), t.constant(0)));
      row = t.add(row, t.select(isRest, t.constant(-chain.keys), t.constant(0)));
      Value from = t.offset(map, t.widen(t.multiply(index, pieceBytes)), t.builder.getI8Type());
      code.copy(code.placeInPanels(tile, chain.keys, row, piece), from, pieceBytes, t.constant(pieceBytes));
    };
    first + threads <= rows *pieces ? copy() : t.when(t.below(index, t.constant(rows * pieces)), copy);
  }
}

SmallVector<Value> SummaryCode::multiply(ValueRange state, Value segment, Value base) {
  waitForAll(); // no warp multiplies the map before any more
  copyMap(segment, base);
  SmallVector<Value> sums = loadState(segment), rounded, rest;
  for (size_t i = 0; i < state.size(); i += 2) {
    Halves halves = split(state[i], state[i + 1]);
    rounded.push_back(halves.rounded);
    rest.push_back(halves.rest);
  }
  code.waitForCopies();
  code.fence();
  waitForAll();
  SmallVector<int64_t> places;
  for (int64_t row = 0; row < chain.keys; row += unit)
    places.push_back(row * PanelLayout::rowBytes);
  auto add = [&](ArrayRef<Value> left, int64_t tile) {
    RightFactor factor{t.add(base, tile), layout().panelBytes()};
    sums = code.settle(code.multiply(FactorKind::BF16, left, factor, places, chain.keys, true, sums), 0);
  };
  add(rest, 0);
  add(rounded, tileBytes());
  add(rounded, 0);
  return sums;
}

/// A lane looks at the word of one segment.
Value SummaryCode::findFirst() {
  Type word = t.builder.getI32Type();
  Value segment = t.add(t.subtract(summaries.segment, t.lane), -1), zero = t.constant(0);
  Value isSegment = t.below(t.constant(-1), segment);
  Value slot = placeOf(summaries.maps, t.select(isSegment, segment, zero));
  slot = LLVM::GEPOp::create(t.builder, t.loc, slot.getType(), t.builder.getI8Type(), slot,
                             ArrayRef<LLVM::GEPArg>{int32_t(summaries.forgottenOffset)});
  Value isForgotten = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, t.load(slot, word), zero);
  isForgotten = arith::AndIOp::create(t.builder, t.loc, isForgotten, isSegment);
  Value lanes =
      LLVM::CallIntrinsicOp::create(t.builder, t.loc, word, t.builder.getStringAttr("llvm.nvvm.vote.ballot.sync"),
                                    ValueRange{t.constant(-1), isForgotten})
          .getResult(0);
  Value any = arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::ne, lanes, zero);
  Value nearest = math::CountTrailingZerosOp::create(t.builder, t.loc, lanes);
  return t.select(any, t.add(t.subtract(summaries.segment, nearest), -1), zero);
}

//===----------------------------------------------------------------------===//
// Starts and ends
//===----------------------------------------------------------------------===//

static SmallVector<Value> chooseState(TeamCode &t, Value condition, int64_t count,
                                      llvm::function_ref<SmallVector<Value>()> first,
                                      llvm::function_ref<SmallVector<Value>()> second) {
  auto choice = scf::IfOp::create(t.builder, t.loc, SmallVector<Type>(count, t.builder.getF32Type()), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.builder);
  t.builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(t.builder, t.loc, first());
  t.builder.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(t.builder, t.loc, second());
  return llvm::to_vector_of<Value>(choice.getResults());
}

SmallVector<Value> nvvm::emitStart(TeamCode &t, const StateChain &chain, const SegmentSummaries &summaries, Value base,
                                   llvm::function_ref<SmallVector<Value>()> load) {
  SummaryCode code(t, chain, summaries);
  auto follow = [&] {
    auto next = [&](Value segment, ValueRange state) -> SmallVector<Value> {
      if (summaries.hasMaps)
        return code.multiply(state, segment, base);
      SmallVector<Value> scaled =
          ColumnFactors::isScaled(chain) ? code.scale(state, segment) : SmallVector<Value>(state);
      for (auto [number, own] : llvm::zip(scaled, code.loadState(segment)))
        number = t.plus(number, own);
      return scaled;
    };
    Value first = summaries.forgottenOffset ? code.findFirst() : t.constant(0);
    return t.loop(t.add(first, 1), summaries.segment, 1, code.loadState(first), next);
  };
  return chooseState(t, t.below(t.constant(0), summaries.segment), chain.keys / 2, follow, load);
}

SmallVector<Value> nvvm::emitOwnStart(TeamCode &t, const StateChain &chain, const SegmentSummaries &summaries,
                                      llvm::function_ref<SmallVector<Value>()> load) {
  if (!summaries.mapsState)
    return load();
  auto makeIdentity = [&] { return SummaryCode(t, chain, summaries).makeIdentity(); };
  return chooseState(t, summaries.mapsState, chain.keys / 2, makeIdentity, load);
}

void nvvm::emitSummary(TeamCode &t, const StateChain &chain, const SegmentSummaries &summaries, ValueRange state) {
  SummaryCode code(t, chain, summaries);
  if (!summaries.mapsState)
    return code.storeState(state);
  auto storeMap = [&] { code.storeMap(state); };
  auto storeKnown = [&] {
    if (!summaries.isForgotten)
      return storeMap();
    Value isNeeded = arith::XOrIOp::create(t.builder, t.loc, summaries.isForgotten,
                                           arith::ConstantIntOp::create(t.builder, t.loc, 1, 1));
    t.when(isNeeded, storeMap);
  };
  t.either(summaries.mapsState, storeKnown, [&] { code.storeState(state); });
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

bool ColumnFactors::isScaled(const StateChain &chain) {
  return llvm::any_of(chain.steps, [](const StateChain::Step &step) {
    return step.kind == StepKind::Advance && step.scale.has_value();
  });
}

SmallVector<Value> ColumnFactors::begin() {
  return SmallVector<Value>(llvm::divideCeil(chain.keys, warpThreads), t.number(1));
}

SmallVector<Value> ColumnFactors::take(ValueRange factors, Value numbers) {
  SmallVector<Value> next(factors);
  auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace);
  for (const StateChain::Step &step : chain.steps) {
    if (step.kind != StepKind::Advance || !step.scale)
      continue;
    const StateChain::Load &load = chain.loads[step.scale->number];
    bool isOne = load.type().getShape().back() == 1;
    Value own = LLVM::IntToPtrOp::create(t.builder, t.loc, pointer, t.add(numbers, load.offset));
    for (auto [part, factor] : llvm::enumerate(next)) {
      // Lanes behind the last column have it again.
      Value place = isOne ? t.constant(0) : t.smaller(column(int64_t(part)), t.constant(chain.keys - 1));
      factor = t.mul(factor, t.load(t.offset(own, place, t.builder.getF32Type()), t.builder.getF32Type()));
    }
  }
  return next;
}

void ColumnFactors::store(ValueRange factors, const SegmentSummaries &summaries) {
  Type f32 = t.builder.getF32Type();
  Value slot =
      t.offset(summaries.maps, t.multiplyWide(t.widen(summaries.segment), summaries.stride), t.builder.getI8Type());
  for (auto [part, factor] : llvm::enumerate(factors)) {
    Value place = column(int64_t(part));
    t.when(t.below(place, t.constant(chain.keys)),
           [&, factor = factor] { t.store(factor, t.offset(slot, t.widen(place), f32)); });
  }
}
