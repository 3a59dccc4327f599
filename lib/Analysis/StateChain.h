// Kernels that go from chunk to chunk with one state, on rows of tokens that loads bring: the state can stay in the
// registers of a warpgroup, and so can what a chunk makes of it.
#pragma once

#include "Analysis/EarlierRows.h"
#include "Target/GPUProfile.h"
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// Of a kernel whose chain has no registers to read ahead, though it was estimated to have.
inline constexpr llvm::StringLiteral readsLateAttribute = "tile.reads_late";
/// The same of its form for lists of packed sequences alone, which takes registers for its place in the list.
inline constexpr llvm::StringLiteral listedReadsLateAttribute = "tile.listed_reads_late";
/// Of a kernel whose chain has no registers for steps that are done again: it adds what rounding left where it is
/// found.
inline constexpr llvm::StringLiteral addsRestsAttribute = "tile.adds_rests";

/// What such a kernel does in a chunk, and where its tiles lie in shared memory when it is done by four roles: a
/// warpgroup that has the state, warps that load, one that says what has come, and warps that store; where a chunk's
/// interactions are its own, a fifth one makes them. Chunks go through stages; those ahead are on their way, or on that
/// of their interactions, while one is computed.
///
/// A value has a row for each token, or several, and a column for each channel of the part.
struct StateChain {
  /// A tile of a chunk's stage: rows in panels of 64 columns, whose pieces of 16 bytes are permuted as `swizzle 128`
  /// says, or numbers side by side: one a row of values, one a column of the state, or one. It is loaded, or it is made
  /// of what is.
  struct Load {
    tile::LoadOp op;           // null of what is made
    mlir::Value tile;          // or the view of it in which rows of several micro-steps are one below another
    bool isConverted = false;  // numbers of another type, which the warp loads that makes numbers of them
    bool isHalf = false;       // rows of f16, which that warp makes bf16 of where they have come,
    bool staysHalf = false;    // or which products take as they are: what they multiply them by is f16 then too
    int64_t steps = 1;         // rows of a token
    int64_t offset = 0;        // in the stage's tiles, or in its numbers, in bytes
    bool isOfChannels = false; // columns are value channels of the part
    std::optional<EarlierRows> earlier = {}; // of tokens before the chunk, of which a sequence's first chunks lack some
    tile::TileType type() const { return tile::tileOf(tile); }
    /// It comes as it lies in memory.
    bool isCopied() const { return op && !isConverted; }
    bool isRows() const { return type().getRank() == 2 && type().getSize(0) > 1; }
    /// The numbers are one for each row.
    bool isOfRows() const { return !isRows() && type().getRank() == 1 && type().getSize(0) > 1; }
  };
  /// Rows of the tokens times others, and functions of the elements of that: a matrix of the tokens, in a stage.
  struct Interaction {
    tile::ProductOp product;
    unsigned left, right; // loads
    llvm::SmallVector<tile::MapOp> maps;
    std::optional<unsigned> result;
  };
  struct Operand {
    enum Kind { Value, Load, Constant } kind;
    unsigned number = 0; // of the value or load
    double constant = 0;
  };
  enum class StepKind {
    Read,    // rows S^T
    Apply,   // a matrix of the tokens times values
    Map,     // a function of elements
    Advance, // S, its columns scaled, plus values^T keys
    Store,
  };
  struct Step {
    StepKind kind;
    mlir::Operation *op;
    std::optional<unsigned> value;       // that it makes
    std::optional<unsigned> right;       // the load with the rows that read, the matrix or the keys
    llvm::SmallVector<Operand> operands; // of a map; else one, that is applied, written or stored
    std::optional<Operand> plus, scale;  // what a product is added to, and the number of each row of it; or of columns
    bool isCritical = false;             // the next chunk waits for it
    bool isProduct() const { return kind == StepKind::Read || kind == StepKind::Apply || kind == StepKind::Advance; }
    /// Rows do not depend on all that the product multiplies, some of which may be no number.
    bool isGuarded() const;
    /// A product of tf32, of values as they are and of a matrix of f32 whose columns were exchanged for that.
    bool isPrecise() const;
    /// The matrix is applied transposed: its rows are the inner dimension.
    bool isTransposed() const;
    bool takes(unsigned value) const; // as an operand
  };
  /// What is done one behind another. Products are begun, and settled in the order in which they have begun, while as
  /// many as `running` of those behind have not ended.
  struct Action {
    enum Kind { Begin, Settle, Do } kind;
    unsigned step;
    unsigned running = 0;
  };
  struct Stored {
    tile::StoreOp op;
    int64_t rows;
    int64_t offset = 0; // of the tile from which it is stored
  };
  struct Value {
    int64_t rows;
    bool isRounded; // to bf16
    std::optional<unsigned> stored;
  };
  /// Value channels: as many as a product of a warpgroup has rows.
  static constexpr int64_t channels = 64;
  static constexpr int64_t mostKeys = 256; // columns of a warpgroup's product
  static constexpr int64_t stateThreads = 128, loadThreads = 64, announceThreads = 32;
  /// Registers are dealt out evenly to three warpgroups at first, 168 a thread. The warps of roles that need few give
  /// some to the one that has the state; a warpgroup that makes interactions keeps its own. There are no others to take
  /// from: a warpgroup that takes more than are given waits forever.
  int64_t stateRegisters() const { return interactions.empty() ? 248 : 232; }
  int64_t otherRegisters() const { return interactions.empty() ? 128 : 104; }
  static constexpr int64_t manyStoreThreads = 128;
  /// Registers of a thread that are not for numbers.
  static constexpr int64_t forAddresses = 16;
  /// Whether the state at a chunk's beginning is rounded, and goes through shared memory; else threads store what they
  /// have of it.
  bool keepsRounded() const { return kept && tile::StoreOp(kept).getArray().getType().getElementType().isBF16(); }
  int64_t threads() const { return busyThreads() + idleThreads(); }
  /// Whether warps give registers to those that have the state.
  bool dealsRegisters() const {
    return gpu->hasWarpgroupProducts && (!interactions.empty() || storeThreads == manyStoreThreads);
  }
  /// Registers are dealt out by warpgroups, which are whole.
  int64_t idleThreads() const { return dealsRegisters() ? -busyThreads() & (stateThreads - 1) : 0; }
  /// Of a thread that has the state.
  int64_t registers() const;
  /// Of a thread that has the state, at least so many are in use at once where steps are done in their order: for the
  /// state and for values, and not for addresses and what passes over sums read.
  int64_t countLiveRegisters() const;
  /// Whether they have room for the state, for what is rounded of it while rows read it, for the sums of these
  /// products, and for all that passes over these sums take besides.
  bool hasRoomToReadAhead() const;
  int64_t interactionThreads() const { return interactions.empty() ? 0 : 128; }
  int64_t busyThreads() const {
    return stateThreads + interactionThreads() + loadThreads + announceThreads + storeThreads;
  }

  /// The product's factors are f16.
  bool takesHalves(const Step &step) const { return step.right && loads[*step.right].staysHalf; }
  /// What it multiplies is rounded for that, and not data of f16: what rounding left out is added behind it, by the
  /// numbers that were rounded, where f16 lacks digits for them.
  bool roundsToHalves(const Step &step) const {
    auto isData = [&](const Operand &operand) {
      return operand.kind == Operand::Load && loads[operand.number].staysHalf;
    };
    return takesHalves(step) && (step.kind == StepKind::Read || !isData(step.operands.front()));
  }

  const GPUProfile *gpu = nullptr;
  /// Products round their factors of f32 to tf32: all rows are f32 then, and the state is not rounded ahead.
  bool tf32 = false;
  tile::SegmentOp segment; // null where the kernel always has the whole sequence
  tile::LoadOp initial;
  tile::StoreOp final, kept; // `kept` is the state at each chunk's beginning; null if nobody wants it
  mlir::scf::ForOp loop;
  llvm::SmallVector<Load> loads;
  llvm::SmallVector<mlir::Operation *> numbers; // scans and maps that make numbers of numbers, in their order
  llvm::SmallVector<Interaction> interactions;
  llvm::SmallVector<Value> values;
  llvm::SmallVector<Step> steps;
  llvm::SmallVector<Stored> stored;
  llvm::SmallVector<Action> order;
  /// The action behind which the whole chunk is done again where f16 lacks digits of the state.
  std::optional<unsigned> doneAgain = {};
  int64_t keys = 0; // columns of the state
  /// What passes over a product's sums take besides is read before the product begins, and once, for which registers
  /// have room.
  bool readsAhead = true;
  int64_t storeThreads = 32;
  int64_t stages = 0, stageBytes = 0, keptOffset = 0, barrierOffset = 0, sharedBytes = 0;
  int64_t numbersOffset = 0, numberBytes = 0; // of the first stage's numbers, and of each one's

  /// A row of the state that is stored, in elements: a little longer than the row, so that eight rows lie in different
  /// banks. Rows of values are permuted as those that are loaded.
  int64_t paddedRow() const { return keys + 8; }
};

/// What the kernel does, if that is all that it does and registers and shared memory have room for it.
std::optional<StateChain> findStateChain(tile::KernelOp kernel);

/// Chooses in which order the steps are done: what the next chunk waits for first, and the rest while products of that
/// run. Nothing else runs when a guarded product ends, for then threads may have to do it again. What rounding to f16
/// left out of products that read the state is added by doing the chunk again, if it may be and there is such a product
/// behind them all.
void orderSteps(StateChain &chain, bool mayDoAgain);

} // namespace recur::analysis
