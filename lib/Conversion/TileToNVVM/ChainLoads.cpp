#include "Conversion/TileToNVVM/ChainLoads.h"
#include <numeric>

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;

static constexpr int64_t panelPieces = PanelLayout::pieces, panelRowBytes = PanelLayout::rowBytes,
                         permutedRows = PanelLayout::permutedRows;

static PanelLayout layoutOf(const StateChain::Load &load) {
  return {load.type().getSize(0), load.type().getElementBytes()};
}
static int64_t pieceColumnsOf(const StateChain::Load &load) { return layoutOf(load).pieceColumns(); }
static int64_t panelColumnsOf(const StateChain::Load &load) { return layoutOf(load).columns(); }

/// Copies bring no fewer bytes.
static constexpr int64_t leastBytes = 4;

Value nvvm::areRowsAligned(TeamCode &t, const StateChain &chain, const ChainKernel &kernel) {
  Value all = arith::ConstantIntOp::create(t.builder, t.loc, 1, 1);
  for (const StateChain::Load &load : chain.loads)
    if (load.isRows() && load.isCopied()) {
      StateChain::Load own = load;
      const CallerArray &array = kernel.arrays.find(own.op.getArray())->second;
      if (int64_t bytes = findPieceBytes(array); bytes >= leastBytes)
        all = arith::AndIOp::create(t.builder, t.loc, all, isAligned(t, array, bytes));
    }
  return all;
}

bool nvvm::areCopied(const StateChain &chain, const ChainKernel &kernel) {
  return llvm::all_of(chain.loads, [&](StateChain::Load load) {
    return !load.isRows() || !load.isCopied() ||
           findPieceBytes(kernel.arrays.find(load.op.getArray())->second) >= leastBytes;
  });
}

const CallerArray &ChainLoads::arrayOf(const Load &load) const {
  LoadOp op = load.op;
  return kernel.arrays.find(op.getArray())->second;
}

bool ChainLoads::hasPadding(const Load &load) const {
  const CallerArray &array = arrayOf(load);
  return array.type.getRank() > 1 && (array.channels || array.columns() < load.type().getShape().back());
}

Value ChainLoads::countColumns(const Load &load) {
  const CallerArray &array = arrayOf(load);
  return array.channels ? countOwnChannels(t, array, kernel.part) : t.constant(array.columns());
}

Value ChainLoads::placeOf(const Load &load, Value row, Value piece) {
  return t.add(code.placeInPanels(chunk.stage, rowsOf(load), row, piece), load.offset);
}

/// How many rows of the chunk there are. Arrays that may be absent have none then.
Value ChainLoads::countRows(const Load &load) {
  LoadOp op = load.op;
  Value count = t.multiply(narrow(op.getRows()), load.steps);
  if (!kernel.summaries || !kernel.summaries->mapsState)
    return count;
  return t.select(isPresent(t, kernel.arrays.lookup(op.getArray())), count, t.constant(0));
}

ChainLoads::Bounds ChainLoads::boundsOf(const Load &load) {
  if (!load.earlier)
    return {countRows(load)};
  LoadOp behind = load.earlier->given;
  Value missing = narrow(load.earlier->missing);
  Value skipped = t.select(isPresent(t, kernel.arrays.lookup(behind.getArray())), missing, t.constant(0));
  return {t.add(missing, countRows(load)), missing, skipped};
}

ChainLoads::Bounds ChainLoads::boundsFrom(const Bounds &bounds, Value row) {
  auto from = [&](Value bound) { return bound ? t.subtract(bound, row) : Value(); };
  return {from(bounds.end), from(bounds.missing), from(bounds.skipped)};
}

Value ChainLoads::isWithin(const Bounds &bounds, Value row) {
  Value isBefore = t.below(row, bounds.end);
  return bounds.missing
             ? t.select(t.below(row, bounds.missing), arith::ConstantIntOp::create(t.builder, t.loc, 0, 1), isBefore)
             : isBefore;
}

void ChainLoads::unlessSkipped(const Bounds &bounds, Value row, llvm::function_ref<void()> copy) {
  bounds.skipped ? t.either(t.below(row, bounds.skipped), [] {}, copy) : copy();
}

Value ChainLoads::firstRowOf(const Load &load) {
  LoadOp op = load.op;
  Value first = chunk.values.lookup(op.getFirst());
  return load.earlier
             ? arith::SubIOp::create(t.builder, t.loc, first, chunk.values.lookup(load.earlier->missing)).getResult()
             : first;
}

/// How much there is of so many bytes of a row that begin with a column.
Value ChainLoads::countBytes(const Load &load, Value column, int64_t bytes) {
  if (!hasPadding(load))
    return t.constant(bytes);
  Value left = t.multiply(t.subtract(countColumns(load), column), load.type().getElementBytes());
  left = t.smaller(left, t.constant(bytes));
  return t.select(t.below(left, t.constant(0)), t.constant(0), left);
}

/// Where a column of a row lies, in elements. Micro-steps of a token are rows of their own.
Value ChainLoads::offsetOf(const Load &load, Value first, Value row, Value column) {
  LoadOp op = load.op;
  CallerArray array = kernel.arrays.lookup(op.getArray());
  if (load.steps == 1)
    return t.addWide(t.multiplyWide(t.addWide(first, t.widen(row)), array.tokenStride), t.widen(column));
  Value token = t.multiplyWide(t.addWide(first, t.widen(t.divide(row, load.steps))), array.tokenStride);
  Value step = t.multiplyWide(t.widen(t.remainder(row, load.steps)), array.innerStrides[0]);
  return t.addWide(t.addWide(token, step), t.multiplyWide(t.widen(column), array.innerStrides[1]));
}

SmallVector<Strip> ChainLoads::findStripsOf(const Load &load, int64_t pieces, int64_t rowsAtLeast) const {
  SmallVector<Strip> strips = findStrips(pieces, rowsOf(load), t.threads, rowsAtLeast);
  bool areWhole = llvm::all_of(strips, [&](const Strip &strip) { return strip.rowsAtOnce % load.steps == 0; });
  return areWhole ? strips : SmallVector<Strip>();
}

void ChainLoads::copyRows(const Load &load) {
  const CallerArray &array = arrayOf(load);
  Type element = load.type().getElementType();
  int64_t bytes = findPieceBytes(array), columns = bytes / load.type().getElementBytes();
  if (bytes < leastBytes)
    return copyShortPieces(load);
  int64_t pieces = load.type().getSize(1) / columns, inPiece = pieceColumnsOf(load) / columns;
  Value first = firstRowOf(load);
  Bounds bounds = boundsOf(load);
  auto sourceOf = [&](Value row, Value piece) {
    return t.offset(array.pointer, offsetOf(load, first, row, t.multiply(piece, columns)), element);
  };
  auto copyOne = [&](Value row, Value piece, Value from) {
    Value there = countBytes(load, t.multiply(piece, columns), bytes);
    Value to = t.add(placeOf(load, row, t.divide(piece, inPiece)), t.multiply(t.remainder(piece, inPiece), bytes));
    unlessSkipped(bounds, row,
                  [&] { code.copy(to, from, bytes, t.select(isWithin(bounds, row), there, t.constant(0))); });
  };
  if (bytes == pieceBytes && inPanels(load))
    return copyPanels(load, first, bounds);
  if (bytes < pieceBytes && copyNarrowPieces(load, bytes))
    return;
  SmallVector<Strip> strips = findStripsOf(load, pieces);
  if (strips.empty())
    return t.deal(t.constant(rowsOf(load) * pieces), [&](Value index) {
      Value row = t.divide(index, pieces), piece = t.remainder(index, pieces);
      copyOne(row, piece, sourceOf(row, piece));
    });
  for (const Strip &strip : strips) {
    Value piece = t.add(t.remainder(t.thread, strip.pieces), strip.first), begin = t.divide(t.thread, strip.pieces);
    Value from = sourceOf(begin, piece);
    Value step = t.multiplyWide(array.tokenStride, t.widen(t.constant(strip.rowsAtOnce / load.steps)));
    for (int64_t row = 0; row < rowsOf(load); row += strip.rowsAtOnce) {
      copyOne(t.add(begin, row), piece, from);
      from = t.offset(from, step, element);
    }
  }
}

/// Pieces of fewer bytes are more, so that each must take few instructions: a thread's are in rows that are permuted
/// alike, whose places differ by a number that is known. What follows from the thread's number is found for each chunk,
/// for it would take registers. Gives whether rows can be dealt out so.
bool ChainLoads::copyNarrowPieces(const Load &load, int64_t bytes) {
  const CallerArray &array = arrayOf(load);
  Type element = load.type().getElementType();
  int64_t columns = bytes / load.type().getElementBytes(), inPiece = pieceColumnsOf(load) / columns;
  SmallVector<Strip> strips = findStripsOf(load, load.type().getSize(1) / columns, permutedRows);
  if (strips.empty())
    return false;
  Value first = firstRowOf(load);
  Bounds bounds = boundsOf(load);
  Value thread = std::exchange(t.thread, code.forget(t.thread));
  for (const Strip &strip : strips) {
    Value piece = t.add(t.remainder(t.thread, strip.pieces), strip.first), begin = t.divide(t.thread, strip.pieces);
    Value column = t.multiply(piece, columns), there = countBytes(load, column, bytes);
    Value from = t.offset(array.pointer, offsetOf(load, first, begin, column), element);
    Value step = t.multiplyWide(array.tokenStride, t.widen(t.constant(strip.rowsAtOnce / load.steps)));
    Value own = t.add(placeOf(load, begin, t.divide(piece, inPiece)), t.multiply(t.remainder(piece, inPiece), bytes));
    Bounds left = boundsFrom(bounds, begin);
    for (int64_t row = 0; row < rowsOf(load); row += strip.rowsAtOnce) {
      unlessSkipped(left, t.constant(row), [&] {
        Value counted = t.select(isWithin(left, t.constant(row)), there, t.constant(0));
        code.copy(t.add(own, row * panelRowBytes), from, bytes, counted);
      });
      from = t.offset(from, step, element);
    }
  }
  t.thread = thread;
  return true;
}

/// Whether threads have a piece of each panel, in rows whose pieces are permuted alike.
bool ChainLoads::inPanels(const Load &load) const {
  return load.type().getSize(1) % panelColumnsOf(load) == 0 && t.threads % panelPieces == 0 &&
         t.threads / panelPieces % permutedRows == 0 && rowsOf(load) % (t.threads / panelPieces) == 0 &&
         t.threads / panelPieces % load.steps == 0;
}

/// Places differ by numbers that are known, so that they take no registers: of a row in all panels, and of rows.
void ChainLoads::copyPanels(const Load &load, Value first, const Bounds &bounds) {
  LoadOp op = load.op;
  CallerArray array = kernel.arrays.lookup(op.getArray());
  Type element = load.type().getElementType();
  int64_t rowsAtOnce = t.threads / panelPieces, panels = load.type().getSize(1) / panelColumnsOf(load);
  Value begin = t.divide(t.thread, panelPieces), piece = t.remainder(t.thread, panelPieces);
  Value from = t.offset(array.pointer, offsetOf(load, first, begin, t.multiply(piece, pieceColumnsOf(load))), element);
  Value step = t.multiplyWide(array.tokenStride, t.widen(t.constant(rowsAtOnce / load.steps)));
  Value own = placeOf(load, begin, piece);
  Bounds left = boundsFrom(bounds, begin);
  SmallVector<Value> bytes;
  for (int64_t panel = 0; panel < panels; ++panel)
    bytes.push_back(countBytes(load, t.multiply(t.add(piece, panel * panelPieces), pieceColumnsOf(load)), pieceBytes));
  for (int64_t row = 0; row < rowsOf(load); row += rowsAtOnce) {
    unlessSkipped(left, t.constant(row), [&] {
      Value isThere = isWithin(left, t.constant(row));
      for (int64_t panel = 0; panel < panels; ++panel) {
        Value to = t.add(own, row * panelRowBytes + panel * rowsOf(load) * panelRowBytes);
        Value place = t.offset(from, t.widen(t.constant(panel * panelColumnsOf(load))), element);
        code.copy(to, place, pieceBytes, t.select(isThere, bytes[panel], t.constant(0)));
      }
    });
    from = t.offset(from, step, element);
  }
}

void ChainLoads::copyElements(const Load &load) {
  LoadOp op = load.op;
  CallerArray array = kernel.arrays.lookup(op.getArray());
  Type element = load.type().getElementType();
  int64_t columns = load.type().getSize(1);
  Value first = firstRowOf(load);
  Bounds bounds = boundsOf(load);
  auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace);
  // What follows from the thread's number is found in the loop: code and registers before it are for what is usual.
  Value thread = std::exchange(t.thread, code.forget(t.thread));
  t.deal(t.constant(rowsOf(load) * columns), [&](Value index) {
    Value row = t.divide(index, columns), column = t.remainder(index, columns);
    Value isThere = isWithin(bounds, row);
    if (hasPadding(load))
      isThere = arith::AndIOp::create(t.builder, t.loc, isThere, t.below(column, countColumns(load)));
    auto number = scf::IfOp::create(t.builder, t.loc, element, isThere, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(t.builder);
      t.builder.setInsertionPointToEnd(number.thenBlock());
      Value from = t.offset(array.pointer, offsetOf(load, first, row, column), element);
      scf::YieldOp::create(t.builder, t.loc, t.load(from, element));
      t.builder.setInsertionPointToEnd(number.elseBlock());
      Value zero = arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(element, 0));
      scf::YieldOp::create(t.builder, t.loc, zero);
    }
    Value to = placeOf(load, row, t.divide(column, pieceColumnsOf(load)));
    to = LLVM::IntToPtrOp::create(t.builder, t.loc, pointer, to);
    unlessSkipped(bounds, row, [&] {
      t.store(number.getResult(0), t.offset(to, t.remainder(column, pieceColumnsOf(load)), element));
    });
  });
  t.thread = thread;
}

/// Rows that begin at any number: each thread has columns of its own, and goes down them with several numbers under
/// way.
void ChainLoads::copyShortPieces(const Load &load) {
  constexpr int64_t mostUnderWay = 8;
  const CallerArray &array = arrayOf(load);
  Type element = load.type().getElementType();
  Value first = firstRowOf(load);
  Bounds bounds = boundsOf(load);
  auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace);
  Value zero = arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(element, 0));
  SmallVector<Strip> strips = findStripsOf(load, load.type().getSize(1));
  if (strips.empty())
    return copyElements(load);
  Value thread = std::exchange(t.thread, code.forget(t.thread));
  for (const Strip &strip : strips) {
    Value column = t.add(t.remainder(t.thread, strip.pieces), strip.first), begin = t.divide(t.thread, strip.pieces);
    Value isColumn = t.below(column, countColumns(load));
    int64_t underWay = std::gcd(mostUnderWay, rowsOf(load) / strip.rowsAtOnce);
    auto copySome = [&](Value above) {
      SmallVector<Value> rows, numbers;
      for (int64_t i = 0; i < underWay; ++i) {
        Value row = rows.emplace_back(t.add(t.add(begin, above), i * strip.rowsAtOnce));
        Value isThere = arith::AndIOp::create(t.builder, t.loc, isColumn, isWithin(bounds, row));
        numbers.push_back(t.choose(
            isThere,
            [&] { return t.load(t.offset(array.pointer, offsetOf(load, first, row, column), element), element); },
            zero));
      }
      for (auto [row, number] : llvm::zip(rows, numbers)) {
        Value to = placeOf(load, row, t.divide(column, pieceColumnsOf(load)));
        to = LLVM::IntToPtrOp::create(t.builder, t.loc, pointer, to);
        unlessSkipped(bounds, row, [&, number = number, column = column] {
          t.store(number, t.offset(to, t.remainder(column, pieceColumnsOf(load)), element));
        });
      }
    };
    t.loop(t.constant(0), t.constant(rowsOf(load)), underWay * strip.rowsAtOnce, copySome);
  }
  t.thread = thread;
}

Value ChainLoads::hasAllRows(const Load &load) {
  LoadOp op = load.op;
  return arith::CmpIOp::create(t.builder, t.loc, arith::CmpIPredicate::eq, narrow(op.getRows()),
                               t.constant(rowsOf(load)));
}

Value ChainLoads::lacksRows(const Load &load) { return t.below(t.constant(0), narrow(load.earlier->missing)); }

/// Few chunks have such rows, so threads bring them number by number; several are under way.
void ChainLoads::copyGivenRows(const Load &load) {
  constexpr int64_t underWay = 4;
  LoadOp behind = load.earlier->given;
  CallerArray given = kernel.arrays.lookup(behind.getArray());
  Type element = arrayOf(load).type.getElementType(), ofGiven = given.type.getElementType();
  int64_t columns = load.type().getSize(1);
  Value first = chunk.values.lookup(load.earlier->first);
  auto pointer = LLVM::LLVMPointerType::get(t.builder.getContext(), sharedSpace);
  Value zero = arith::ConstantOp::create(t.builder, t.loc, t.builder.getFloatAttr(ofGiven, 0));
  auto read = [&](Value index) -> SmallVector<Value> {
    Value row = t.divide(index, columns), column = t.remainder(index, columns);
    auto loadOne = [&] {
      Value place = t.addWide(t.multiplyWide(t.addWide(first, t.widen(row)), given.innerStrides[0]),
                              t.multiplyWide(t.widen(column), given.innerStrides[1]));
      return t.load(t.offset(given.pointer, place, ofGiven), ofGiven);
    };
    return {hasPadding(load) ? t.choose(t.below(column, countColumns(load)), loadOne, zero) : loadOne()};
  };
  auto write = [&](Value index, ArrayRef<Value> found) {
    Value row = t.divide(index, columns), column = t.remainder(index, columns);
    Value to = placeOf(load, row, t.divide(column, pieceColumnsOf(load)));
    to = LLVM::IntToPtrOp::create(t.builder, t.loc, pointer, to);
    t.store(t.convert(found[0], element), t.offset(to, t.remainder(column, pieceColumnsOf(load)), element));
  };
  t.when(isPresent(t, given), [&] {
    // What follows from the thread's number is found here: registers before it are for what is usual.
    Value thread = std::exchange(t.thread, code.forget(t.thread));
    t.dealInStep(t.multiply(narrow(load.earlier->missing), columns), underWay, read, write);
    t.thread = thread;
  });
}

/// Those of rows beyond the last token are zeros.
void ChainLoads::copyNumbers(const Load &load) {
  LoadOp op = load.op;
  CallerArray array = kernel.arrays.lookup(op.getArray());
  Type element = load.type().getElementType();
  constexpr int64_t bytes = 4;
  Value first = chunk.values.lookup(op.getFirst()), own = t.add(chunk.numbers, load.offset);
  Value count = load.isOfRows() ? narrow(op.getRows()) : Value();
  t.deal(t.constant(load.type().getShape().back()), [&](Value index) {
    Value offset = count ? t.multiplyWide(t.addWide(first, t.widen(index)), array.tokenStride)
                         : t.addWide(t.multiplyWide(first, array.tokenStride), t.widen(index));
    Value from = t.offset(array.pointer, offset, element);
    Value counted = count              ? t.select(t.below(index, count), t.constant(bytes), t.constant(0))
                    : hasPadding(load) ? t.select(t.below(index, countColumns(load)), t.constant(bytes), t.constant(0))
                                       : t.constant(bytes);
    code.copy(t.add(own, t.multiply(index, bytes)), from, bytes, counted);
  });
}

void ChainLoads::copyBoxes(ArrayRef<Load> loads, Value barrier) {
  constexpr int32_t outside = 1 << 30;
  int64_t bytes = 0;
  for (const Load &load : loads)
    bytes += layoutOf(load).bytes(load.type().getSize(1));
  code.expectBytes(barrier, bytes);
  for (Load load : loads) {
    ArrayMap map = kernel.findMap(load.op.getArray());
    Value row = narrow(load.op.getFirst());
    if (kernel.summaries && kernel.summaries->mapsState)
      row = t.select(isPresent(t, kernel.arrays.lookup(load.op.getArray())), row, t.constant(outside));
    PanelLayout layout = layoutOf(load);
    for (int64_t panel = 0; panel < layout.countPanels(load.type().getSize(1)); ++panel) {
      Value column = t.add(map.column, panel * layout.columns());
      Value to = t.add(chunk.stage, load.offset + panel * layout.panelBytes());
      code.copyBox(to, map.address, {column, t.constant(0), row, map.head, map.sequence}, barrier);
    }
  }
}
