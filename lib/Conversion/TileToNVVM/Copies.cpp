// Copies between the caller's arrays and tiles.
#include "Conversion/TileToNVVM/Strips.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace recur;
using namespace recur::conversion;
using namespace recur::tile;
using namespace recur::conversion::nvvm;

/// What rows of an array have of a tile.
static SmallVector<int64_t> commonSizes(const CallerArray &array, const Place &tile) {
  SmallVector<int64_t> sizes(tile.type.getShape());
  for (size_t dim = 1; dim < sizes.size(); ++dim)
    sizes[dim] = array.type.getSize(int64_t(dim));
  return sizes;
}

namespace {
/// A copy of rows between an array and a tile, of so many neighbours at once.
class Copy {
public:
  Copy(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile, int64_t neighbours)
      : t(t), array(array), first(first), rows(rows), tile(tile), neighbours(neighbours),
        sizes(commonSizes(array, tile)), element(array.type.getElementType()) {
    sizes.back() /= neighbours;
  }

  /// The neighbours of one index.
  Value read(Value index) { return t.load(address(index), type()); }
  void write(Value index, Value given) { put(placeOf(index), given); }
  void put(ArrayRef<Index> at, Value given) {
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < neighbours; ++i)
      numbers.push_back(
          neighbours == 1 ? given : LLVM::ExtractElementOp::create(t.builder, t.loc, given, t.constant(i)).getResult());
    t.putNeighbours(numbers, tile, at);
  }
  /// The neighbours go to the tile without passing through registers, and zeros to columns that the array does not
  /// have.
  void bring() {
    constexpr int64_t mostBytes = 16;
    int64_t bytes = neighbours * array.type.getElementBytes(), columns = array.columns();
    sizes.back() = tile.type.getShape().back() / neighbours;
    auto copy = [&](const Piece &piece) {
      Value counted;
      if (columns < tile.type.getShape().back())
        counted = t.select(t.below(t.toValue(piece.at.back()), t.constant(columns)), t.constant(bytes), t.constant(0));
      NVVM::CpAsyncOp::create(t.builder, t.loc, t.address(tile, piece.at), piece.pointer, bytes,
                              bytes == mostBytes ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA,
                              counted);
    };
    if (!inStrips(copy))
      t.deal(count(), [&](Value index) { copy({placeOf(index), address(index)}); });
  }
  Count count() { return {t.multiply(rows, llvm::product_of(ArrayRef(sizes).drop_front())), llvm::product_of(sizes)}; }
  Type type() const { return neighbours > 1 ? Type(VectorType::get(neighbours, element)) : element; }

  void load() {
    bool isDone =
        neighbours > 1 &&
        inStrips(
            piecesInStep(), [&](const Piece &piece) { return SmallVector<Value>{t.load(piece.pointer, type())}; },
            [&](const Piece &piece, ArrayRef<Value> given) { put(piece.at, given[0]); });
    if (isDone)
      return;
    run([&](Value index) { return SmallVector<Value>{read(index)}; },
        [&](Value index, ArrayRef<Value> given) { write(index, given[0]); });
  }
  void store() {
    auto convertAll = [&](ArrayRef<Value> numbers) {
      Value all = t.convert(numbers[0], element);
      if (neighbours > 1) {
        all = LLVM::UndefOp::create(t.builder, t.loc, type());
        for (auto [i, number] : llvm::enumerate(numbers))
          all = LLVM::InsertElementOp::create(t.builder, t.loc, all, t.convert(number, element), t.constant(i));
      }
      return all;
    };
    bool isDone =
        neighbours > 1 &&
        inStrips(
            piecesInStep(),
            [&](const Piece &piece) { return t.getNeighbours(tile, piece.at, neighbours, /*asTheyAre=*/true); },
            [&](const Piece &piece, ArrayRef<Value> numbers) { t.store(convertAll(numbers), piece.pointer); });
    if (isDone)
      return;
    run([&](Value index) { return t.getNeighbours(tile, placeOf(index), neighbours, /*asTheyAre=*/true); },
        [&](Value index, ArrayRef<Value> numbers) { t.store(convertAll(numbers), address(index)); });
  }

private:
  void run(llvm::function_ref<SmallVector<Value>(Value)> read, llvm::function_ref<void(Value, ArrayRef<Value>)> write) {
    t.dealInStep(count(), piecesInStep(), read, write);
  }
  /// How many pieces a thread asks for before it has the first.
  int64_t piecesInStep() const {
    bool isWhole = sizes.size() > 2; // a state, of which half is asked for at once
    return neighbours > 2 && !isWhole ? 4 : 8;
  }
  /// Neighbours: where they are in the tile and in the array.
  struct Piece {
    SmallVector<Index> at;
    Value pointer;
  };
  /// Each thread keeps to its columns and goes from row to row, of which it reads so many before it writes them: an
  /// address is the one before and a step, for steps that do not depend on each other would all be known before the
  /// loop over chunks, and take registers there. Rows are those of tokens, of several micro-steps each, or of a state.
  /// False where they cannot be dealt out so.
  bool inStrips(int64_t inStep, llvm::function_ref<SmallVector<Value>(const Piece &)> read,
                llvm::function_ref<void(const Piece &, ArrayRef<Value>)> write) {
    constexpr int64_t mostSteps = 16;
    bool isInner = sizes.size() == 3 && array.innerStrides.size() == 2, isState = isInner && sizes[0] == 1;
    if (sizes.size() != 2 && !isInner)
      return false;
    const bool hasSteps = isInner && !isState;
    const int64_t perToken = hasSteps ? sizes[1] : 1;
    const int64_t down = sizes[sizes.size() - 2] * (hasSteps ? sizes[0] : 1);
    SmallVector<Strip> strips = findStrips(sizes.back(), down, t.threads);
    for (const Strip &strip : strips)
      if (strip.rowsAtOnce % perToken || down / strip.rowsAtOnce > mostSteps)
        return false;
    for (const Strip &strip : strips)
      goDown(strip, down, perToken, hasSteps, isState, inStep, read, write);
    return !strips.empty();
  }
  void goDown(const Strip &strip, int64_t down, int64_t perToken, bool hasSteps, bool isState, int64_t inStep,
              llvm::function_ref<SmallVector<Value>(const Piece &)> read,
              llvm::function_ref<void(const Piece &, ArrayRef<Value>)> write) {
    int64_t rowsAtOnce = strip.rowsAtOnce;
    Value row = t.divide(t.thread, strip.pieces);
    Value column = t.multiply(t.add(t.remainder(t.thread, strip.pieces), strip.first), neighbours);
    Value token = t.divide(row, perToken), ofToken = t.remainder(row, perToken);
    Value end = t.multiply(rows, isState ? down : perToken);
    Value stride = isState ? array.innerStrides[0] : array.tokenStride;
    auto constant = [&](int64_t number) -> Value { return arith::ConstantIntOp::create(t.builder, t.loc, number, 64); };
    Value begin = t.multiplyWide(first, array.tokenStride);
    Value offset = t.addWide(t.addWide(begin, t.multiplyWide(t.widen(token), stride)), t.widen(column));
    if (hasSteps)
      offset = t.addWide(offset, t.multiplyWide(t.widen(ofToken), array.innerStrides[0]));
    Value pointer = t.offset(array.pointer, offset, element);
    Value step = t.multiplyWide(stride, constant(rowsAtOnce / perToken));
    for (int64_t below = 0; below < down; below += inStep * rowsAtOnce) {
      SmallVector<Piece> together;
      SmallVector<Value> isThere;
      for (int64_t own = below; own < std::min(down, below + inStep * rowsAtOnce); own += rowsAtOnce) {
        Piece &piece = together.emplace_back();
        if (isState)
          piece.at.push_back(0);
        piece.at.push_back(Index(token, own / perToken));
        if (hasSteps)
          piece.at.push_back(Index(ofToken));
        piece.at.push_back(Index(column));
        piece.pointer = pointer;
        isThere.push_back(t.below(t.add(row, own), end));
        pointer = t.offset(pointer, step, element);
      }
      t.when(isThere[0], [&] {
        SmallVector<SmallVector<Value>> known;
        for (auto [piece, there] : llvm::zip(together, isThere)) // the first again, where there is none
          known.push_back(
              read({piece.at, known.empty() ? piece.pointer : t.select(there, piece.pointer, together[0].pointer)}));
        write(together[0], known[0]);
        for (size_t i = 1; i < together.size(); ++i)
          t.when(isThere[i], [&] { write(together[i], known[i]); });
      });
    }
  }
  bool inStrips(llvm::function_ref<void(const Piece &)> copy) {
    return inStrips(
        1, [](const Piece &) { return SmallVector<Value>(); },
        [&](const Piece &piece, ArrayRef<Value>) { copy(piece); });
  }
  SmallVector<Index> placeOf(Value index) {
    SmallVector<Index> at = t.takeApart(index, sizes);
    if (neighbours > 1)
      at.back() = at.back().value ? Index(t.multiply(at.back().value, neighbours)) : Index(0);
    return at;
  }
  Value address(Value index) {
    SmallVector<Index> at = placeOf(index);
    Value offset = t.multiplyWide(t.addWide(first, t.widen(t.toValue(at[0]))), array.tokenStride);
    for (size_t dim = 1; dim < sizes.size(); ++dim) {
      Value place = t.widen(t.toValue(at[dim]));
      bool isDense = array.innerStrides.empty() || (neighbours > 1 && dim + 1 == sizes.size());
      if (!isDense)
        place = t.multiplyWide(place, array.innerStrides[dim - 1]);
      offset = t.addWide(offset, place);
    }
    return t.offset(array.pointer, offset, element);
  }

  TeamCode &t;
  const CallerArray &array;
  Value first, rows;
  const Place &tile;
  int64_t neighbours;
  SmallVector<int64_t> sizes;
  Type element;
};
} // namespace

Value nvvm::isPresent(TeamCode &t, const CallerArray &array) {
  Value null = LLVM::ZeroOp::create(t.builder, t.loc, array.pointer.getType());
  return LLVM::ICmpOp::create(t.builder, t.loc, LLVM::ICmpPredicate::ne, array.pointer, null);
}

Value nvvm::isAligned(TeamCode &t, const CallerArray &array, int64_t bytes) {
  Type wide = t.builder.getI64Type();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(t.builder, t.loc, value, 64); };
  Value elementBytes = constant(array.type.getElementBytes());
  Value bits = LLVM::PtrToIntOp::create(t.builder, t.loc, wide, array.pointer);
  auto include = [&](Value stride) {
    bits = arith::OrIOp::create(t.builder, t.loc, bits, arith::MulIOp::create(t.builder, t.loc, stride, elementBytes));
  };
  include(array.tokenStride);
  if (!array.innerStrides.empty())
    include(array.innerStrides[0]);
  Value rest = arith::AndIOp::create(t.builder, t.loc, bits, constant(bytes - 1));
  auto equals = [&](Value value, int64_t number) -> Value {
    return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, value, constant(number));
  };
  Value isWhole = equals(rest, 0);
  if (!array.innerStrides.empty())
    isWhole = arith::AndIOp::create(t.builder, t.loc, isWhole, equals(array.innerStrides[1], 1));
  return isWhole;
}

static int64_t countNeighbours(const CallerArray &array) {
  return array.type.getRank() < 2 ? 1 : std::max<int64_t>(1, findPieceBytes(array) / array.type.getElementBytes());
}

/// Zeros where rows of the tile have more than the array's.
static void putPadding(TeamCode &t, const CallerArray &array, Value rows, const Place &tile) {
  constexpr uint64_t mostNeighbours = 8;
  for (int64_t dim = 1; dim < tile.type.getRank(); ++dim) {
    int64_t own = array.type.getSize(dim), all = tile.type.getSize(dim);
    if (own == all)
      continue;
    SmallVector<int64_t> sizes = commonSizes(array, tile);
    bool isLast = dim + 1 == tile.type.getRank();
    for (int64_t inner = dim + 1; inner < tile.type.getRank(); ++inner)
      sizes[size_t(inner)] = tile.type.getSize(inner);
    int64_t last = isLast ? own | all : sizes.back();
    auto neighbours = int64_t(std::min(mostNeighbours, uint64_t(last & -last)));
    sizes[size_t(dim)] = all - own;
    sizes.back() /= neighbours;
    Count count(t.multiply(rows, llvm::product_of(ArrayRef(sizes).drop_front())), llvm::product_of(sizes));
    t.deal(count, [&](Value index) {
      SmallVector<Index> at = t.takeApart(index, sizes);
      at.back() = Index(t.multiply(t.toValue(at.back()), neighbours));
      at[size_t(dim)] = Index(t.add(t.toValue(at[size_t(dim)]), own));
      t.putNeighbours(SmallVector<Value>(size_t(neighbours), t.number(0)), tile, at);
    });
  }
}

/// Numbers move 16 bytes at a time, or as many as rows have; one at a time where no thread has more than one.
static void copyRows(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile,
                     llvm::function_ref<void(Copy)> run) {
  int64_t bytes = array.type.getElementBytes(), neighbours = countNeighbours(array);
  auto alone = [&] { run(Copy(t, array, first, rows, tile, 1)); };
  if (neighbours == 1 || llvm::product_of(commonSizes(array, tile)) <= t.threads)
    return alone();
  t.either(isAligned(t, array, neighbours * bytes), [&] { run(Copy(t, array, first, rows, tile, neighbours)); }, alone);
}

/// What an array that is absent gives.
static void putZeros(TeamCode &t, Value rows, const Place &tile) {
  ArrayRef<int64_t> sizes = tile.type.getShape();
  t.deal({t.multiply(rows, llvm::product_of(sizes.drop_front())), llvm::product_of(sizes)},
         [&](Value index) { t.put(t.number(0), tile, t.takeApart(index, sizes)); });
}

void nvvm::emitLoad(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile) {
  auto load = [&] {
    copyRows(t, array, first, rows, tile, [](Copy copy) { copy.load(); });
    putPadding(t, array, rows, tile);
  };
  t.either(isPresent(t, array), load, [&] { putZeros(t, rows, tile); });
}

/// Loads rows that lie in no pieces of 16 bytes: slowly, in few registers.
static void loadByNumbers(TeamCode &t, const CallerArray &array, Value first, Value rows, const Place &tile) {
  Copy copy(t, array, first, rows, tile, 1);
  auto load = [&] {
    t.deal(copy.count(), [&](Value index) { copy.write(index, copy.read(index)); });
    putPadding(t, array, rows, tile);
  };
  t.either(isPresent(t, array), load, [&] { putZeros(t, rows, tile); });
}

void nvvm::emitStore(TeamCode &t, const Place &tile, Value rows, const CallerArray &array, Value first) {
  t.when(isPresent(t, array), [&] { copyRows(t, array, first, rows, tile, [](Copy copy) { copy.store(); }); });
}

//===----------------------------------------------------------------------===//
// Loads that are under way while something else is computed
//===----------------------------------------------------------------------===//

/// Whether rows of both have as many pieces, but for padding behind the last.
static bool haveSameRows(const CallerArray &array, const Place &tile) {
  return array.type.getShape().drop_front().drop_back() == tile.type.getShape().drop_front().drop_back();
}

/// Whether pieces of 16 bytes of a row lie in one piece in the tile.
static bool hasWholePieces(const Place &tile) {
  TileType type = tile.type;
  int64_t bytes = type.getElementBytes();
  return type.getMemory() == Memory::Shared && type.getStride(type.getRank() - 1) == 1 && tile.alignment % 16 == 0 &&
         llvm::all_of(type.getStrides().drop_back(), [&](int64_t stride) { return stride * bytes % 16 == 0; });
}

AheadLoad::AheadLoad(TeamCode &t, const CallerArray &array, const Place &tile, bool isFree) : array(array), tile(tile) {
  constexpr int64_t leastBytes = 4; // that are brought at once
  neighbours = countNeighbours(array);
  int64_t numbers = llvm::product_of(commonSizes(array, tile)), bytes = neighbours * array.type.getElementBytes();
  isDirect = isFree && neighbours > 1 && bytes >= leastBytes && hasWholePieces(tile) && haveSameRows(array, tile) &&
             array.type.getElementType() == tile.type.getElementType();
  bool isOneToken = tile.type.getSize(0) == 1;
  if (!isDirect && isOneToken && numbers <= t.threads)
    neighbours = accesses = 1; // in a register of each thread, and not in four of a few
  else if (isDirect || bytes == 16)
    accesses = llvm::divideCeil(numbers / neighbours, t.threads);
  else if (neighbours == 1 && numbers <= t.threads)
    accesses = 1;
}

void AheadLoad::begin(TeamCode &t) {
  condition = isPresent(t, array);
  if (neighbours > 1)
    condition = arith::AndIOp::create(t.builder, t.loc, condition,
                                      isAligned(t, array, neighbours * array.type.getElementBytes()));
}

SmallVector<Value> AheadLoad::start(TeamCode &t, Value first, Value rows) {
  Copy copy(t, array, first, rows, tile, neighbours);
  if (isDirect) {
    t.either(condition, [&] { copy.bring(); }, [&] { loadByNumbers(t, array, first, rows, tile); });
    NVVM::CpAsyncCommitGroupOp::create(t.builder, t.loc);
    return {};
  }
  SmallVector<Value> held;
  Value count = copy.count().value;
  for (int64_t i = 0; i < accesses; ++i) {
    Value index = t.add(t.thread, i * t.threads);
    Value counts = arith::AndIOp::create(t.builder, t.loc, condition, t.below(index, count));
    auto choice = scf::IfOp::create(t.builder, t.loc, TypeRange{copy.type()}, counts, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.builder);
    t.builder.setInsertionPointToEnd(choice.thenBlock());
    scf::YieldOp::create(t.builder, t.loc, copy.read(index));
    t.builder.setInsertionPointToEnd(choice.elseBlock());
    scf::YieldOp::create(t.builder, t.loc, LLVM::ZeroOp::create(t.builder, t.loc, copy.type()).getResult());
    held.push_back(choice.getResult(0));
  }
  return held;
}

void AheadLoad::finish(TeamCode &t, Value first, Value rows, ValueRange held, int64_t later) {
  if (isDirect) {
    NVVM::CpAsyncWaitGroupOp::create(t.builder, t.loc, uint32_t(later));
    return;
  }
  t.either(
      condition,
      [&] {
        Copy copy(t, array, first, rows, tile, neighbours);
        Value count = copy.count().value;
        for (auto [i, given] : llvm::enumerate(held)) {
          Value index = t.add(t.thread, int64_t(i) * t.threads);
          t.when(t.below(index, count), [&, given = given] { copy.write(index, given); });
        }
        putPadding(t, array, rows, tile);
      },
      [&] {
        if (neighbours == 1) // as they lie anywhere, there is no array
          putZeros(t, rows, tile);
        else
          emitLoad(t, array, first, rows, tile);
      });
}
