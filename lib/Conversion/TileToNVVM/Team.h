// What the lowerings of all tile ops build with: the threads of a CTA as one team, places in memory, and scalar code.
//
// All threads of the team come to every op together. An op deals its elements out to threads, or blocks of a product to
// warps; barriers between ops are the kernel's (TileToNVVM.cpp), those within an op its own. Indices are of 32 bits:
// tiles are small, and a multiprocessor computes these in one instruction.
#pragma once
#include "Target/GPUProfile.h"
#include "dialects/Tile/RegisterTiles.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <map>
#include <tuple>

namespace recur::conversion::nvvm {

constexpr int64_t warpThreads = 32;
constexpr unsigned globalSpace = 1, sharedSpace = 3; // address spaces of NVVM

/// A tile in registers: the numbers of the running thread, as the matrix units leave sums. None yet before the first op
/// that writes the tile.
struct Registers {
  tile::WarpBlock block;
  llvm::SmallVector<mlir::Value> numbers;
};

/// Where a tile lies.
struct Place {
  mlir::Value pointer;
  tile::TileType type;
  int64_t alignment = 1; // of its beginning, in bytes
  Registers *registers = nullptr;
};

/// An array of the caller's, from the CTA's first token on. Strides are of 64 bits.
struct CallerArray {
  mlir::Value pointer;
  tile::TileType type;
  mlir::Value tokenStride;
  llvm::SmallVector<mlir::Value, 2> innerStrides; // of arrays with two dimensions a token
  int64_t channels = 0;                           // of all parts, where the last one has fewer; else 0
  int64_t columns() const { return type.getShape().back(); }
};

/// As many bytes of a row as can be copied at once wherever rows lie side by side: the largest power of two, up to 16,
/// that divides what a row has.
int64_t findPieceBytes(const CallerArray &array);

/// A number that is partly known: value + constant. A null value is just the constant.
struct Index {
  Index(int64_t constant = 0) : constant(constant) {}
  Index(mlir::Value value, int64_t constant = 0) : value(value), constant(constant) {}
  mlir::Value value;
  int64_t constant;
};

/// How many indices a team shares out, and how many that may be at most where this is known.
struct Count {
  Count(mlir::Value value) : value(value), atMost(mlir::getConstantIntValue(value)) {}
  Count(mlir::Value value, int64_t atMost) : value(value), atMost(atMost) {}
  mlir::Value value;
  std::optional<int64_t> atMost;
};

class TeamCode {
public:
  TeamCode(mlir::OpBuilder &builder, mlir::Location loc, int64_t threads, const GPUProfile &gpu)
      : gpu(gpu), builder(builder), loc(loc), threads(threads) {}
  /// Reads who the running thread is; at the beginning of the kernel.
  void begin();
  /// Then: which of so many teams of the CTA it belongs to. Each has a barrier of its own.
  void beginAmongTeams(int64_t teams);

  const GPUProfile &gpu; // which has the instructions
  mlir::OpBuilder &builder;
  mlir::Location loc;
  int64_t threads;
  bool keepsLoops = false; // the loops of products are not spelled out
  bool isRounded = false;  // data have 16 bits: then functions of the hardware are as good as exact ones
  mlir::Value thread, lane, warp;
  mlir::Value ownTeam; // its number; null where it is the only one
  int64_t warps() const { return threads / warpThreads; }
  void barrier();

  // Integers.
  mlir::Value constant(int64_t value);
  mlir::Value number(double value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  mlir::Value divide(mlir::Value a, int64_t b);
  mlir::Value remainder(mlir::Value a, int64_t b);
  mlir::Value exclusiveOr(mlir::Value a, mlir::Value b);
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value below(mlir::Value a, mlir::Value b);
  mlir::Value toValue(Index index);
  mlir::Value narrow(mlir::Value wide); // 64 bits to 32
  mlir::Value widen(mlir::Value narrow);
  mlir::Value multiplyWide(mlir::Value a, mlir::Value b);
  mlir::Value addWide(mlir::Value a, mlir::Value b);

  // Memory.
  mlir::Value offset(mlir::Value pointer, mlir::Value index, mlir::Type element);
  mlir::Value address(const Place &place, llvm::ArrayRef<Index> indices);
  /// A number, or several neighbours that begin at a multiple of their size.
  mlir::Value load(mlir::Value pointer, mlir::Type type);
  void store(mlir::Value value, mlir::Value pointer);
  /// An element as f32, and an f32 number as an element of the tile.
  mlir::Value get(const Place &place, llvm::ArrayRef<Index> indices);
  void put(mlir::Value value, const Place &place, llvm::ArrayRef<Index> indices);
  /// The same of neighbours along the last dimension, at a multiple of their number, as wide as the tile allows. As
  /// they are: not converted to f32.
  llvm::SmallVector<mlir::Value> getNeighbours(const Place &place, llvm::ArrayRef<Index> indices, int64_t count,
                                               bool asTheyAre = false);
  /// What so many neighbours are loaded as, and then each of them as f32. Two of bf16 are a word, of which one takes an
  /// instruction; by themselves the upper ones take two.
  mlir::Type typeOfWords(mlir::Type element, int64_t count) const;
  llvm::SmallVector<mlir::Value> takeWordsApart(mlir::Value words, mlir::Type element, int64_t count);
  /// As `getNeighbours`, by words.
  llvm::SmallVector<mlir::Value> getWords(const Place &place, llvm::ArrayRef<Index> indices, int64_t count);
  void putNeighbours(llvm::ArrayRef<mlir::Value> values, const Place &place, llvm::ArrayRef<Index> indices);
  /// Floating-point numbers of one type as those of another, rounded to nearest even.
  mlir::Value convert(mlir::Value value, mlir::Type element);

  // Loops and conditions.
  using Body = llvm::function_ref<void(mlir::Value)>;
  using CarryBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  void loop(mlir::Value begin, mlir::Value end, int64_t step, Body body);
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end, int64_t step, mlir::ValueRange initial,
                                      CarryBody body);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// What the code gives where the condition holds, and the other value elsewhere.
  mlir::Value choose(mlir::Value condition, llvm::function_ref<mlir::Value()> make, mlir::Value other);
  /// Runs one of two pieces of code.
  void either(mlir::Value condition, llvm::function_ref<void()> first, llvm::function_ref<void()> second);
  /// Calls the body for each index below `count`, on one thread each.
  void deal(const Count &count, Body body);
  /// The same, with `inStep` of a thread's indices in step: all of them are read before the first is written, so that a
  /// thread waits once for memory and not once for each. `read` gives what `write` takes.
  void dealInStep(const Count &count, int64_t inStep,
                  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> read,
                  llvm::function_ref<void(mlir::Value, llvm::ArrayRef<mlir::Value>)> write);
  /// On one warp each.
  void dealToWarps(mlir::Value count, Body body) { loop(warp, count, warps(), body); }
  /// Calls the body for each index that a thread has, of which it takes so many at once.
  void loopOverOwn(const Count &count, int64_t atOnce, Body body);
  /// An index below the product of the sizes taken apart, the last dimension fastest.
  llvm::SmallVector<Index> takeApart(mlir::Value index, llvm::ArrayRef<int64_t> sizes);

  /// What all lanes of the warp give, combined, or those of each group of so many neighbouring lanes, a power of two.
  mlir::Value combineLanes(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine,
                           int64_t lanes = warpThreads);

  /// What the lane so many places before this one gives, or behind it, or a certain lane. Where there is none it is the
  /// lane's own.
  mlir::Value fromLaneBefore(mlir::Value value, int64_t distance);
  mlir::Value fromLaneAfter(mlir::Value value, int64_t distance);
  mlir::Value fromLane(mlir::Value value, int64_t lane) { return fromLane(value, constant(lane)); }
  mlir::Value fromLane(mlir::Value value, mlir::Value lane);
  /// Whether it is the running thread's warp that does what one warp alone does: one after another in turn.
  mlir::Value isTurn();

  /// A value of the body of a nest, which depends on nothing but its arguments and place.
  mlir::Value bodyValue(mlir::Region &region, mlir::Value wanted, mlir::ValueRange arguments, llvm::ArrayRef<Index> at);
  /// The body of a nest for one element: gives what it yields. `at` is the place in the nest.
  llvm::SmallVector<mlir::Value> body(mlir::Region &region, mlir::ValueRange arguments, llvm::ArrayRef<Index> at);
  /// The body's values, but for those that are known already.
  void bodyInto(mlir::IRMapping &map, mlir::Region &region, mlir::ValueRange arguments, llvm::ArrayRef<Index> at);

  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value mul(mlir::Value a, mlir::Value b) { return mlir::arith::MulFOp::create(builder, loc, a, b); }
  mlir::Value plus(mlir::Value a, mlir::Value b) { return mlir::arith::AddFOp::create(builder, loc, a, b); }
  mlir::Value minus(mlir::Value a, mlir::Value b) { return mlir::arith::SubFOp::create(builder, loc, a, b); }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, c, a, b);
  }

  /// Elements of a tile that a thread has read for a pass over a tile in registers: which tile, along which dimensions,
  /// for how large a block of a warp's, and which row of it or all columns. They stay what they are until the next
  /// barrier, so another pass need not read them again.
  using ReadElements = std::tuple<void *, llvm::SmallVector<int64_t, 2>, int64_t, int64_t, int64_t>;
  std::map<ReadElements, std::pair<mlir::Block *, llvm::SmallVector<mlir::Value>>> known;

  int64_t turns = 0; // of warps that did something alone
  int64_t teams = 1;

  // Functions.cpp: straight code, no calls.
  mlir::Value exp(mlir::Value x);
  mlir::Value exp2(mlir::Value x);
  mlir::Value expm1(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value div(mlir::Value a, mlir::Value b, bool takesDenormal = false);
  mlir::Value log1p(mlir::Value x);
  mlir::Value sin(mlir::Value x);
  mlir::Value cos(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value floor(mlir::Value x);
};

/// Whether there is an array, which depends on the caller.
mlir::Value isPresent(TeamCode &team, const CallerArray &array);
/// Whether rows begin at multiples of so many bytes and their columns lie side by side, which depends on the caller.
mlir::Value isAligned(TeamCode &team, const CallerArray &array, int64_t bytes);

// One function for each op.
void emitLoad(TeamCode &team, const CallerArray &array, mlir::Value first, mlir::Value rows, const Place &tile);
/// A load in two: numbers are on their way from the start to the finish, which puts them into the tile. They are on
/// their way to registers; or where the tile's place is free from the start on, and the numbers stay as they are, to
/// the tile.
class AheadLoad {
public:
  AheadLoad(TeamCode &team, const CallerArray &array, const Place &tile, bool isFree);
  /// Whether rows can move some bytes at a time, or are a number for each thread.
  bool canStart() const { return accesses > 0; }
  /// How many registers of at most 16 bytes a thread needs.
  int64_t countRegisters() const { return isDirect ? 0 : accesses; }
  bool goesToTile() const { return isDirect; }
  /// Before all else: whether the array's place allows it. Where it does not, the finish is a load.
  void begin(TeamCode &team);
  /// The same array, whose place was found anew.
  void begin(TeamCode &team, CallerArray found) {
    array = std::move(found);
    begin(team);
  }
  llvm::SmallVector<mlir::Value> start(TeamCode &team, mlir::Value first, mlir::Value rows);
  /// So many loads to tiles were started `later` than this one.
  void finish(TeamCode &team, mlir::Value first, mlir::Value rows, mlir::ValueRange held, int64_t later);

private:
  CallerArray array;
  Place tile;
  bool isDirect = false;
  int64_t neighbours, accesses = 0;
  mlir::Value condition;
};
void emitStore(TeamCode &team, const Place &tile, mlir::Value rows, const CallerArray &array, mlir::Value first);
void emitMap(TeamCode &team, tile::MapOp op, llvm::ArrayRef<Place> inputs, const Place &result, mlir::Value rows);
/// The same where tiles in registers are among its own: each thread takes the elements that it has.
void emitMapOfRegisters(TeamCode &team, tile::MapOp op, llvm::ArrayRef<Place> inputs, const Place &result);
void emitScan(TeamCode &team, tile::ScanOp op, llvm::ArrayRef<Place> inputs, std::optional<Place> initial,
              std::optional<Place> all, std::optional<Place> last, mlir::Value rows);
void emitReduce(TeamCode &team, tile::ReduceOp op, llvm::ArrayRef<Place> inputs, const Place &result, mlir::Value rows);
void emitTranspose(TeamCode &team, const Place &source, mlir::Value rows, const Place &result);

/// The factors, bounds and what is known of a product.
struct Product {
  Place left, right, result;
  mlir::Value rows, inner;
  int64_t innerMultiple = 1; // `inner` is known to be a multiple of this
  std::optional<Place> plus = {}, rowScale = {}, columnScale = {};
  bool transposed = false, rightTransposed = false;
  bool subtract = false; // the product from what is added
  bool tf32 = false;     // factors of f32 are rounded to it
  std::optional<std::pair<int64_t, int64_t>> leftTriangle = {}, resultTriangle = {};
};
void emitProduct(TeamCode &team, const Product &product);
void emitRowProduct(TeamCode &team, const Product &product);
void emitSolve(TeamCode &team, const Place &matrix, const Place &values, mlir::Value rows);
mlir::LogicalResult emitInvert(TeamCode &team, tile::InvertOp op, const Place &matrix, const Place &result,
                               const std::optional<Place> &scale, mlir::Value rows);
/// What an op of conjugate gradients takes.
struct Systems {
  CallerArray vectors, keys, state;
  mlir::Value first, stateRow; // rows of the arrays, of 64 bits
  std::optional<Place> gains, decays;
  Place ridge, result, work;
  mlir::Value rows;
  int64_t iterations;
};
mlir::LogicalResult emitConjugateGradients(TeamCode &team, tile::ConjugateGradientsOp op, const Systems &systems);
void emitScaledDots(TeamCode &team, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                    const Place &result, mlir::Value rows);
/// The same where the op says that numbers are rounded.
void emitRoundedDots(TeamCode &team, tile::ScaledDotsOp op, const Place &left, const Place &right, const Place &scales,
                     std::optional<Place> work, const Place &result, mlir::Value rows);
void emitScaledSums(TeamCode &team, tile::ScaledSumsOp op, const Place &matrix, const Place &values,
                    const Place &scales, const Place &result, mlir::Value rows);
/// The tiles of an op of scaled cotangents.
struct CotangentPlaces {
  Place matrix, left, right, scales, leftResult, rightResult, scalesResult, work;
};
void emitScaledCotangents(TeamCode &team, tile::ScaledCotangentsOp op, const CotangentPlaces &places, mlir::Value rows);

} // namespace recur::conversion::nvvm
