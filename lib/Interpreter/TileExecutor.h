// Runs the ops of a region one by one. An executor has values of its own and shares the machine with others: a plan's
// roles are executors that take turns.
//
// What an op does is a function in a table, which the file of each family of ops fills: another family is another file
// and a line in getMeanings().
#pragma once
#include "Interpreter/TileMachine.h"

namespace recur::interpreter {

class TileExecutor;

/// What the ops do, by kind of op.
class TileMeanings {
public:
  using Function = llvm::Error (*)(TileExecutor &, mlir::Operation *);

  template <typename Op, llvm::Error (*run)(TileExecutor &, Op)> void add() {
    functions[mlir::TypeID::get<Op>()] = [](TileExecutor &executor, mlir::Operation *op) {
      return run(executor, mlir::cast<Op>(op));
    };
  }
  /// Null for an op without a meaning.
  Function find(mlir::Operation *op) const { return functions.lookup(op->getName().getTypeID()); }

  static const TileMeanings &get();

private:
  llvm::DenseMap<mlir::TypeID, Function> functions;
};

void addMemoryMeanings(TileMeanings &meanings);
void addNestMeanings(TileMeanings &meanings);
void addProductMeanings(TileMeanings &meanings);
void addConjugateGradientsMeanings(TileMeanings &meanings);
void addScaledSumMeanings(TileMeanings &meanings);
void addScalarMeanings(TileMeanings &meanings);
void addControlMeanings(TileMeanings &meanings);
void addRoleMeanings(TileMeanings &meanings);

class TileExecutor {
public:
  explicit TileExecutor(TileMachine &machine) : machine(machine) {}

  /// Runs a block to its end.
  llvm::Error run(mlir::Block &block);

  // Step by step: `start`, and then `step` until it gives `Finished`.
  enum class Progress { Ran, Waits, Finished };
  void start(mlir::Block &block) { frames.push_back({&block, block.begin()}); }
  /// Runs the next op.
  llvm::Expected<Progress> step();
  /// The op that the next step runs, null between blocks.
  mlir::Operation *peek() const;

  // The functions in the table call these.
  /// The op did nothing yet: the next step tries it again.
  void wait() { waits = true; }
  /// Goes on with a block of `parent`, a loop or a condition. A loop runs it again as long as its number is below
  /// `end`.
  void enter(mlir::Block &block, mlir::Operation *parent, int64_t induction = 0, int64_t end = 0, int64_t stride = 0) {
    frames.push_back({&block, block.begin(), parent, induction, end, stride});
  }

  int64_t getNumber(mlir::Value value) const { return numbers.lookup(value); }
  void setNumber(mlir::Value value, int64_t number) { numbers[value] = number; }
  Tile getTile(mlir::Value value) const { return tiles.lookup(value); }
  void setTile(mlir::Value value, const Tile &tile) { tiles[value] = tile; }
  /// A number or a tile.
  void copy(llvm::ArrayRef<mlir::Value> from, llvm::ArrayRef<mlir::Value> to);
  /// Takes over the values of another executor, in which it runs a region.
  void copyValues(const TileExecutor &other) { numbers = other.numbers, tiles = other.tiles; }
  /// The tile of an allocation, the same each time.
  llvm::Expected<Tile> allocate(tile::AllocOp op);

  TileMachine &machine;

private:
  struct Frame {
    mlir::Block *block;
    mlir::Block::iterator next;
    mlir::Operation *parent = nullptr; // an scf op
    int64_t induction = 0, end = 0, stride = 0;
  };
  void leaveFrame();
  void forgetInside(mlir::Operation *loop);

  std::vector<Frame> frames;
  bool waits = false;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  llvm::DenseMap<mlir::Value, Tile> tiles;
  llvm::DenseMap<mlir::Operation *, Tile> allocated;
};

} // namespace recur::interpreter
