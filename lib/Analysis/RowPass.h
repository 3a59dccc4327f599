// Kernels that work on each token's row by itself, and on rows some tokens before it in the caller's arrays:
// elementwise functions, sums over a row, convolutions over a few tokens, norms and gates. A thread of such a kernel
// can take some channels of some rows in registers from the first load to the last store. Nothing is exchanged but what
// a row's own threads add up.
#pragma once
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace recur::analysis {

/// Which part of an allocated tile an operand is.
struct TilePart {
  mlir::Value whole;
  llvm::SmallVector<int64_t> at;   // of the whole: where the part begins
  llvm::SmallVector<int64_t> dims; // of the part: which dimension of the whole each one is; -1 where its size is 1
  bool isWhole() const;
};
/// None where it is not allocated, or where the part depends on what runs.
std::optional<TilePart> findTilePart(mlir::Value tile);

struct RowPass {
  /// What a row before the sequence's first one is: columns of a state that the caller may give.
  struct Initial {
    tile::LoadOp load;
    int64_t column;
    mlir::Value getArray() const { return tile::LoadOp(load).getArray(); }
  };
  /// Some columns of the rows of an array, or a number of each, with as many rows before the first as anybody takes.
  struct Stream {
    tile::LoadOp load;
    int64_t column, width; // a width of 1: a number
    int64_t before = 0;
    llvm::SmallVector<Initial> initial; // one for each row before, the youngest first
    mlir::Value getArray() const { return tile::LoadOp(load).getArray(); }
    mlir::Value getTile() const { return tile::LoadOp(load).getTile(); }
  };
  /// What an op takes.
  struct Operand {
    enum Kind { Fixed, Loaded, Made } kind;
    mlir::Value tile;      // as the op has it; of what was made, the whole
    size_t stream = 0;     // of the part, where it is loaded,
    int64_t back = 0;      // and how many rows before the op's own
    bool isNumber = false; // of the row: all columns have the same
  };
  struct Step {
    mlir::Operation *op;               // a map, a reduction or a store
    llvm::SmallVector<Operand> inputs; // of a store: what is stored
    mlir::Value result = {};           // the whole tile
    int64_t width = 1;                 // of the nest, or of what is stored
  };
  /// Ops that have nothing to do with those of other parts. So many neighbouring lanes have a row, each so many
  /// neighbouring columns in each of some pieces of the row.
  struct Part {
    llvm::SmallVector<Step> steps;
    llvm::SmallVector<Stream> streams;
    int64_t lanes = 1, columns = 1, pieces = 1;
    int64_t rowsEach = 1;   // that such lanes go through, one behind another,
    int64_t rowsInStep = 1; // and how many of them are loaded while as many are computed
    int64_t countNumbers(int64_t width) const { return width == 1 ? 1 : columns * pieces; }
  };

  static constexpr int64_t threads = 128;
  /// Registers for what a thread keeps: rows before and columns of params.
  static constexpr int64_t registersOfThread = 128;

  mlir::scf::ParallelOp loop;                            // over chunks
  int64_t rows = 0;                                      // of a chunk
  mlir::Value first, count;                              // of a chunk's rows, in the loop
  llvm::MapVector<mlir::Value, mlir::Operation *> fixed; // tiles that all rows have, and what makes them
  llvm::SmallVector<Part> parts;
};

/// None where the kernel does anything else.
std::optional<RowPass> findRowPass(tile::KernelOp kernel);
/// Whether the kernel has been given the threads of such a pass, and no shared memory.
bool takesRowsApart(tile::KernelOp kernel);

} // namespace recur::analysis
