#include "Conversion/TileToNVVM/ChainPreparation.h"
#include "Analysis/RunningNumbers.h"
#include "Conversion/TileToNVVM/Warpgroup.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;

static constexpr int64_t unit = FactorLayout::ofHalves().inner;

static PanelLayout layoutOf(const StateChain::Load &load) {
  return {load.type().getSize(0), load.type().getElementBytes()};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

int64_t ChainNumbers::perLane(int64_t size) { return int64_t(llvm::divideCeil(size, warpThreads)); }

Value ChainNumbers::rowOf(int64_t size, int64_t number) {
  return size == 1 ? t.constant(0) : t.add(t.multiply(t.lane, perLane(size)), number);
}

Value ChainNumbers::placeOf(const StateChain::Load &load, Value row) {
  Value place = t.add(t.add(begin, load.offset), t.multiply(row, 4));
  return LLVM::IntToPtrOp::create(t.builder, t.loc, LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace),
                                  place);
}

SmallVector<Value> ChainNumbers::ask(const IRMapping &values) {
  SmallVector<Value> asked;
  for (const StateChain::Load &load : chain.loads) {
    if (!load.isConverted)
      continue;
    LoadOp op = load.op;
    CallerArray array = arrays.lookup(op.getArray());
    Type element = array.type.getElementType();
    Value first = values.lookup(op.getFirst()), rows = t.narrow(values.lookup(op.getRows()));
    Value zero = arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(element, 0));
    int64_t size = load.type().getSize(0);
    for (int64_t number = 0; number < perLane(size); ++number) {
      Value row = rowOf(size, number);
      auto read = [&] {
        Value offset = t.multiplyWide(t.addWide(first, t.widen(row)), array.tokenStride);
        return t.load(t.offset(array.pointer, offset, element), element);
      };
      asked.push_back(t.choose(t.below(row, rows), read, zero));
    }
  }
  return asked;
}

/// Those that copies have brought lie in the stage.
SmallVector<Value> &ChainNumbers::numbersOf(Value tile) {
  Known &own = known[tile];
  if (!own.numbers.empty())
    return own.numbers;
  const StateChain::Load &load =
      *llvm::find_if(chain.loads, [&](const StateChain::Load &load) { return load.tile == tile; });
  int64_t size = load.type().getSize(0);
  for (int64_t number = 0; number < perLane(size); ++number) {
    Value row = t.smaller(rowOf(size, number), t.constant(size - 1));
    own.numbers.push_back(t.load(placeOf(load, row), t.builder.getF32Type()));
  }
  return own.numbers;
}

void ChainNumbers::run(MapOp op, Value rows) {
  int64_t size = tileOf(op.getResult()).getSize(0);
  SmallVector<Value> made;
  for (int64_t number = 0; number < perLane(size); ++number) {
    SmallVector<Value> arguments;
    for (Value input : op.getInputs()) {
      SmallVector<Value> &numbers = numbersOf(input);
      arguments.push_back(numbers[tileOf(input).getSize(0) == 1 ? 0 : number]);
    }
    made.push_back(t.body(op.getBody(), arguments, {Index(rowOf(size, number))}).front());
  }
  known[op.getResult()] = {made, rows};
}

/// A lane adds up its own rows, lanes add up those sums, and then each row is known from what is before its lane's.
void ChainNumbers::run(ScanOp op, Value rows) {
  analysis::RunningNumber running = *analysis::matchRunning(op);
  auto combine = [&](Value a, Value b) { return running.isSum() ? t.plus(a, b) : t.mul(a, b); };
  Value neutral = t.number(running.isSum() ? 0 : 1), start = t.number(op.getStart().convertToDouble());
  int64_t size = tileOf(op.getInputs()[0]).getSize(0), count = perLane(size);
  bool isReverse = op.getReverse();
  SmallVector<Value> within; // so far in the lane, in the order of the scan
  for (int64_t step = 0; step < count; ++step) {
    int64_t number = isReverse ? count - 1 - step : step;
    Value row = rowOf(size, number);
    SmallVector<Value> arguments;
    for (Value input : op.getInputs())
      arguments.push_back(numbersOf(input)[number]);
    arguments.push_back(neutral); // on which the number does not depend
    Value own = t.bodyValue(op.getBody(), running.number, arguments, {Index(row)});
    own = t.select(t.below(row, rows), own, neutral);
    within.push_back(within.empty() ? own : combine(within.back(), own));
  }
  auto before = [&](Value value, int64_t distance) {
    return isReverse ? t.fromLaneAfter(value, distance) : t.fromLaneBefore(value, distance);
  };
  auto isNone = [&](int64_t distance) {
    return isReverse ? t.below(t.constant(warpThreads - 1 - distance), t.lane) : t.below(t.lane, t.constant(distance));
  };
  Value all = within.back();
  for (int64_t distance = 1; distance < warpThreads; distance *= 2)
    all = t.select(isNone(distance), all, combine(before(all, distance), all));
  Value first = combine(start, t.select(isNone(1), neutral, before(all, 1)));
  if (op.getAll()) {
    SmallVector<Value> given(count);
    for (int64_t step = 0; step < count; ++step) {
      int64_t done = running.isBefore ? step : step + 1; // rows of the lane that are in it
      given[isReverse ? count - 1 - step : step] = done ? combine(first, within[done - 1]) : first;
    }
    known[op.getAll()] = {given, rows};
  }
  if (op.getLast())
    known[op.getLast()] = {{combine(start, t.fromLane(all, isReverse ? 0 : warpThreads - 1))}, {}};
}

/// Of rows beyond the last token they are zeros, as what is loaded.
void ChainNumbers::leave(const StateChain::Load &load) {
  const Known &own = known[load.tile];
  int64_t size = load.type().getSize(0);
  for (auto [number, value] : llvm::enumerate(own.numbers)) {
    Value row = rowOf(size, int64_t(number)), counted = value;
    if (own.rows && size > 1)
      counted = t.select(t.below(row, own.rows), value, t.number(0));
    auto store = [&] { t.store(counted, placeOf(load, row)); };
    if (size == 1)
      t.when(t.below(t.lane, t.constant(1)), store);
    else if (size % warpThreads)
      t.when(t.below(row, t.constant(size)), store);
    else
      store();
  }
}

void ChainNumbers::make(ValueRange asked, const IRMapping &values, Value begin) {
  this->begin = begin;
  known.clear();
  size_t next = 0;
  for (const StateChain::Load &load : chain.loads)
    if (load.isConverted)
      for (int64_t number = 0; number < perLane(load.type().getSize(0)); ++number)
        known[load.tile].numbers.push_back(t.convert(asked[next++], t.builder.getF32Type()));
  auto rowsOf = [&](Value rows) { return t.narrow(values.lookup(rows)); };
  for (Operation *op : chain.numbers)
    if (auto map = dyn_cast<MapOp>(op))
      run(map, rowsOf(map.getRows()));
    else
      run(cast<ScanOp>(op), rowsOf(cast<ScanOp>(op).getRows()));
  bool isAny = false;
  for (const StateChain::Load &load : chain.loads)
    if (!load.isRows() && !load.isCopied()) {
      leave(load);
      isAny = true;
    }
  if (isAny)
    WarpgroupCode(t).syncWarp(); // for the lanes that read them
}

//===----------------------------------------------------------------------===//
// Rows of f16
//===----------------------------------------------------------------------===//

/// Panels of rows are pieces, in whatever order they lie. Several are read before the first is written.
void nvvm::convertHalves(TeamCode &t, const StateChain &chain, Value stage) {
  constexpr int64_t together = 8;
  auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace);
  auto halves = VectorType::get(pieceHalves, t.builder.getF16Type());
  auto rounded = VectorType::get(pieceHalves, t.builder.getBF16Type());
  auto wide = VectorType::get(pieceHalves, t.builder.getF32Type());
  for (const StateChain::Load &load : chain.loads) {
    if (!load.isHalf || load.staysHalf)
      continue;
    int64_t perLane = layoutOf(load).bytes(load.type().getSize(1)) / (pieceBytes * warpThreads);
    int64_t atOnce = perLane % together == 0 ? together : 1;
    Value own = t.add(t.add(stage, load.offset), t.multiply(t.lane, pieceBytes));
    t.loop(t.constant(0), t.constant(perLane), atOnce, [&](Value first) {
      Value begin = t.add(own, t.multiply(first, pieceBytes * warpThreads));
      SmallVector<Value> places, pieces;
      for (int64_t i = 0; i < atOnce; ++i) {
        places.push_back(
            LLVM::IntToPtrOp::create(t.builder, t.loc, pointer, t.add(begin, i * pieceBytes * warpThreads)));
        pieces.push_back(t.load(places.back(), halves));
      }
      for (auto [place, piece] : llvm::zip(places, pieces)) {
        Value exact = LLVM::FPExtOp::create(t.builder, t.loc, wide, piece);
        t.store(LLVM::FPTruncOp::create(t.builder, t.loc, rounded, exact), place);
      }
    });
  }
}

//===----------------------------------------------------------------------===//
// Interactions
//===----------------------------------------------------------------------===//

namespace {

class InteractionCode {
public:
  InteractionCode(TeamCode &team, const StateChain &chain, Value stage, Value numbers)
      : t(team), code(team), chain(chain), stage(stage), numbers(numbers) {}
  void emit(const StateChain::Interaction &interaction);

private:
  /// Where a lane's piece of the warp's 16 rows and the first 16 columns lies.
  Value findOwnPiece(const StateChain::Load &load);
  /// The same of other columns: their pieces are permuted as those of the first are.
  Value atColumns(const StateChain::Load &load, Value own, int64_t column) {
    PanelLayout layout = layoutOf(load);
    int64_t inPanel = layout.byteOfColumn(column % layout.columns());
    return t.add(t.exclusiveOr(own, t.constant(inPanel)), layout.byteOfColumn(column) - inPanel);
  }
  SmallVector<Value> multiply(const StateChain::Load &left, const StateChain::Load &right);
  SmallVector<Value> numbersOf(Value tile, bool areOfRows);
  void map(MapOp op, SmallVector<Value> &sums);
  const StateChain::Load &loadOf(Value tile) {
    return *llvm::find_if(chain.loads, [&](const StateChain::Load &load) { return load.tile == tile; });
  }
  Value firstRow() { return rowOfWarp(t, t.warp, t.lane); }
  Value firstColumn() { return pairOfLane(t, t.lane); }

  TeamCode &t;
  WarpgroupCode code;
  const StateChain &chain;
  Value stage, numbers;                                          // where the chunk's tiles begin, and its numbers
  std::map<std::pair<unsigned, bool>, SmallVector<Value>> known; // numbers of rows or columns, by load
};

} // namespace

Value InteractionCode::findOwnPiece(const StateChain::Load &load) {
  auto own = addressedPiece(t, t.lane, BlockOrder::LeftFirst);
  Value row = t.add(t.multiply(t.warp, SumsLayout::unitRows), own.row);
  return t.add(code.placeInPanels(stage, load.type().getSize(0), row, own.piece), load.offset);
}

SmallVector<Value> InteractionCode::multiply(const StateChain::Load &left, const StateChain::Load &right) {
  int64_t inner = left.type().getSize(1), columns = right.type().getSize(0);
  Value own = findOwnPiece(left);
  SmallVector<Value> fragments;
  SmallVector<int64_t> places;
  for (int64_t column = 0; column < inner; column += unit) {
    llvm::append_range(fragments, code.loadMatrices(atColumns(left, own, column)));
    places.push_back(layoutOf(right).byteOfColumn(column));
  }
  RightFactor factor{t.add(stage, right.offset), unit};
  FactorKind kind = left.staysHalf ? FactorKind::F16 : FactorKind::BF16;
  return code.settle(code.multiply(kind, fragments, factor, places, columns, false), 0);
}

/// A thread's two rows, or two neighbours of each eight columns.
SmallVector<Value> InteractionCode::numbersOf(Value tile, bool areOfRows) {
  const StateChain::Load &load = loadOf(tile);
  SmallVector<Value> &all = known[{unsigned(&load - chain.loads.begin()), areOfRows}];
  if (!all.empty())
    return all;
  Type f32 = t.builder.getF32Type();
  Value first = t.add(t.add(numbers, load.offset), t.multiply(areOfRows ? firstRow() : firstColumn(), wordBytes));
  Value from = LLVM::IntToPtrOp::create(t.builder, t.loc,
                                        LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace), first);
  auto after = [&](int64_t numbers) {
    return LLVM::GEPOp::create(t.builder, t.loc, from.getType(), f32, from, ArrayRef<LLVM::GEPArg>{int32_t(numbers)});
  };
  if (areOfRows)
    return all = {t.load(from, f32), t.load(after(matrixRows), f32)};
  for (int64_t column = 0; column < load.type().getSize(0); column += SumsLayout::unitColumns) {
    Value two = t.load(after(column), VectorType::get(2, f32));
    for (int64_t i : {0, 1})
      all.push_back(LLVM::ExtractElementOp::create(t.builder, t.loc, two, t.constant(i)));
  }
  return all;
}

void InteractionCode::map(MapOp op, SmallVector<Value> &sums) {
  SmallVector<SmallVector<Value>> given;
  SmallVector<bool> areOfRows;
  for (auto [input, dims] : llvm::drop_begin(llvm::zip(op.getInputs(), op.getDims()))) {
    areOfRows.push_back(cast<DenseI64ArrayAttr>(dims).asArrayRef() == ArrayRef<int64_t>{0});
    given.push_back(numbersOf(input, areOfRows.back()));
  }
  Value row = firstRow(), column = firstColumn();
  for (int64_t number = 0; number < int64_t(sums.size()); ++number) {
    KnownPosition offset = warpSums.offsetOf(number);
    int64_t ofColumns = 2 * warpSums.columnEightOf(number) + SumsLayout::secondOf(number);
    SmallVector<Value> arguments{sums[number]};
    for (auto [numbers, isOfRow] : llvm::zip(given, areOfRows))
      arguments.push_back(numbers[isOfRow ? SumsLayout::lowerOf(number) : ofColumns]);
    sums[number] = t.body(op.getBody(), arguments, {Index(row, offset.row), Index(column, offset.column)}).front();
  }
}

void InteractionCode::emit(const StateChain::Interaction &interaction) {
  SmallVector<Value> sums = multiply(chain.loads[interaction.left], chain.loads[interaction.right]);
  for (MapOp op : interaction.maps)
    map(op, sums);
  SmallVector<Value> packed;
  for (size_t i = 0; i < sums.size(); i += 2)
    packed.push_back(code.pack(sums[i], sums[i + 1]));
  const StateChain::Load &result = chain.loads[*interaction.result];
  Value own = findOwnPiece(result);
  for (int64_t column = 0; column < result.type().getSize(1); column += unit)
    code.storeMatrices(atColumns(result, own, column),
                       ArrayRef(packed).slice(size_t(column / unit * FactorLayout::leftWords), FactorLayout::leftWords),
                       false);
}

void nvvm::emitInteractions(TeamCode &team, const StateChain &chain, Value stage, Value numbers) {
  InteractionCode code(team, chain, stage, numbers);
  for (const StateChain::Interaction &interaction : chain.interactions)
    code.emit(interaction);
}
