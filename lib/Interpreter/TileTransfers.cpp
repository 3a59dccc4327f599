// Tiles and their views, and copies between tiles and the caller's arrays.
#include "Interpreter/TileExecutor.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

static Error runAlloc(TileExecutor &e, tile::AllocOp op) {
  Expected<Tile> tile = e.allocate(op);
  if (!tile)
    return tile.takeError();
  e.setTile(op, *tile);
  return Error::success();
}

static Error runView(TileExecutor &e, tile::ViewOp op) {
  Expected<Tile> view = e.machine.view(op, e.getTile(op.getSource()), op.getRow() ? e.getNumber(op.getRow()) : 0);
  if (!view)
    return view.takeError();
  e.setTile(op, *view);
  return Error::success();
}

/// An error unless the tile and the array have the rows.
static Error checkTransfer(TileExecutor &e, mlir::Operation *op, const Tile &tile, const CallerArray &array,
                           int64_t first, int64_t rows) {
  if (Error error = e.machine.checkRows(op, tile, rows))
    return error;
  if (array.data && rows > 0 && (first < 0 || first + rows > array.rows))
    return makeTileError(op, "rows " + Twine(first) + " to " + Twine(first + rows - 1) + " of an array that has " +
                                 Twine(array.rows));
  return Error::success();
}

/// Where the caller has an element of a tile's rows, from its first row's beginning on.
static int64_t findPlace(tile::TileType type, const CallerArray &array, int64_t row, int64_t element) {
  if (type.getTransposed()) {
    int64_t rows = type.getSize(1), columns = type.getSize(2);
    element = element % columns * rows + element / columns;
  }
  return row * array.stride + element;
}

static Error runLoad(TileExecutor &e, tile::LoadOp op) {
  CallerArray array = e.machine.arrays.lookup(op.getArray());
  Tile tile = e.getTile(op.getTile());
  int64_t first = e.getNumber(op.getFirst()), rows = e.getNumber(op.getRows());
  if (Error error = checkTransfer(e, op, tile, array, first, rows))
    return error;
  Contents contents{SmallVector<int64_t>(tile.type.getShape()), {}};
  contents.shape[0] = rows;
  tile::TileType type = op.getArray().getType();
  for (int64_t row = 0, width = contents.width(); row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      contents.values.push_back(
          array.data ? e.machine.roundTo(type.getElementType(), array.data[findPlace(type, array, first + row, i)])
                     : 0);
  e.machine.write(op, tile, contents);
  return Error::success();
}

static Error runStore(TileExecutor &e, tile::StoreOp op) {
  CallerArray array = e.machine.arrays.lookup(op.getArray());
  Tile tile = e.getTile(op.getTile());
  int64_t first = e.getNumber(op.getFirst()), rows = e.getNumber(op.getRows());
  if (Error error = checkTransfer(e, op, tile, array, first, rows))
    return error;
  Contents contents = e.machine.read(op, tile, rows);
  for (auto [i, value] : enumerate(contents.values))
    if (isHole(value))
      return makeTileError(op, "element " + describeElement(tile.type.getShape(), i) +
                                   " has no meaning: " + e.machine.holes.describe(value));
  if (!array.data)
    return Error::success();
  tile::TileType type = op.getArray().getType();
  for (int64_t row = 0, width = contents.width(); row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      array.data[findPlace(type, array, first + row, i)] =
          e.machine.roundTo(type.getElementType(), contents.values[row * width + i]);
  return Error::success();
}

void interpreter::addMemoryMeanings(TileMeanings &meanings) {
  meanings.add<tile::AllocOp, runAlloc>();
  meanings.add<tile::ViewOp, runView>();
  meanings.add<tile::LoadOp, runLoad>();
  meanings.add<tile::StoreOp, runStore>();
}
