#include "Conversion/TileToNVVM/ChainStores.h"

using namespace mlir;
using namespace recur::conversion;
using namespace recur::conversion::nvvm;
using namespace recur::tile;
using recur::analysis::StateChain;

int64_t nvvm::findPieceBytes(const CallerArray &array) {
  constexpr uint64_t most = pieceBytes;
  auto bytes = uint64_t((array.channels ? array.channels : array.columns()) * array.type.getElementBytes());
  return int64_t(std::min(most, bytes & ~(bytes - 1)));
}

Value nvvm::countOwnChannels(TeamCode &t, const CallerArray &array, Value part) {
  Value left = t.add(t.multiply(part, -StateChain::channels), array.channels);
  return t.smaller(left, t.constant(StateChain::channels));
}

Value ChainStores::placeOf(const Stored &tile, Value row, Value column) {
  PanelLayout layout{tile.rows, tile.elementBytes};
  int64_t pieceColumns = layout.pieceColumns();
  Value piece = t.divide(column, pieceColumns), panel;
  if (tile.isPermuted) {
    panel = t.divide(column, layout.columns());
    piece = t.divide(t.remainder(column, layout.columns()), pieceColumns);
    piece = PanelLayout::permute(t, t.remainder(row, PanelLayout::permutedRows), piece);
  }
  Value elements =
      t.add(t.add(t.multiply(row, tile.stride), t.multiply(piece, pieceColumns)), tile.offset / tile.elementBytes);
  if (panel && tile.columns > layout.columns())
    elements = t.add(elements, t.multiply(panel, tile.rows * layout.columns()));
  return t.offset(shared, t.add(elements, t.remainder(column, pieceColumns)), tile.element);
}

/// Rows of a tile to where they lie, so many columns at a time. A thread's pieces are below each other, and several of
/// them are read before the first is written.
void ChainStores::storePieces(const Stored &tile, const Strip &strip, int64_t columns, Value to, Value stride,
                              Value count) {
  constexpr int64_t inStep = 8;
  Type element = tile.element, type = columns > 1 ? Type(VectorType::get(columns, element)) : element;
  int64_t below = strip.rowsAtOnce;
  Value row = below == 1 ? t.constant(0) : t.divide(t.thread, strip.pieces); // known where all threads have a row
  Value column = t.multiply(t.add(t.remainder(t.thread, strip.pieces), strip.first), columns);
  Value offset = t.addWide(t.multiplyWide(t.widen(row), stride), t.widen(column));
  Value next = t.offset(to, offset, element);
  Value step = t.multiplyWide(stride, t.widen(t.constant(below)));
  for (int64_t first = 0; first < tile.rows; first += inStep * below) {
    int64_t end = std::min(tile.rows, first + inStep * below);
    SmallVector<Value> held;
    for (int64_t at = first; at < end; at += below)
      held.push_back(t.load(placeOf(tile, t.add(row, at), column), type));
    for (auto [i, one] : llvm::enumerate(held)) {
      auto storeOne = [&, one = one] { t.store(one, next); };
      count ? t.when(t.below(t.add(row, first + int64_t(i) * below), count), storeOne) : storeOne();
      next = t.offset(next, step, element);
    }
  }
}

/// The same number by number, to wherever they go.
void ChainStores::storeNumbers(const Stored &tile, Value to, Condition isThere, Offset offset) {
  Type element = tile.element;
  t.deal(t.constant(tile.rows * tile.columns), [&](Value index) {
    Value row = t.divide(index, tile.columns), column = t.remainder(index, tile.columns);
    t.when(isThere(row, column), [&] {
      Value number = t.load(placeOf(tile, row, column), element);
      t.store(number, t.offset(to, offset(row, column), element));
    });
  });
}

void ChainStores::storeValue(const StateChain::Stored &value, const CallerArray &array, Value first, Value rows) {
  int64_t elementBytes = array.type.getElementBytes();
  Type element = chain.tf32 ? Type(t.builder.getF32Type()) : t.builder.getBF16Type();
  Stored tile{value.offset,        value.rows, StateChain::channels, PanelLayout::rowBytes / elementBytes,
              /*isPermuted=*/true, element,    elementBytes};
  Value to = t.offset(array.pointer, t.multiplyWide(first, array.tokenStride), array.type.getElementType());
  int64_t bytes = findPieceBytes(array), columns = bytes / elementBytes;
  SmallVector<Strip> strips = findStrips(tile.columns / columns, tile.rows, t.threads);
  auto inPieces = [&] {
    for (const Strip &strip : strips) {
      Value count = rows;
      if (array.channels) { // a thread has the same columns of all rows
        Value column = t.multiply(t.add(t.remainder(t.thread, strip.pieces), strip.first), columns);
        count = t.select(t.below(column, countOwnChannels(t, array, part)), rows, t.constant(0));
      }
      storePieces(tile, strip, columns, to, array.tokenStride, count);
    }
  };
  auto byNumbers = [&] {
    auto isThere = [&](Value row, Value column) -> Value {
      Value hasRow = t.below(row, rows);
      if (!array.channels)
        return hasRow;
      return arith::AndIOp::create(t.builder, t.loc, hasRow, t.below(column, countOwnChannels(t, array, part)));
    };
    storeNumbers(tile, to, isThere, [&](Value row, Value column) {
      return t.addWide(t.multiplyWide(t.widen(row), array.tokenStride), t.widen(column));
    });
  };
  t.when(isPresent(t, array), [&] {
    if (strips.empty())
      byNumbers();
    else if (columns == 1)
      inPieces();
    else
      t.either(isAligned(t, array, bytes), inPieces, byNumbers);
  });
}

void ChainStores::storeState(const CallerArray &array, Value first, Value rows) {
  constexpr int64_t elementBytes = 2, pieceColumns = pieceBytes / elementBytes;
  Stored tile{chain.keptOffset,     StateChain::channels,    chain.keys,  chain.paddedRow(),
              /*isPermuted=*/false, t.builder.getBF16Type(), elementBytes};
  Value to = t.offset(array.pointer, t.multiplyWide(first, array.tokenStride), array.type.getElementType());
  Value channels = array.channels ? countOwnChannels(t, array, part) : t.constant(StateChain::channels);
  // Of a chunk that is another CTA's, nothing.
  Value count =
      array.channels || chain.segment ? t.select(t.below(t.constant(0), rows), channels, t.constant(0)) : Value();
  SmallVector<Strip> strips = findStrips(tile.columns / pieceColumns, tile.rows, t.threads);
  bool isPadded = tile.columns > array.columns(); // behind the array's columns lies what is another row's
  auto inPieces = [&] {
    for (const Strip &strip : strips) {
      Value rowsOfPiece = count;
      if (isPadded) {
        Value column = t.multiply(t.add(t.remainder(t.thread, strip.pieces), strip.first), pieceColumns);
        Value isThere = t.below(column, t.constant(array.columns()));
        rowsOfPiece = t.select(isThere, count ? count : channels, t.constant(0));
      }
      storePieces(tile, strip, pieceColumns, to, array.innerStrides[0], rowsOfPiece);
    }
  };
  auto byNumbers = [&] {
    auto isThere = [&](Value row, Value column) -> Value {
      Value hasRow = t.below(row, count ? count : channels);
      if (!isPadded)
        return hasRow;
      return arith::AndIOp::create(t.builder, t.loc, hasRow, t.below(column, t.constant(array.columns())));
    };
    storeNumbers(tile, to, isThere, [&](Value row, Value column) {
      return t.addWide(t.multiplyWide(t.widen(row), array.innerStrides[0]),
                       t.multiplyWide(t.widen(column), array.innerStrides[1]));
    });
  };
  t.when(isPresent(t, array), [&] {
    if (!strips.empty())
      t.either(isAligned(t, array, pieceColumns * elementBytes), inPieces, byNumbers);
    else
      byNumbers();
  });
}
