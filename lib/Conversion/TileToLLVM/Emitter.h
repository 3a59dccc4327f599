// What the lowerings of all tile ops build with: addresses, vectors, loops, and the body of a loop nest as vector code.
#pragma once
#include "Conversion/ToLLVM/Code.h"
#include "Target/Target.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace recur::conversion {

/// Where a tile lies. An array of the caller's has a run-time distance between its rows.
struct Place {
  mlir::Value pointer;
  tile::TileType type;
  mlir::Value rowStride;
};

/// A number that is partly known: value * scale + constant. A null value is just the constant.
struct Index {
  Index(int64_t constant = 0) : constant(constant) {}
  Index(mlir::Value value, int64_t constant = 0) : value(value), constant(constant) {}
  mlir::Value value;
  int64_t constant;
};

class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, VectorUnit shape) : builder(builder), loc(loc), shape(shape) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  VectorUnit shape;

  int64_t lanes() const { return shape.lanes; }

  // Types and constants. `lanes` of 1 is a scalar.
  mlir::Type vectorOf(mlir::Type element, int64_t lanes);
  mlir::Type floats(int64_t lanes) { return vectorOf(builder.getF32Type(), lanes); }
  mlir::Value constant(int64_t value);
  /// A number in every lane of a type, floating-point or integer.
  mlir::Value splat(mlir::Type type, double value);
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  /// 0, 1, 2, ... plus a base.
  mlir::Value iota(mlir::Value base, int64_t lanes);

  // Integers.
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  mlir::Value divide(mlir::Value a, int64_t b);
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value toValue(Index index);

  // Memory. Offsets are in elements.
  mlir::Value offset(mlir::Value pointer, Index index, mlir::Type element = {});
  /// The address of an element of a tile.
  mlir::Value address(const Place &place, llvm::ArrayRef<Index> indices);
  mlir::Value load(mlir::Value pointer, mlir::Type type);
  void store(mlir::Value value, mlir::Value pointer);
  /// Asks for a cache line, to read or to write it. An address that holds nothing does no harm.
  void prefetch(mlir::Value pointer, bool forWriting = false);
  /// Floating-point numbers of one type as those of another, rounded to nearest even.
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value loadSplat(mlir::Value pointer, int64_t lanes) {
    return splat(load(pointer, builder.getF32Type()), lanes);
  }

  // Floating-point vectors.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// c + a0 b0 + a1 b1, where a and b have pairs of bf16.
  mlir::Value dot(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value minus(mlir::Value a, mlir::Value b);
  /// `value` in the first lanes and `other` in the rest.
  mlir::Value keepLanes(mlir::Value value, int64_t count, mlir::Value other);
  /// The sum of all lanes.
  mlir::Value sumLanes(mlir::Value vector);

  // Loops.
  void loop(Index begin, Index end, int64_t step, LoopBody body);
  llvm::SmallVector<mlir::Value> loop(Index begin, Index end, int64_t step, mlir::ValueRange initial, CarryBody body);
  /// Calls `body(first column, vectors)` for panels of at most `vectors` vectors that cover `columns` columns.
  void panels(int64_t columns, int64_t vectors, llvm::function_ref<void(Index, int64_t)> body);

  /// The body of a loop nest for `lanes` neighbours along the last dimension: gives what it yields. `at` is the place
  /// in the nest.
  llvm::SmallVector<mlir::Value> body(mlir::Region &region, mlir::ValueRange arguments, llvm::ArrayRef<Index> at,
                                      int64_t lanes);
};

using Places = llvm::DenseMap<mlir::Value, Place>;

// One function for each op.
void emitLoad(Emitter &emitter, const Place &array, mlir::Value first, mlir::Value rows, const Place &tile, bool ahead);
void emitStore(Emitter &emitter, const Place &tile, mlir::Value rows, const Place &array, mlir::Value first);
void emitMap(Emitter &emitter, tile::MapOp op, llvm::ArrayRef<Place> inputs, const Place &result, mlir::Value rows);
void emitScan(Emitter &emitter, tile::ScanOp op, llvm::ArrayRef<Place> inputs, std::optional<Place> initial,
              std::optional<Place> all, std::optional<Place> last, mlir::Value rows);
void emitReduce(Emitter &emitter, tile::ReduceOp op, llvm::ArrayRef<Place> inputs, const Place &result,
                mlir::Value rows);

/// Rows of an array that are brought into the cache.
struct Ahead {
  Place array;
  mlir::Value first;
  int64_t rows;
  bool forWriting = false;
};

/// A map of a pass of several, which computes each element while others have it in a register.
struct JoinedMap {
  enum Source : int64_t { isLoaded = -1, ofProduct = -2 };

  tile::MapOp op;
  llvm::SmallVector<Place> places;
  Place result;
  llvm::SmallVector<int64_t> sources; // of the inputs: an earlier map, or one of the above
  bool isStored;
};
/// The maps at one place, of which `product` is the product that they follow, if any.
void emitMapsAt(Emitter &emitter, llvm::ArrayRef<JoinedMap> maps, Index row, Index column, mlir::Value product);
/// Maps over the same rows and columns, in one pass.
void emitMaps(Emitter &emitter, llvm::ArrayRef<JoinedMap> maps, mlir::Value rows);
/// Whether the map computes whole vectors of each row, one at a time.
bool isPlainMap(Emitter &emitter, tile::MapOp op);

/// The factors, bounds and what is known of a product.
struct Product {
  Place left, right, result;
  mlir::Value rows, inner;
  std::optional<Place> plus = {}, rowScale = {}, columnScale = {};
  bool transposed = false;
  std::optional<std::pair<int64_t, int64_t>> leftTriangle = {}, resultTriangle = {};
  llvm::SmallVector<Ahead> ahead = {};
  llvm::SmallVector<JoinedMap> maps = {}; // that take the result before it is stored,
  bool isStored = true;                   // if it is
};
void emitProduct(Emitter &emitter, const Product &product);
/// What is added to the product in `rows` rows and `vectors` vectors of columns, scaled; zeros where nothing is.
llvm::SmallVector<mlir::Value> emitStart(Emitter &emitter, const Product &product, mlir::Value row, Index column,
                                         int64_t rows, int64_t vectors);
/// Whether the product is of pairs that AMX takes as they lie.
bool isAMXProduct(const Emitter &emitter, const Product &product);
void emitAMXProduct(Emitter &emitter, const Product &product);

/// Cache lines of rows ahead, spread over what a product does: its `count` parts ask for a few each.
class Fetches {
public:
  Fetches(Emitter &emitter, llvm::ArrayRef<Ahead> ahead, int64_t count) : e(emitter), ahead(ahead), count(count) {}
  void emit(mlir::Value part) const;

private:
  Emitter &e;
  llvm::ArrayRef<Ahead> ahead;
  int64_t count;
};
void emitPair(Emitter &emitter, const Place &source, std::optional<Place> rowScale, bool transposed, mlir::Value rows,
              const Place &result);
void emitTranspose(Emitter &emitter, const Place &source, mlir::Value rows, const Place &result);
void emitSolve(Emitter &emitter, const Place &matrix, const Place &values, mlir::Value rows);
void emitScaledSolve(Emitter &emitter, const Place &matrix, const Place &values, const Place &scales,
                     const Place &result, mlir::Value rows);
void emitEliminate(Emitter &emitter, const Place &matrix, mlir::Value rows);
void emitScaledDots(Emitter &emitter, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                    const Place &result, mlir::Value rows);
void emitScaledSums(Emitter &emitter, tile::ScaledSumsOp op, const Place &matrix, const Place &values,
                    const Place &scales, const Place &result, mlir::Value rows);
/// Where the operands of `tile.scaled_cotangents` lie.
struct CotangentPlaces {
  Place matrix, left, right, scales, leftResult, rightResult, scalesResult, work;
};
void emitScaledCotangents(Emitter &emitter, tile::ScaledCotangentsOp op, const CotangentPlaces &places,
                          mlir::Value rows);

/// Rows that are computed at once, for a tile with room for so many: tiles are allocated with room for a multiple.
inline int64_t rowBlock(int64_t rows, int64_t most) {
  int64_t block = 1;
  while (block < rows && block < most)
    block *= 2;
  return block;
}

} // namespace recur::conversion
