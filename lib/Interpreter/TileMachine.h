// What the executors of one kernel share: memories as the plan lays them out, the caller's arrays, and how numbers are
// rounded. Ops read tiles whole, into arrays that lie dense, and write them whole.
#pragma once
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/TileBody.h"
#include "Interpreter/TileInterpreter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace recur::interpreter {

/// A tile in a memory. `owner` is the allocation that it is a part of.
struct Tile {
  tile::TileType type;
  int64_t begin = 0; // in bytes
  uint32_t owner = 0;
};

/// Rows of a tile, row by row; `shape[0]` is how many.
struct Contents {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> values;
  /// The element of a matrix.
  double &at(int64_t row, int64_t column) { return values[row * shape[1] + column]; }
  double at(int64_t row, int64_t column) const { return values[row * shape[1] + column]; }
  int64_t width() const { return *countElements(llvm::ArrayRef(shape).drop_front()); }
};

/// Is told of what ops read and write, before they do.
class MemoryWatch {
public:
  virtual ~MemoryWatch() = default;
  /// The first `rows` rows of the tile.
  virtual void read(mlir::Operation *op, const Tile &tile, int64_t rows) = 0;
  /// The elements of the tile, by number.
  virtual void write(mlir::Operation *op, const Tile &tile, llvm::ArrayRef<int64_t> elements) = 0;
};

class TileMachine {
public:
  TileMachine(tile::KernelOp kernel, const TileOptions &options)
      : kernel(kernel), rounds(options.rounds), schedule(options.schedule), options(options),
        arithmetic(options.rounds ? Rounding::f32 : Rounding::exact) {}

  // Tiles. A tile that the plan gives no place lies behind all others.
  llvm::Expected<Tile> allocate(tile::AllocOp op);
  /// What an allocation holds has no meaning any more.
  void forget(const Tile &tile);
  llvm::Expected<Tile> view(tile::ViewOp op, const Tile &source, int64_t row);

  // Contents. `op` is who reads and writes, for messages.
  /// An error unless the tile has so many rows.
  llvm::Error checkRows(mlir::Operation *op, const Tile &tile, int64_t rows) const;
  Contents read(mlir::Operation *op, const Tile &tile, int64_t rows);
  Contents read(mlir::Operation *op, const Tile &tile) { return read(op, tile, tile.type.getSize(0)); }
  /// Writes the first rows; those behind them have no meaning then.
  void write(mlir::Operation *op, const Tile &tile, const Contents &contents);
  /// Writes those elements alone of a whole tile's contents that `isWritten` takes.
  void write(mlir::Operation *op, const Tile &tile, const Contents &contents,
             llvm::function_ref<bool(int64_t)> isWritten);
  /// Where the elements of the first rows lie: numbers that two tiles have in common where they overlap.
  std::vector<int64_t> listCells(const Tile &tile, int64_t rows) const;

  // An op must not write what it has still to read.
  /// An error if the tiles share an element.
  llvm::Error checkApart(mlir::Operation *op, const Tile &result, const Tile &operand) const;
  /// An error if the tiles share an element but at the same place of the result, of which the operand has the
  /// dimensions `dims`. A size of 1 repeats.
  llvm::Error checkInPlace(mlir::Operation *op, const Tile &result, const Tile &operand,
                           llvm::ArrayRef<int64_t> dims) const;

  /// A number as an element of the type.
  double roundTo(mlir::Type element, double x) const;
  /// The code of a nest's body, compiled once.
  llvm::Expected<const TileBody *> getBody(mlir::Operation *nest);

  tile::KernelOp kernel;
  const bool rounds;
  const uint64_t schedule;
  const TileOptions options;
  const Arithmetic arithmetic;
  Holes holes;
  llvm::DenseMap<mlir::Value, CallerArray> arrays;
  MemoryWatch *watch = nullptr;

private:
  /// One of the 2 bytes that the smallest element has. An element of 4 bytes lies in the first of its two cells.
  struct Cell {
    double value = 0;
    uint32_t owner = 0; // 0: nothing was written
  };
  struct Allocation {
    tile::AllocOp op;
    Tile tile;
  };
  std::vector<Cell> &cellsOf(const Tile &tile) { return memories[unsigned(tile.type.getMemory())]; }
  void put(const Tile &tile, int64_t cell, double value);

  std::vector<Cell> memories[4];
  std::vector<Allocation> allocations;
  int64_t behind[4] = {};
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<TileBody>> bodies;
};

inline llvm::Error makeTileError(mlir::Operation *op, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), describeOp(op) + ": " + message);
}

} // namespace recur::interpreter
