// The plan of one core, or of the one team of a CTA: a loop over chunks, in which each op of the chunk program becomes
// tile ops on scratch tiles.
//
// Values of the tokens have a row a token and keep it when the chunk is short: rows beyond the last token hold numbers
// of no meaning, and whatever runs over tokens - the inner index of a product, a scan, a solve - stops at the last one.
//
// Decays of tokens are turned into factors once a chunk; the decay between a write and a row is the product of the
// factors in between, in running form. Only what scales a whole state is summed as logarithms first.
#pragma once
#include "Analysis/ChunkStructure.h"
#include "Analysis/ElementwisePasses.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/Tile/Tile.h"

namespace recur::chunk {
struct Window;
} // namespace recur::chunk

namespace recur::conversion {

/// Builds scalar code in the body of a tile op.
struct Scalars {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value number(double value);
  mlir::Value integer(int64_t value);
  mlir::Value index(int64_t dim) { return tile::IndexOp::create(builder, loc, builder.getI32Type(), dim); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return mlir::arith::AddFOp::create(builder, loc, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return mlir::arith::SubFOp::create(builder, loc, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return mlir::arith::MulFOp::create(builder, loc, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return mlir::arith::DivFOp::create(builder, loc, a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return mlir::arith::MaximumFOp::create(builder, loc, a, b); }
  mlir::Value exp2(mlir::Value a) { return mlir::math::Exp2Op::create(builder, loc, a); }
  mlir::Value exp(mlir::Value a) { return mlir::math::ExpOp::create(builder, loc, a); }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(builder, loc, c, a, b);
  }
  mlir::Value either(mlir::Value a, mlir::Value b) { return mlir::arith::OrIOp::create(builder, loc, a, b); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return mlir::arith::AndIOp::create(builder, loc, a, b); }
  mlir::Value add32(mlir::Value a, int64_t b) {
    return b ? mlir::arith::AddIOp::create(builder, loc, a, integer(b)).getResult() : a;
  }
  mlir::Value multiply32(mlir::Value a, int64_t b) {
    return b == 1 ? a : mlir::arith::MulIOp::create(builder, loc, a, integer(b)).getResult();
  }
  mlir::Value below(mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value isZero(mlir::Value a);
  mlir::Value isPositive(mlir::Value a);
  /// Not where either is no number.
  mlir::Value isAtMost(mlir::Value a, mlir::Value b);
  /// What a tropical scan makes of two values.
  mlir::Value extremum(chunk::Extremum kind, mlir::Value a, mlir::Value b);
  /// The angle between minus and plus half a turn that an angle is.
  mlir::Value withinHalfATurn(mlir::Value angle);
  /// The sine or the cosine of such an angle, to 2.3e-7.
  mlir::Value sineWithinHalfATurn(mlir::Value angle);
  mlir::Value cosineWithinHalfATurn(mlir::Value angle);
  /// An elementwise function.
  mlir::Value apply(chunk::Function function, mlir::ValueRange operands);
};

/// A tile and the dimensions of the loop nest that it has; none named means the first ones.
struct Input {
  Input(mlir::Value tile) : tile(tile) {
    for (int64_t dim = 0; dim < tile::tileOf(tile).getRank(); ++dim)
      dims.push_back(dim);
  }
  Input(mlir::Value tile, std::initializer_list<int64_t> dims) : tile(tile), dims(dims) {}
  mlir::Value tile;
  llvm::SmallVector<int64_t> dims;
};

/// Who runs the plan.
struct PlanMachine {
  bool hasPairs = false;                       // a core whose products of bf16 data are products of pairs
  bool hasAMX = false;                         // and are made by AMX, whose left factors lie in rows
  int64_t threads = 0;                         // of a CTA; 0 for a core
  int64_t sharedBytes = tile::mostSharedBytes; // that the tiles of a CTA may take
  std::string gpu = {};                        // whose CTA it is; sm_90a if empty
  bool loadsLate = false;     // where they are needed, which takes less memory, not at a chunk's beginning
  bool inLevels = false;      // ops that wait for the same barriers stand side by side
  bool inLeastRoom = false;   // ops in the order in which tiles in use at once take the least shared memory
  bool isWide = false;        // such a CTA has twice the threads, for it has a multiprocessor alone
  bool solvesSystems = false; // each of the program's conjugate gradients is one op, and nothing else cancels
  bool dotsTogether = false;  // interactions of the same writes under decays of each channel, one behind the other
  bool scansFirst = false;    // running decays of what was loaded, all at a chunk's beginning
  bool readsHalves = false;   // data of f16 that are read number by number have tiles of f16
  bool isCTA() const { return threads > 0; }
};

class Planner {
public:
  Planner(chunk::ProgramOp program, mlir::OpBuilder &builder, PlanMachine machine)
      : program(program), builder(builder), loc(program.getLoc()), machine(machine),
        structure(program, machine.solvesSystems),
        passes([this](chunk::MapOp map) { return isPaired(map); }, /*ofCore=*/!machine.isCTA()),
        factorType(program.getShortFactors()) {}

  /// ChunkToTile.cpp: makes the kernel, in front of the program.
  mlir::FailureOr<tile::KernelOp> plan(llvm::StringRef symbol);

private:
  using Numbers = llvm::ArrayRef<int64_t>;
  using Body = llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)>;
  using ScanBody = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(Scalars &, mlir::ValueRange)>;

  // Planner.cpp: tiles and passes over their elements.
  mlir::Value constant(int64_t value);
  /// A tile of f32 unless said otherwise. Rows of pairs are dense.
  mlir::Value alloc(Numbers shape, mlir::Type element = {});
  mlir::Value view(mlir::Value tile, Numbers shape, Numbers strides, int64_t offset, mlir::Value row = {});
  /// Every `steps`-th row, from row `step` on.
  mlir::Value slot(mlir::Value tile, int64_t step, int64_t steps);
  /// Rows [first, first + count), and of a matrix the first `columns` columns.
  mlir::Value block(mlir::Value tile, int64_t first, int64_t count, int64_t columns);
  /// The first dimension of 1 dropped, or put in front.
  mlir::Value dropTokens(mlir::Value tile);
  mlir::Value withTokens(mlir::Value tile);
  /// How many rows hold data, of a tile of so many.
  mlir::Value rowsOf(int64_t rows);
  mlir::Value rowsOf(mlir::Value tile) { return rowsOf(tile::tileOf(tile).getSize(0)); }

  void map(llvm::ArrayRef<Input> inputs, mlir::Value result, mlir::Value rows, Body body);
  void scan(llvm::ArrayRef<Input> inputs, mlir::Value initial, mlir::Value all, mlir::Value last, mlir::Value rows,
            double start, bool reverse, ScanBody body);
  void reduce(tile::Reduction kind, llvm::ArrayRef<Input> inputs, mlir::Value result, Numbers over, Numbers sizes,
              Body body);
  void copy(mlir::Value from, mlir::Value to, mlir::Value rows);
  void fill(mlir::Value tile, double number, mlir::Value rows);
  mlir::ArrayAttr dimsOf(llvm::ArrayRef<Input> inputs);
  mlir::Value transpose(mlir::Value tile, mlir::Value rows);

  // ChunkToTile.cpp: values.
  mlir::LogicalResult plan(mlir::Block &block);
  mlir::LogicalResult plan(mlir::Operation *op);
  mlir::Value get(mlir::Value value);
  void set(mlir::Value value, mlir::Value tile) { tiles[value] = tile; }
  /// A tile of the shape of a value, which becomes its own.
  mlir::Value make(mlir::Value value);
  /// How many rows in front of its first one a value's tile has room for, which earlier tokens have.
  int64_t countRowsBefore(mlir::Value all);
  /// Loads an input of this chunk.
  void load(mlir::Value input, mlir::Value tile);
  /// Makes a load at the chunk's beginning, or where it is needed.
  void loadInPlace(llvm::function_ref<tile::LoadOp()> make);
  /// Loads a state that was kept for this chunk.
  void load(chunk::KeptOp kept);
  /// The same into a tile of a CTA, which is made before it.
  void load(chunk::KeptOp kept, mlir::Value tile);
  /// Whether the state's tile lies as the caller's array does, which may hold the transpose of the program's state.
  bool liesAsGiven(mlir::Value state, bool isGivenTransposed) const;
  mlir::Value asRow(mlir::Value state, mlir::Value tile);
  /// Makes the state's tile, and loads a row of an array into it. Gives the last op of that.
  mlir::Operation *loadState(mlir::Value state, bool isGivenTransposed, mlir::Value array, mlir::Value row);
  void storeState(chunk::StateOp state, mlir::Value array, mlir::Value row);
  /// Loads a state as the sequence begins with it.
  void load(chunk::InitialOp initial);
  mlir::Value countIfBefore(int64_t token);
  mlir::Value findLastChunks(mlir::Value allTokens, int64_t count);
  void planNexts();
  mlir::Value getOutput(chunk::OutputOp output);
  // Phases.cpp: what phases leave to each other.
  mlir::Value addPhaseArray(mlir::Block &body, mlir::Type value, bool isWhole, bool isRounded);
  void plan(chunk::GiveOp op);
  /// Copies what was left into a tile of the value's shape, which has the type of the data or f32.
  void take(chunk::TakeOp op, mlir::Value tile);
  /// The rows of a phase's array that this chunk has: the first and how many, and the tile as rows of the array.
  struct PhaseRows {
    mlir::Value first, count, tile;
  };
  PhaseRows phaseRows(mlir::Value value, mlir::Value tile, bool isWhole);
  /// Whether the value's tile can be written by `op`, which is its only or its last reader.
  bool isLastReader(mlir::Value value, mlir::Operation *op);

  // Segments.cpp
  /// Lets several CTAs deal out a sequence's chunks, where it is known how much of the state remains.
  void cutIntoSegments(mlir::scf::ForOp loop, mlir::Value initialArray, mlir::Value finalArray);

  // TokenOps.cpp
  void plan(chunk::MapOp op);
  /// What is computed in a pass from tiles: of their elements, in this order, the code makes the element.
  struct Elements {
    llvm::SmallVector<Input> inputs;
    std::function<mlir::Value(Scalars &, mlir::ValueRange)> build;
  };
  /// `getTile`: the tile of a value that the pass reads.
  Elements elementsOf(mlir::Value value, mlir::Operation *pass, llvm::function_ref<mlir::Value(mlir::Value)> getTile);
  Elements elementsOf(mlir::Value value, mlir::Operation *pass) {
    return elementsOf(value, pass, [this](mlir::Value leaf) { return getElements(leaf); });
  }
  /// Whether only passes read the result, each of which spreads the operand's numbers itself.
  static bool isSpreadInPasses(chunk::BroadcastOp op);
  /// How elements of a value go into the pass of matrices: each into one, or those of a vector into whole rows or
  /// columns.
  enum class Spread : unsigned { None, OverRows, OverColumns };
  static Spread spreadOf(chunk::MapOp map, unsigned operand);
  /// The dimensions that a spread vector has in the result of a pass, whose matrices may lie transposed.
  static std::array<int64_t, 2> dimsOf(Spread spread, bool transposed);
  /// A value that a pass takes elements of.
  using Leaf = llvm::PointerIntPair<mlir::Value, 2, Spread>;
  llvm::SmallVector<Leaf> gatherLeaves(Leaf root, mlir::Operation *pass);
  mlir::Value buildElement(Scalars &scalars, Leaf leaf, mlir::Operation *pass,
                           llvm::DenseMap<Leaf, mlir::Value> &elements);
  bool isCarriedOn(mlir::Value state, chunk::MapOp map);
  mlir::Value findChanged(chunk::MapOp op, llvm::ArrayRef<Leaf> leaves);
  void planElementwise(chunk::MapOp op);
  chunk::MapOp findPassOfSteps(chunk::InterleaveOp op);
  bool planForEachStep(chunk::MapOp op, llvm::ArrayRef<Leaf> leaves);
  /// A matrix that the vectors of all tokens are multiplied by is a factor of one product, on the matrix units of a
  /// CTA.
  bool planProjection(chunk::MapOp op);
  bool sumPass(chunk::MapOp op);
  bool sumWhole(chunk::MapOp op, const Elements &elements);
  /// Whether nothing but such products of data take the param: then it is a factor as it came.
  bool isFactorOfData(chunk::ParamOp param);
  /// A scan that is left to the passes of the maps that read what it gives, and nothing else does.
  struct LeftScan {
    llvm::SmallVector<Input> inputs;
    mlir::Value result; // the tile that it works in, if it is one of the inputs
    double start;
    bool reverse;
    std::function<std::pair<mlir::Value, mlir::Value>(Scalars &, mlir::ValueRange)> body;
    mlir::Value initial = {}, last = {}; // tiles, if any
    bool isCheap = false;                // so that each of several readers may have it anew
    llvm::SmallVector<mlir::Operation *, 2> readers = {};
    mlir::Value total = {}; // whose logarithms are `last`
  };
  bool leaveToReader(mlir::Value value, LeftScan scan);
  void planInScan(chunk::MapOp op, llvm::ArrayRef<Leaf> leaves, mlir::Value scanned);
  void planInScans(chunk::MapOp op, mlir::Value scanned);
  void plan(chunk::ExtractOp op);
  bool isReadByPasses(mlir::Value rows);
  void plan(chunk::SliceOp op);
  mlir::Value placeIn(chunk::ConcatOp op, unsigned operand);
  mlir::Value findPlace(chunk::MapOp op);
  void plan(chunk::ConcatOp op);
  void plan(chunk::BroadcastOp op);
  /// The value whose rows have one of each of the steps that the op interleaves, in their order; null if there is none.
  mlir::Value findWhole(chunk::InterleaveOp op) const;
  /// The rows of all steps as they lie in the tile of the whole.
  mlir::Value flatten(mlir::Value tile);
  bool isReadWhole(chunk::ExtractOp op) const;
  void plan(chunk::InterleaveOp op);
  void plan(chunk::DeinterleaveOp op);

  // DecayOps.cpp
  mlir::Value factors(mlir::Value decay, bool linear);
  mlir::Value blockDecay(mlir::Value factors, bool before);
  mlir::Value blockRest(mlir::Value factors);
  void scaleToBlockEnd(chunk::InteractionOp op, mlir::Value columns, mlir::Value factors, mlir::Value result);
  void leaveTotal(chunk::CumulativeDecayOp op);
  void plan(chunk::CumulativeDecayOp op);
  mlir::Value findTotal(chunk::CumulativeDecayOp op);
  void plan(chunk::InteractionOp op);
  bool takesDifferences(chunk::InteractionOp op);
  bool planOfLogarithms(chunk::CumulativeDecayOp op);
  mlir::Value logarithms(mlir::Value decay, bool before);
  mlir::Value repeat(llvm::ArrayRef<mlir::Value> ofRows);
  /// Whether it says no more than which rows see which writes, and how decayed.
  static bool isOfOnes(chunk::InteractionOp op);
  /// An interaction without decay that is of ones, and whose readers make it element by element.
  chunk::InteractionOp findMask(mlir::Value value) const;
  static mlir::Value buildSees(Scalars &scalars, chunk::InteractionOp op);
  void maskDifferences(mlir::Value dots, mlir::Value result, chunk::InteractionOp op);
  void maskScalar(mlir::Value result, chunk::InteractionOp op, mlir::Value made, mlir::Value factors);
  llvm::SmallVector<chunk::InteractionOp> findDotsTogether(chunk::InteractionOp op) const;
  bool planRoundedChannels(chunk::InteractionOp op);
  void planChannels(chunk::InteractionOp op, mlir::Value factors);

  // ProductOps.cpp
  void plan(chunk::ApplyOp op);
  void plan(chunk::SolveOp op);
  void plan(chunk::ScaledSolveOp op);
  void plan(chunk::EliminateOp op);
  void eliminateByPasses(mlir::Value matrix);
  void plan(chunk::InverseOp op);
  void plan(chunk::ReadOp op);
  void plan(chunk::AdvanceOp op);
  void plan(chunk::ReshapeStateOp op);
  void plan(chunk::ComposeOp op);
  tile::ProductOp product(mlir::Value left, bool transposed, mlir::Value right, mlir::Value result, mlir::Value rows,
                          mlir::Value inner);
  mlir::Value transposedColumns(mlir::Value columns);
  /// The matrix units of a CTA read a state either way.
  bool isTransposed(mlir::Value matrix) const { return !machine.isCTA() && structure.isTransposed(matrix); }
  /// What a product is added to, which it then starts from: rows that were read, the factors that scale them, if any,
  /// and the map that adds the two.
  struct Start {
    mlir::Value rows, scale;
    chunk::MapOp sum;
  };
  std::optional<Start> startOf(chunk::ApplyOp op);
  /// The sum that is made as the product is, where there is one.
  chunk::MapOp findSum(mlir::Value product);
  /// The sum of two interactions of one mask and one decay, which are added before they are masked.
  chunk::MapOp findSumOfDots(chunk::InteractionOp op);

  // Pairs.cpp: the factors of products of bf16.
  /// Whether a product has so many rows that its factors are worth rounding.
  bool isWorthRounding(int64_t rows) const;
  /// Whether a product with so many inner indices can take rounded factors from memory.
  bool hasPairs(int64_t inner = 2) const;
  /// Whether the numbers allow it that the product's factors are rounded.
  bool mayRound(chunk::InteractionOp op);
  bool mayRound(chunk::ReadOp op);
  bool mayRound(chunk::ApplyOp op);
  bool mayRound(chunk::ApplyTransposedOp op);
  bool mayRound(chunk::AdvanceOp op);
  /// Whether the product itself rounds its factors, to tf32.
  bool roundsInProduct(auto op) { return machine.isCTA() && program.hasTF32Factors() && mayRound(op); }
  bool takesPairs(chunk::InteractionOp op);
  bool takesPairs(chunk::ReadOp op);
  bool takesPairs(chunk::ApplyOp op);
  bool takesPairs(chunk::ApplyTransposedOp op);
  bool takesPairs(chunk::AdvanceOp op);
  /// Whether a CTA writes one value and one key to a state: a pass over its elements, of f32 whatever the data.
  bool isRankOne(chunk::AdvanceOp op) const;
  /// Whether the map scales rows that nothing but an advance takes, which scales them itself.
  bool isPaired(chunk::MapOp op);
  bool isPrecise(mlir::Value matrix);
  /// Whether nothing but products and arrays of data take the value, rounded, be it negated or interleaved with others:
  /// then it has no other tile than a rounded one.
  bool isFactorOnly(mlir::Value value);
  mlir::Value makeRounded(mlir::Value value);
  mlir::Value makeResult(mlir::Value value) { return isFactorOnly(value) ? makeRounded(value) : make(value); }
  /// Data as they came, where they are read number by number.
  mlir::Value getElements(mlir::Value value);
  /// The same where matrix units take what is made of them: data of f16 are rounded to the type of factors.
  mlir::Value getFactorElements(mlir::Value value);
  bool isReadRoundedAlone(chunk::TakeOp op);
  /// Whether a state that was kept, or left by a phase, is loaded rounded: products read it, or passes that sum it up.
  bool isLoadedRounded(mlir::Value state);
  /// Whether an array of the caller's has the type that factors are rounded to.
  template <typename Op> bool isStoredAsFactor(Op op) const { return factorType && op.getStored() == factorType; }
  /// Whether it is rounded to that as it comes: of 16 bits on a GPU, where what lies in memory as f16 becomes bf16.
  template <typename Op> bool isShort(Op op) const {
    return isStoredAsFactor(op) || (machine.isCTA() && factorType && op.getStored() && op.getStored()->isF16());
  }
  /// Whether the value is such an array's.
  bool isShortInput(mlir::Value value) const {
    auto input = value.getDefiningOp<chunk::InputOp>();
    return input && isShort(input);
  }
  /// The value in bf16; with two rows side by side; with two columns side by side, and transposed.
  mlir::Value rounded(mlir::Value value);
  /// Whether rows that a CTA's products take are two factors of bf16, and the second: what rounding left of the first.
  bool isInTwoParts(mlir::Value rows) const { return machine.isCTA() && structure.isPrecise(rows); }
  mlir::Value roundedOff(mlir::Value rows);
  /// Whether a CTA has the value, an input of f16, from memory alone.
  bool liesAsHalf(mlir::Value value) const;
  /// Whether the only products that take it are interactions with such data: then they take it as it is, exactly.
  bool staysHalf(mlir::Value value);
  mlir::Value half(mlir::Value value);
  /// The input that has a row for each step of a token, where the value is all these rows.
  mlir::Value findInterleavedInput(mlir::Value value) const;
  mlir::Value paired(mlir::Value value, mlir::Value rows);
  mlir::Value pairedColumns(mlir::Value value);
  /// The rows of the value in bf16 as columns.
  mlir::Value roundedTransposed(mlir::Value value, mlir::Value rows);

  // ScanOps.cpp
  void plan(chunk::ScanOp op);
  void plan(chunk::TropicalScanOp op);
  void plan(chunk::MoebiusScanOp op);
  void plan(chunk::PreviousOp op);
  void plan(chunk::LastOp op);
  void plan(chunk::HeldOp op);
  // Windows.cpp: rows of inputs before the chunk.
  void planHeldWindow(chunk::HeldOp op);
  bool holdsWindows();
  /// Rows of an input, of which the first is some tokens before the chunk.
  struct EarlierRows {
    mlir::Value input, given;
    int64_t count;       // as many as the chunk has tokens if 0
    int64_t back;        // so many tokens before the chunk's first one is the first
    int64_t place;       // of the row that is as many tokens before the sequence, among those that the caller gave
    bool ofNext = false; // before the next chunk's first token
  };
  EarlierRows rowsOfEarlierTokens(chunk::InputOp input) const;
  void loadEarlier(const EarlierRows &rows, mlir::Value tile);
  /// The rows before an input's tile, the youngest first, where all are its own of earlier tokens and are loaded with
  /// it.
  llvm::SmallVector<chunk::HeldOp> findHeldRows(mlir::Value input);
  void loadHeld(mlir::Value input, mlir::Value whole, llvm::ArrayRef<chunk::HeldOp> held);
  bool isLoadedHeld(mlir::Value state);
  /// A row of an input: of the token that is so many before a chunk's last one, or a number where there is none.
  struct LastRow {
    mlir::Value input; // null where it is no such row
    int64_t back = 0;
    double before = 0;
  };
  LastRow findLastRow(mlir::Value all);
  void startCarried(mlir::Value state, mlir::Value tile);
  mlir::Value rowView(mlir::Value tile, mlir::Value row);
  mlir::Value partOf(mlir::Value tile, int64_t first, int64_t count, mlir::Value row = {});
  mlir::LogicalResult plan(chunk::TokenLoopOp op);
  /// A loop that moves the rows of its state and puts each token's own behind them.
  void planWindow(chunk::TokenLoopOp op, const chunk::Window &window);
  /// The adjoint of one.
  struct WindowBack {
    /// The stream, and which row of the state each token found.
    llvm::SmallVector<std::pair<unsigned, int64_t>, 2> places;
  };
  static std::optional<WindowBack> findWindowBack(chunk::TokenLoopOp op);
  void planWindowBack(chunk::TokenLoopOp op, const WindowBack &window);

  // Steps.cpp
  mlir::Value partOfStep(mlir::Value tile, mlir::Value step, Numbers shape);
  mlir::LogicalResult plan(chunk::LoopOp op);

  // ConjugateGradients.cpp
  mlir::LogicalResult plan(chunk::CgOp op);
  void planSystems(chunk::CgOp op);
  /// Whether nothing takes what the op gives but systems that one op solves, which takes what it is made of.
  bool isInSystemsAlone(mlir::Operation *op);

  // AdjointOps.cpp
  mlir::Value rowOf(mlir::Value tile, mlir::Value row);
  void forTokensBack(llvm::function_ref<void(mlir::Value token)> build);
  void gatherBack(mlir::Value matrix, mlir::Value values, Numbers points, Numbers steps, mlir::Value factors,
                  mlir::Value result, bool solve);
  void plan(chunk::ApplyTransposedOp op);
  void plan(chunk::SolveTransposedOp op);
  void solveRowByRow(chunk::ScaledSolveOp op, mlir::Value result);
  void plan(chunk::DecayCotangentOp op);
  mlir::Value findDecayed(chunk::DecayCotangentOp op);
  /// Whether a cotangent of decays takes what the interaction makes, beside those that use it.
  bool isDecayedPairs(chunk::InteractionOp made);
  void planDecayOfPairs(chunk::DecayCotangentOp op, mlir::Value matrix, mlir::Value decayed, mlir::Value result,
                        llvm::function_ref<mlir::Value(Scalars &)> isEarlier);
  void plan(chunk::ReverseScanOp op);
  void plan(chunk::FollowingOp op);
  bool isSummedOuter(chunk::MapOp op) const;
  void plan(chunk::SumTokensOp op);
  void plan(chunk::InsertOp op);

  // DecayCotangents.cpp
  mlir::Value tokensFrom(int64_t first, int64_t count);
  /// The cotangents of a decay, of the rows and of the writes, and what they are made of.
  struct DecayParts {
    Numbers points, steps;
    mlir::Value matrix, rows, writes, factors, ofRows, ofWrites, result;
  };
  void planDecayOfChannels(chunk::DecayCotangentOp op, mlir::Value matrix, mlir::Value steps, mlir::Value result);
  void multiply(mlir::Value a, mlir::Value b, mlir::Value to, mlir::Value rows);
  void addEarlierWrites(const DecayParts &parts, mlir::Value scaledRows);
  void addLaterRows(const DecayParts &parts, mlir::Value scaledRows);

  chunk::ProgramOp program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  PlanMachine machine;
  analysis::ChunkStructure structure;
  analysis::ElementwisePasses passes;
  mlir::Type factorType;               // that factors of products are rounded to; null where they are not
  mlir::Operation *firstOp = nullptr;  // of the kernel: tiles are allocated before it
  mlir::Operation *lastLoad = nullptr; // of this chunk: inputs are loaded at its beginning
  llvm::DenseMap<mlir::Value, mlir::Value> inputArrays, initialArrays, keptArrays;
  llvm::DenseMap<mlir::Operation *, mlir::Value> phaseArrays; // by who takes or gives
  mlir::Value firstToken;                                     // of this chunk
  mlir::Value tokens;                                         // in this chunk
  bool inTokenLoop = false;                                   // where sizes of the tokens are of one token
  llvm::DenseMap<mlir::Value, mlir::Value> tiles;
  /// Tiles that are views of larger ones, and how many rows of these lie before their own.
  struct RowsBefore {
    mlir::Value whole;
    int64_t count;
  };
  llvm::DenseMap<mlir::Value, RowsBefore> rowsBefore;
  llvm::DenseMap<mlir::Value, LeftScan> leftScans;
  llvm::DenseSet<mlir::Operation *> mapsInScans; // that are computed in the pass of a scan
  llvm::DenseSet<mlir::Operation *> sumsOfStarts;
  llvm::DenseMap<mlir::Operation *, mlir::Value> concatenated; // tiles of rows side by side
  llvm::DenseSet<mlir::Operation *> placed;                    // maps that have their rows there
  llvm::DenseSet<mlir::Operation *> planned;                   // that are made with an op before them
  // What several ops ask for, by the value that it is made of. Forgotten at the end of a region.
  struct Shared {
    llvm::DenseMap<mlir::Value, mlir::Value> factors, logarithms, logarithmsBefore, logarithmsTotal, transposed,
        decayThrough, decayBefore, decayRest, paired, pairedColumns, rounded, roundedOff, halves, roundedTransposed,
        inverses;
  };
  Shared shared;
};

/// Whether all conjugate gradients of the program can be one op each of the machine's, and
/// nothing else of it cancels.
bool solvesSystemsApart(chunk::ProgramOp program, const PlanMachine &machine);
/// Moves behind conjugate gradients what these do not need: it would take room beside them.
void putSystemsFirst(chunk::ProgramOp program);

/// Lets products bring the rows that the loop's loads will take the next time into the cache, and those that its stores
/// are about to write. `backward`: the loop goes over the chunks from the last to the first.
void fetchAhead(mlir::scf::ForOp loop, bool backward);

/// Puts scans of what was loaded, which stand behind interactions, next to those that stand before them.
void putScansFirst(mlir::Block &chunk);

/// Puts the ops of a chunk in an order in which few of them wait for all threads: by levels, of which each needs
/// nothing that is made in it by other threads. As they are where that takes more registers than they have room for.
void orderByLevels(tile::KernelOp kernel, mlir::Block &chunk);

/// Puts the ops of a chunk in an order in which the tiles in use at once take little shared memory, and no more
/// registers than sums have room for.
void orderByRoom(tile::KernelOp kernel, mlir::Block &chunk);

/// Keeps sums of products that nothing but passes over their elements take in registers, where each thread has its own
/// of them. The second counts the most that are in use at once, as numbers of all threads.
void keepInRegisters(tile::KernelOp kernel, mlir::Block &chunk);
/// The same, and puts the ops in the order in which all that takes the least room.
void keepInLeastRoom(tile::KernelOp kernel, mlir::Block &chunk, bool isWide);
/// Puts the chunk's ops on tiles into this order. Views stand before what takes them.
void putInOrder(mlir::Block &chunk, llvm::ArrayRef<mlir::Operation *> order);
/// Of a kernel whose tiles are placed, and lie in shared memory alone: puts ops on numbers of the tokens where all
/// threads meet anyway, if a CTA has its multiprocessor alone and has room then too.
void meetLess(tile::KernelOp kernel, mlir::Block &chunk);
int64_t countInRegisters(tile::KernelOp kernel, mlir::Block &chunk);

/// Chooses where each tile of a kernel lies, so that tiles in use at once do not overlap, and says how much scratch
/// memory that takes.
void placeTiles(tile::KernelOp kernel);

/// The same for the plan of a CTA: what does not fit into so many bytes of shared memory, the largest tiles first, goes
/// to device memory.
void placeTiles(tile::KernelOp kernel, int64_t sharedBytes);

} // namespace recur::conversion
