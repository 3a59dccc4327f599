// Where tiles lie, and what they hold.
#include "Interpreter/TileMachine.h"
#include "dialects/Tile/FragmentLayout.h"
#include "dialects/Tile/Halves.h"
#include "llvm/ADT/DenseSet.h"

using namespace llvm;
using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;
using tile::Memory;
using tile::TileType;

static constexpr int64_t cellBytes = 2;

static int64_t bytesOf(TileType type) { return type.getElementBytes(); }

/// The bytes from the first element of a tile to behind its last.
static int64_t countSpan(TileType type) { return type.getExtent() * bytesOf(type); }

/// Calls `visit(element number, cell)` for the first rows of a tile, in order.
template <typename Visit> static void visitElements(const Tile &tile, int64_t firstRow, int64_t lastRow, Visit visit) {
  ArrayRef<int64_t> shape = tile.type.getShape(), strides = tile.type.getStrides();
  int64_t bytes = bytesOf(tile.type), width = 1, element = 0;
  for (int64_t size : shape.drop_front())
    width *= size;
  element = firstRow * width;
  tile::Swizzle swizzle{tile.type.getSwizzle()};
  size_t columns = tile.type.getSwizzle() ? shape.size() - 1 : shape.size();
  auto walk = [&](auto &walk, size_t dim, int64_t begin, int64_t end, int64_t offset) -> void {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = offset + i * strides[dim];
      if (dim == columns) // in panels
        at = offset + i / tile.type.getPanelColumns() * tile.type.getPanelStride() + i % tile.type.getPanelColumns();
      if (dim + 1 < shape.size())
        walk(walk, dim + 1, 0, shape[dim + 1], at);
      else
        visit(element++, swizzle.permute(tile.begin + at * bytes) / cellBytes);
    }
  };
  walk(walk, 0, firstRow, lastRow, 0);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Expected<Tile> TileMachine::allocate(tile::AllocOp op) {
  TileType type = op.getType();
  unsigned memory = unsigned(type.getMemory());
  if (any_of(type.getStrides(), [](int64_t stride) { return stride < 0; }))
    return makeTileError(op, "the strides of a tile of its own cannot be negative");
  if (allocations.empty()) { // tiles without a place lie behind all places
    kernel.walk([&](tile::AllocOp other) {
      if (other.getOffset())
        behind[unsigned(other.getType().getMemory())] =
            std::max<int64_t>(behind[unsigned(other.getType().getMemory())],
                              alignTo(*other.getOffset() + countSpan(other.getType()), 1024));
    });
    behind[unsigned(Memory::Local)] = std::max<int64_t>(behind[unsigned(Memory::Local)], kernel.getWorkspace());
  }
  Tile tile{type, 0, uint32_t(allocations.size() + 1)};
  if (op.getOffset()) {
    tile.begin = *op.getOffset();
    int64_t end = tile.begin + countSpan(type);
    if (tile.begin < 0 || tile.begin % bytesOf(type) != 0)
      return makeTileError(op,
                           "a tile of " + Twine(bytesOf(type)) + "-byte elements cannot begin at " + Twine(tile.begin));
    if (type.getMemory() == Memory::Local && end > int64_t(kernel.getWorkspace()))
      return makeTileError(op, "the tile ends at " + Twine(end) + ", behind the workspace of " +
                                   Twine(kernel.getWorkspace()) + " bytes");
  } else {
    tile.begin = alignTo(behind[memory], 1024);
    behind[memory] = tile.begin + countSpan(type);
  }
  if (type.getSwizzle() && tile.begin % (8 * type.getSwizzle()) != 0)
    return makeTileError(op, "a tile with swizzle " + Twine(type.getSwizzle()) + " begins at a multiple of " +
                                 Twine(8 * type.getSwizzle()) + ", not at " + Twine(tile.begin));
  // A swizzle moves elements within its lines.
  size_t cells = alignTo(tile.begin + countSpan(type), tile::Swizzle::lineBytes) / cellBytes;
  if (cellsOf(tile).size() < cells)
    cellsOf(tile).resize(cells);
  allocations.push_back({op, tile});
  return tile;
}

void TileMachine::forget(const Tile &tile) {
  std::vector<Cell> &cells = cellsOf(tile);
  visitElements(tile, 0, tile.type.getSize(0), [&](int64_t, int64_t cell) {
    for (int64_t i = 0; i < bytesOf(tile.type) / cellBytes; ++i)
      if (cells[cell + i].owner == tile.owner)
        cells[cell + i].owner = 0;
  });
}

Expected<Tile> TileMachine::view(tile::ViewOp op, const Tile &source, int64_t row) {
  TileType type = op.getResult().getType();
  if (row < 0 || row >= source.type.getSize(0))
    return makeTileError(op, "row " + Twine(row) + " of a tile that has " + Twine(source.type.getSize(0)));
  if (type.getElementType() != source.type.getElementType() || type.getMemory() != source.type.getMemory())
    return makeTileError(op, "a view has its source's memory and type of elements");
  Tile tile{type, source.begin + (int64_t(op.getOffset()) + row * source.type.getStride(0)) * bytesOf(type),
            source.owner};
  int64_t end = tile.begin + countSpan(type), sourceEnd = source.begin + countSpan(source.type);
  if (tile.begin < source.begin || end > sourceEnd ||
      any_of(type.getStrides(), [](int64_t stride) { return stride < 0; }))
    return makeTileError(op, "the view lies at the bytes " + Twine(tile.begin - source.begin) + " to " +
                                 Twine(end - source.begin) + " of a tile that has " + Twine(sourceEnd - source.begin));
  return tile;
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

double TileMachine::roundTo(mlir::Type element, double x) const {
  if (!rounds || x != x)
    return x;
  if (element.isInteger())
    return x;
  if (element.isBF16())
    return Arithmetic(Rounding::bf16).operand(x);
  if (element.isF16())
    return Arithmetic(Rounding::f16).operand(x);
  return float(x);
}

Error TileMachine::checkRows(mlir::Operation *op, const Tile &tile, int64_t rows) const {
  if (rows < 0 || rows > tile.type.getSize(0))
    return makeTileError(op, Twine(rows) + " rows of a tile that has " + Twine(tile.type.getSize(0)));
  return Error::success();
}

Contents TileMachine::read(mlir::Operation *op, const Tile &tile, int64_t rows) {
  if (watch)
    watch->read(op, tile, rows);
  const std::vector<Cell> &cells = cellsOf(tile);
  Contents contents{SmallVector<int64_t>(tile.type.getShape()), {}};
  contents.shape[0] = rows;
  contents.values.reserve(*countElements(contents.shape));
  bool wide = bytesOf(tile.type) > cellBytes;
  std::optional<std::pair<uint32_t, uint64_t>> last; // the owner of the last hole, and its record
  visitElements(tile, 0, rows, [&](int64_t element, int64_t cell) {
    uint32_t owner = cells[cell].owner;
    if (wide && owner == tile.owner)
      owner = cells[cell + 1].owner;
    if (owner == tile.owner)
      return contents.values.push_back(cells[cell].value);
    if (!last || last->first != owner)
      last = {owner, holes.add({owner ? HoleRecord::Overwritten : HoleRecord::Unwritten, op, tile.type,
                                owner ? allocations[owner - 1].op.getOperation() : nullptr})};
    contents.values.push_back(Holes::make(last->second, element));
  });
  return contents;
}

void TileMachine::put(const Tile &tile, int64_t cell, double value) {
  std::vector<Cell> &cells = cellsOf(tile);
  cells[cell] = {value, tile.owner};
  if (bytesOf(tile.type) > cellBytes)
    cells[cell + 1].owner = tile.owner;
}

void TileMachine::write(mlir::Operation *op, const Tile &tile, const Contents &contents) {
  mlir::Type type =
      op->hasAttr(tile::keepsHalvesAttribute) ? mlir::Float16Type::get(op->getContext()) : tile.type.getElementType();
  int64_t rows = contents.shape[0];
  if (watch)
    watch->write(op, tile, to_vector(seq(tile.type.getNumElements())));
  visitElements(tile, 0, rows,
                [&](int64_t element, int64_t cell) { put(tile, cell, roundTo(type, contents.values[element])); });
  if (rows == tile.type.getSize(0))
    return;
  uint64_t record = holes.add({HoleRecord::BeyondRows, op, tile.type});
  visitElements(tile, rows, tile.type.getSize(0),
                [&](int64_t element, int64_t cell) { put(tile, cell, Holes::make(record, element)); });
}

void TileMachine::write(mlir::Operation *op, const Tile &tile, const Contents &contents,
                        function_ref<bool(int64_t)> isWritten) {
  if (watch)
    watch->write(op, tile, to_vector(make_filter_range(seq(tile.type.getNumElements()), isWritten)));
  visitElements(tile, 0, tile.type.getSize(0), [&](int64_t element, int64_t cell) {
    if (isWritten(element))
      put(tile, cell, roundTo(tile.type.getElementType(), contents.values[element]));
  });
}

std::vector<int64_t> TileMachine::listCells(const Tile &tile, int64_t rows) const {
  std::vector<int64_t> cells;
  visitElements(tile, 0, rows, [&](int64_t, int64_t cell) { cells.push_back(cell); });
  return cells;
}

//===----------------------------------------------------------------------===//
// Results on operands
//===----------------------------------------------------------------------===//

static bool mayShare(const Tile &a, const Tile &b) {
  return a.type.getMemory() == b.type.getMemory() && a.begin < b.begin + countSpan(b.type) &&
         b.begin < a.begin + countSpan(a.type);
}

static Error makeShareError(mlir::Operation *op, const Tile &result, int64_t written, const Tile &operand,
                            int64_t read) {
  return makeTileError(op, "element " + describeElement(result.type.getShape(), written) +
                               " of the result lies where element " + describeElement(operand.type.getShape(), read) +
                               " of an operand does");
}

Error TileMachine::checkApart(mlir::Operation *op, const Tile &result, const Tile &operand) const {
  if (!mayShare(result, operand))
    return Error::success();
  DenseMap<int64_t, int64_t> written;
  visitElements(result, 0, result.type.getSize(0), [&](int64_t element, int64_t cell) { written[cell] = element; });
  std::optional<std::pair<int64_t, int64_t>> shared;
  visitElements(operand, 0, operand.type.getSize(0), [&](int64_t element, int64_t cell) {
    if (auto found = written.find(cell); found != written.end() && !shared)
      shared = {found->second, element};
  });
  return shared ? makeShareError(op, result, shared->first, operand, shared->second) : Error::success();
}

Error TileMachine::checkInPlace(mlir::Operation *op, const Tile &result, const Tile &operand,
                                ArrayRef<int64_t> dims) const {
  if (!mayShare(result, operand))
    return Error::success();
  if (result.type == operand.type && result.begin == operand.begin && equal(dims, seq<int64_t>(0, dims.size())))
    return Error::success();
  // Slow, but for tiles that lie in each other only, such as every second row of one.
  DenseMap<int64_t, int64_t> written;
  visitElements(result, 0, result.type.getSize(0), [&](int64_t element, int64_t cell) { written[cell] = element; });
  std::vector<int64_t> cells;
  visitElements(operand, 0, operand.type.getSize(0), [&](int64_t, int64_t cell) { cells.push_back(cell); });
  ArrayRef<int64_t> shape = result.type.getShape();
  for (int64_t place = 0, count = *countElements(shape); place < count; ++place) {
    SmallVector<int64_t> at(shape.size());
    int64_t rest = place, element = 0;
    for (size_t dim = shape.size(); dim-- > 0; rest /= shape[dim])
      at[dim] = rest % shape[dim];
    for (auto [dim, size] : zip(dims, operand.type.getShape()))
      element = element * size + (size == 1 ? 0 : at[dim]);
    if (auto found = written.find(cells[element]); found != written.end() && found->second != place)
      return makeShareError(op, result, found->second, operand, element);
  }
  return Error::success();
}
