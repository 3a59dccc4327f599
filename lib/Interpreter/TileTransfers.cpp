// Tiles and their views, and copies between tiles and the caller's arrays.
#include "Interpreter/Padding.h"
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

/// Where the caller has each element of a tile's row, from the row's beginning on; none of what the array does not
/// have.
static SmallVector<std::optional<int64_t>> placesOf(tile::TileType tile, tile::TileType array) {
  SmallVector<std::optional<int64_t>> places =
      placeInArray(tile.getShape().drop_front(), array.getShape().drop_front());
  if (array.getTransposed())
    for (std::optional<int64_t> &place : places)
      if (place)
        place = *place % array.getSize(2) * array.getSize(1) + *place / array.getSize(2);
  return places;
}

static Error runLoad(TileExecutor &e, tile::LoadOp op) {
  CallerArray array = e.machine.arrays.lookup(op.getArray());
  Tile tile = e.getTile(op.getTile());
  int64_t first = e.getNumber(op.getFirst()), rows = e.getNumber(op.getRows());
  if (Error error = checkTransfer(e, op, tile, array, first, rows))
    return error;
  Contents contents{SmallVector<int64_t>(tile.type.getShape()), {}};
  contents.shape[0] = rows;
  mlir::Type type = op.getArray().getType().getElementType();
  SmallVector<std::optional<int64_t>> places = placesOf(tile.type, op.getArray().getType());
  for (int64_t row = 0; row < rows; ++row)
    for (std::optional<int64_t> place : places)
      contents.values.push_back(
          array.data && place ? e.machine.roundTo(type, array.data[(first + row) * array.stride + *place]) : 0);
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
  SmallVector<std::optional<int64_t>> places = placesOf(tile.type, op.getArray().getType());
  for (auto [i, value] : enumerate(contents.values))
    if (places[i % places.size()] && isHole(value))
      return makeTileError(op, "element " + describeElement(tile.type.getShape(), i) +
                                   " has no meaning: " + e.machine.holes.describe(value));
  if (!array.data)
    return Error::success();
  mlir::Type type = op.getArray().getType().getElementType();
  for (int64_t row = 0, width = contents.width(); row < rows; ++row)
    for (auto [i, place] : enumerate(places))
      if (place)
        array.data[(first + row) * array.stride + *place] =
            e.machine.roundTo(type, contents.values[row * width + int64_t(i)]);
  return Error::success();
}

void interpreter::addMemoryMeanings(TileMeanings &meanings) {
  meanings.add<tile::AllocOp, runAlloc>();
  meanings.add<tile::ViewOp, runView>();
  meanings.add<tile::LoadOp, runLoad>();
  meanings.add<tile::StoreOp, runStore>();
}
