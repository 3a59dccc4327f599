// One kernel on its way down: what all its ops share. TileToNVVM.cpp has the function, barriers and ops,
// CallerArrays.cpp where arrays begin, PackedUnits.cpp which packed sequence a CTA has, TeamRounds.cpp what teams have
// in a round, Loops.cpp the loops over chunks with the loads that they begin with,
// TokenRows.cpp the loop over tokens whose rows lie in shared memory several at once, Replay.cpp tokens that are gone
// over again, Trees.cpp those that are tried as a tree, HeldCode.cpp states that threads hold.
#pragma once
#include "ABI/LaunchWords.h"
#include "Analysis/ChainSummary.h"
#include "Analysis/ChannelCarry.h"
#include "Analysis/CopiedRows.h"
#include "Analysis/KernelGPU.h"
#include "Analysis/PackedLists.h"
#include "Analysis/StateChain.h"
#include "Analysis/StateParts.h"
#include "Analysis/Trees.h"
#include "Conversion/TileToNVVM/Chain.h"
#include "Conversion/TileToNVVM/ChainSummaries.h"
#include "Conversion/TileToNVVM/ChunkFlags.h"
#include "Conversion/TileToNVVM/HeldCode.h"
#include "Conversion/TileToNVVM/RowPass.h"
#include "Conversion/TileToNVVM/RunningSums.h"
#include <deque>
#include <functional>
#include <memory>

namespace recur::conversion::nvvm {

/// The bytes of one memory that an op touches; of arrays, their numbers. What is read may be any of them.
struct Access {
  tile::Memory memory;
  int64_t begin, end;
  bool isWrite;
  bool conflictsWith(const Access &other) const {
    return memory == other.memory && begin < other.end && other.begin < end && (isWrite || other.isWrite);
  }
};

/// The loop over the iterations that a CTA, or one of its teams, has of a loop whose iterations go in any order.
struct Dealt {
  mlir::Operation *loop;
  mlir::Block *body;
  mlir::Value first; // the induction variable
  mlir::Value round = {},
              rounds = {}; // of teams: how many iterations the team has had, in the body and behind the loop
  /// Where a team's iteration of a round begins, as the first one does, and whether there is one.
  std::function<std::pair<mlir::Value, mlir::Value>(mlir::Value round)> findIteration = {};
};

/// Whether the op writes the tile, which is one of its operands.
bool isWritten(mlir::Operation *op, mlir::Value tile);

class KernelLowering {
public:
  /// With `fromUnitToUnit` a chain's CTAs go over one head of a packed sequence after another.
  KernelLowering(tile::KernelOp kernel, mlir::OpBuilder &builder, bool fromUnitToUnit = false)
      : kernel(kernel), builder(builder), goesFromUnitToUnit(fromUnitToUnit),
        team(builder, kernel.getLoc(), kernel.getThreads().value_or(0), analysis::gpuOf(kernel)),
        chain(analysis::findStateChain(kernel)), carry(analysis::findChannelCarry(kernel)),
        rowPass(analysis::takesRowsApart(kernel) ? analysis::findRowPass(kernel) : std::nullopt),
        mayHaveList(analysis::listsChunks(kernel)), goesOverTrees(kernel->hasAttr(analysis::treesAttribute)) {
    if (chain && (chain->threads() != team.threads || chain->sharedBytes > int64_t(*kernel.getShared())))
      chain.reset(); // the plan has another way in mind
    heldStates = analysis::findHeldStates(kernel);
    if (!heldStates)
      return;
    chain.reset();
    carry.reset();
    rowPass.reset();
    held = std::make_unique<HeldCode>(team, *heldStates);
  }

  mlir::LogicalResult run();

private:
  void beginFunction();
  mlir::Value findUnit();
  /// The unit that the CTA's place in the grid says; neighbours have parts of one unit's states.
  mlir::Value findUnitOfGrid();
  /// The chunk and the unit that the team has in a round.
  struct Turn {
    mlir::Value chunk, unit;
    mlir::Value isMine; // whether the round has the team
  };
  Turn findTurn(mlir::Value round);
  /// PackedUnits.cpp: an entry of the list of chunks.
  struct Entry {
    mlir::Value sequence, chunk, head;
    mlir::Value isThere;
  };
  void findList();
  Entry findEntry(mlir::Value number);
  /// Of a CTA that has one unit, or one chunk of the list.
  mlir::Value findOwnUnit();
  /// Of a sequence; `isMeant` says whether the kernel is for so many tokens.
  struct Tokens {
    mlir::Value first, count, isMeant;
  };
  Tokens findTokens(mlir::Value sequence);
  /// Into how many segments a packed sequence of so many chunks is cut.
  mlir::Value findSegments(mlir::Value chunks);
  /// CTAs of a unit that is left alone end here.
  void endIfLeftAlone(mlir::Value unit);
  /// CTAs for which the condition does not hold end here.
  void endUnless(mlir::Value condition);
  /// The number of tokens as what the loop does with them has it, in a round of the team.
  mlir::Value findTokensOfRound(mlir::Value round, mlir::Value first);
  void setTokens(mlir::Value count) { values.map(kernel.getBody().front().getArguments().back(), count); }
  /// Of a CTA that goes from unit to unit: how many it has, of how many in all; what must be read of the one that it
  /// has in a round; and from here on all is that of this one, or of the one that was entered.
  mlir::Value countUnits();
  mlir::Value countAllUnits();
  llvm::SmallVector<mlir::Value> findUnit(mlir::Value round);
  void enterUnit(mlir::Value round, mlir::ValueRange found);
  void setUnitAgain();
  /// The number of a unit in the order; and its sequence.
  mlir::Value findUnitNumber(mlir::Value round);
  mlir::Value findInOrder(mlir::Value number);
  void setUnitOf(mlir::Value number, mlir::Value found);
  void emitFromUnitToUnit();
  /// Whether a team always has the same unit: that of a CTA with no other, which would not hide what finding out takes.
  bool keepsUnit() { return kernel.getTeams() && *kernel.getTeams() == 1; }
  std::string getName() { return (kernel.getSymName() + (goesFromUnitToUnit ? analysis::listedSuffix : "")).str(); }
  /// From here on arrays are those of a unit.
  void setUnit(mlir::Value unit);
  /// And tokens too, those of a team's round.
  void setUnitOfRound(mlir::Value unit);
  /// Where what the CTA has of an array begins; null where the array is absent. States are of no tokens.
  mlir::Value findFirst(int number, mlir::Type element, bool isState = false);
  template <typename Word> using WordOf = llvm::function_ref<mlir::Value(Word)>;
  /// With `pool` the array may be a state in one.
  mlir::Value findAddress(WordOf<abi::ArrayWord> array, WordOf<abi::PoolWord> pool, mlir::Value elementBytes,
                          bool isState);
  struct Row {
    mlir::Value data, offset, headStride;
  };
  Row findRow(WordOf<abi::ArrayWord> array, WordOf<abi::PoolWord> pool);
  mlir::Value findRowNumber(WordOf<abi::PoolWord> pool);
  /// The final state's array where a store keeps that state before each token; null for other stores. Where the call
  /// keeps the states after all tokens it goes there instead: to the row after so many tokens.
  mlir::Value findFinalOfKept(tile::StoreOp kept);
  mlir::Value keepsTokens(mlir::Value tokens);
  CallerArray findAfterTokens(mlir::Value final, mlir::Value tokens);
  bool mayBeInPool(int number);
  /// Intervals.cpp: whether the call keeps the states after every so many tokens.
  mlir::Value keepsIntervals();
  /// Calls `store` where the sequence's first so many tokens, of all that it has, end at a multiple of these at which
  /// the call keeps states. What is found of final states in it is that multiple's.
  void atMultiple(mlir::Value tokens, mlir::Value allTokens, llvm::function_ref<void()> store);
  /// For the state of a chain; null where it may not be in a pool.
  class MultiplesOfChain;
  std::unique_ptr<ChainMultiples> makeMultiples();
  mlir::Value loadPosition();
  /// The row of a pool in which the unit's multiple of this number has its states; negative where it has none.
  mlir::Value findRowAtMultiple(mlir::Value number);
  /// The same for those of channels.
  void storeCarriedAt(mlir::Value tokens, mlir::Value allTokens,
                      llvm::function_ref<void(tile::StoreOp final, const CallerArray &array)> store);
  /// The same for every chunk of the kernel's loop, from the end of its body.
  void keepAtMultiples(mlir::scf::ForOp loop);
  /// The array of a final state that may lie in a pool, by the store behind all chunks; null where it may not.
  mlir::BlockArgument findPooledFinal(tile::StoreOp final);
  llvm::SmallVector<tile::StoreOp> listPooledFinals();
  CallerArray findAtMultiple(tile::StoreOp final) { return findArray(findPooledFinal(final), /*isState=*/true); }
  /// The first token of the kernel's loop, which skips chunks that only states on the way would need.
  mlir::Value findBegin(mlir::scf::ForOp loop, mlir::Value begin);
  /// Replay.cpp: whether calls may have tokens replayed, which takes states that are kept before each token. How many
  /// of a sequence's first tokens are; and of a unit, how many of these were not taken.
  bool mayReplay();
  mlir::Value countReplayed();
  void findNotTaken(mlir::Value tokens);
  /// Whether the loop's token is none that is replayed.
  mlir::Value isTried(mlir::Value token);
  /// Of a load or a store of rows from `first` on, which now is the token: where it loads, and whether it stores, null
  /// where it always does. A constant `first` is of no token.
  mlir::Value findLoaded(mlir::Value first, mlir::Value token);
  mlir::Value isStored(mlir::Value first, mlir::Value token);
  void whereStored(tile::StoreOp op, llvm::function_ref<void()> store);
  /// The last ops of the body of such a kernel's loop that nothing but outputs need: replayed tokens do without them.
  llvm::SmallVector<mlir::Operation *> findOutputOps(mlir::Block &body);
  mlir::LogicalResult lowerOutputs(llvm::ArrayRef<mlir::Operation *> ops);
  /// Trees.cpp, of a kernel that goes over trees: the parent of a token of the sequence, counted as its tree counts, -1
  /// for none. What is held of the tree, where the sequence has so many tokens, and the last one that was taken is the
  /// one before `taken`; and of it how many tokens are on that one's path, and the one of a number.
  mlir::Value findParent(mlir::Value token, mlir::Value isOfSequence = {});
  mlir::Value findTree(mlir::Value taken, mlir::Value tokens);
  mlir::Value countTaken();
  mlir::Value findTaken(mlir::Value number);
  /// Where a load of the loop's token loads.
  mlir::Value findOnPath(mlir::Value token);
  /// Before a token of a tree: whether the state is kept for later ones, and in which row; and whether the token begins
  /// with another one, and in which row that lies.
  struct Fork {
    mlir::Value isKept, row, isElsewhere, rowElsewhere;
  };
  Fork findFork(mlir::Value token);
  /// Such a row of the state that a store keeps before each token.
  CallerArray findForkArray(tile::StoreOp kept, mlir::Value row);
  /// Keeps the state and takes the other, where there are such.
  void takeFork(tile::StoreOp kept);
  mlir::Value firstLoaded(tile::LoadOp op) { return findLoaded(op.getFirst(), value(op.getFirst())); }
  /// The unit of a CTA, found anew where it is seldom asked for: it would take registers of loops.
  void findUnitAnew();
  void findFirstsByLanes();
  /// Where the array begins that the lane has, of so many from one on, and its stride; lanes beyond have the last one.
  struct ArrayOfLane {
    mlir::Value number, address, tokenStride;
  };
  ArrayOfLane findArrayOfLane(int64_t from, int64_t count);
  ArrayOfLane findArrayOf(mlir::Value number, int64_t from, int64_t until);
  CallerArray findArray(mlir::BlockArgument array, bool isState = false);
  /// ListedArrays.cpp: whether where arrays begin is listed in shared memory. A list of where they do at this point of
  /// the kernel, or the other one, of states on the way; and what one says.
  bool listsArrays();
  void listArrays(bool isOnTheWay);
  mlir::Value placeInList(bool isOnTheWay, mlir::Value number);
  mlir::Value findListed(int number, bool isOnTheWay);
  mlir::Value findAddressOf(mlir::Value number);
  void listBeforeToken(mlir::Value token);
  CallerArray chooseKept(tile::StoreOp kept, mlir::BlockArgument final, mlir::Value &first);
  mlir::LogicalResult lowerLoadsTogether(mlir::Block::iterator first, mlir::Block::iterator &next);
  llvm::SmallVector<mlir::Value, 2> findInnerStrides(mlir::BlockArgument array);
  /// Where a chain's final state goes, found anew where it is stored: it would take registers of the loop.
  CallerArray findFinal(mlir::Value end);
  void findArrays();
  /// What the copy unit is told of an array that it brings rows of: the map that is so many behind the first.
  ArrayMap findMap(int number, int map, mlir::Value head, mlir::Value sequence);
  /// How many words a launch has, and where maps begin behind them.
  int countArrays();
  /// Where arrays begin is computed anew from here on, and not kept in registers until then.
  void forgetArrays();
  /// It is found where it is first needed, if it has not been before.
  CallerArray arrayOf(mlir::Value array);
  /// What a team has in a round is kept in shared memory, of each team its own: where arrays begin that its loop uses,
  /// the chunk, and where its flag is. One warp finds it a round before. Whether there is room for it, and that is
  /// done.
  bool keepsRounds();
  void keepRounds();
  void keepRound(mlir::Value round);
  mlir::Value withTokens(mlir::Value chunk);
  void forgetWhereArraysBegin();
  mlir::Value findKeptArrays(mlir::Value round);
  mlir::Value findKeptTurn(mlir::Value round);
  /// The chunk, and whether there is one.
  std::pair<mlir::Value, mlir::Value> recallChunk(mlir::Value round);
  mlir::Value findFlag(const Turn &turn);
  /// Announces the chunk of the round before.
  void announceBefore(mlir::Value round);
  CallerArray recall(mlir::Value array, CallerArray known);
  mlir::Value word(int64_t index, mlir::Type type);
  mlir::LogicalResult lower(mlir::Block &block);
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult lowerLoop(mlir::Operation *op);
  mlir::LogicalResult lowerParallel(mlir::scf::ParallelOp op);
  void lowerRowPass();
  Dealt dealToCTAs(mlir::scf::ParallelOp op);
  Dealt dealToTeams(mlir::scf::ParallelOp op);
  mlir::Value wideNumber(mlir::Value index);
  mlir::LogicalResult lowerChunks(mlir::scf::ForOp op);
  /// TokenRows.cpp, where states are held. Rows of so many tokens come at once, from a token on; what is made of them
  /// is made of all. Then each token has its own.
  struct TokenBlock {
    mlir::Value first, stop;
  };
  TokenBlock findTokenBlock(mlir::Value first);
  /// The first of them are on their way before the states are asked for.
  void startTokenRows();
  void startTokenRows(const TokenBlock &block);
  mlir::LogicalResult finishTokenRows(const TokenBlock &block);
  mlir::LogicalResult lowerTokens(mlir::scf::ForOp op);
  mlir::LogicalResult lowerToken(mlir::scf::ForOp loop, mlir::Value row);
  /// At the end of a token: a barrier, unless its threads have met nowhere that the next one's would.
  void endToken();
  void placeRow(const analysis::TokenRows::Row &row, mlir::Value record);
  /// Where a row of all tokens comes to.
  Place findCome(const analysis::TokenRows::Row &row);
  void convertRows(mlir::Value rows);
  Place findRow(const analysis::TokenRows::Row &row, mlir::Value record);
  /// Each group of lanes sums what is summed of one token's rows.
  void sumRows(mlir::Value rows);
  /// A load that a loop begins with, and where its registers are among all.
  struct Ahead {
    tile::LoadOp op;
    AheadLoad load;
    size_t first, count;
    int64_t later;       // of those to tiles
    int64_t number = -1; // of copies to tiles that begin anywhere in a chunk, in their order
  };
  /// With `areFree` nothing else is in the tiles when loads are started.
  std::vector<Ahead> findLoadsAhead(mlir::Block &body, bool areFree);
  /// Takes those out of the loads whose places nothing else is in from the end of another op of the body on; gives the
  /// op. What the next iteration loads can be on its way to them from there.
  mlir::Operation *takeFreed(mlir::Block &body, std::vector<Ahead> &ahead, std::vector<Ahead> &freed);
  /// Whether the op, or anything in it, touches where the rows of a load go.
  bool touches(mlir::Operation *op, tile::LoadOp load);
  /// What a team loads to such places in a round.
  void startRound(std::vector<Ahead> &freed, mlir::Block &body, const Dealt &dealt, mlir::Value round);
  /// What is not there is not loaded.
  llvm::SmallVector<mlir::Value> startLoads(std::vector<Ahead> &ahead, mlir::Block &body, mlir::Value induction,
                                            mlir::Value isThere = {});
  /// Lowers the body, with what is held by now where its loads are; `afterLoads` once there are no more of them.
  mlir::LogicalResult lowerBody(mlir::Block &body, std::vector<Ahead> &ahead, mlir::ValueRange held,
                                llvm::function_ref<void()> afterLoads);
  /// Where the rows of a load go: into a tile of the kernel, or into one in another shape.
  Place placeAhead(tile::LoadOp load) {
    auto part = load.getTile().getDefiningOp<tile::ViewOp>();
    Place where = place(part ? part.getSource() : load.getTile());
    where.type = load.getTile().getType();
    return where;
  }
  /// A number of the loop's body as it is in another iteration.
  mlir::Value inIteration(mlir::Value number, mlir::Block &body, mlir::Value induction, mlir::IRMapping &known);
  /// What an op computes from the thread's number is computed anew for each op, and not kept in registers from the
  /// kernel's beginning on.
  void forgetThread();
  /// The number, of 32 bits, from an instruction that nobody sees through.
  mlir::Value forget(mlir::Value number);
  /// Whether the kernel has ops that take nearly all registers.
  bool isCrowded();
  void findPlace(Ahead &ahead);
  void finishLoad(Ahead &ahead, mlir::ValueRange held);
  /// Finishes loads up to the last one whose tile the op touches; loops and conditions have all finished before.
  void finishBefore(mlir::Operation *op);
  /// Starts a load within a chunk, if it is a copy to its tile.
  bool startInside(tile::LoadOp load, std::deque<Ahead> &inside);
  /// Segments.cpp: which chunks the CTA has, and from which it begins.
  void emit(tile::SegmentOp op);
  /// Where the last of the CTAs of a sequence stores the final state; absent for others, whose tokens end before.
  CallerArray findStore(tile::SegmentOp op, CallerArray final, mlir::Value end);
  /// Of a sequence that is not cut.
  void setWhole(tile::SegmentOp op);
  SegmentSummaries findSummaries(tile::SegmentOp op, mlir::Value segment);
  /// ForgottenStates.cpp: from where on the segment for which the CTA makes a summary decides what it leaves.
  void findForgotten();
  mlir::LogicalResult checkTypes(mlir::Operation *op);
  mlir::LogicalResult allocate(tile::AllocOp op);
  mlir::LogicalResult allocateRegisters(tile::AllocOp op);
  void view(tile::ViewOp op);
  void emit(tile::ProductOp op);
  void emit(tile::ScanOp op);
  void emit(tile::StoreOp op);
  /// Rows of a tile, or a state that threads hold.
  void store(mlir::Value tile, const Place &place, mlir::Value rows, const CallerArray &array, mlir::Value first);
  /// What threads do with their own numbers; false for other ops.
  bool lowerHeld(mlir::Operation *op);
  /// Tiles in their places, and what comes before they are read or written.
  void withPlaces(llvm::function_ref<void(const HeldKernel &)> use);
  void orderTile(mlir::Value tile, bool isWrite);

  /// Whether the op right behind the last of `together` is made together with these.
  bool isNextTogether();

  /// Puts a barrier before ops that touch what another thread may still write, or write what it may still read. They
  /// are made together.
  void order(llvm::ArrayRef<mlir::Operation *> ops);
  void order(llvm::ArrayRef<Access> accesses);
  void orderAll() {
    if (pending.empty())
      return;
    team.barrier();
    pending.clear();
    if (freedIn == builder.getInsertionBlock())
      if (auto start = std::exchange(startWhereFree, nullptr))
        start();
  }

  mlir::Value value(mlir::Value old) { return values.lookup(old); }
  mlir::Value rows(mlir::Value old) { return team.narrow(values.lookup(old)); }
  Place place(mlir::Value tile) { return places.lookup(tile); }
  std::optional<Place> optionalPlace(mlir::Value tile) { return tile ? std::optional(place(tile)) : std::nullopt; }
  llvm::SmallVector<Place> placesOf(mlir::ValueRange tiles) {
    return llvm::map_to_vector(tiles, [&](mlir::Value tile) { return place(tile); });
  }
  static std::optional<std::pair<int64_t, int64_t>> triangle(std::optional<llvm::ArrayRef<int64_t>> numbers) {
    return numbers ? std::optional(std::pair((*numbers)[0], (*numbers)[1])) : std::nullopt;
  }

  tile::KernelOp kernel;
  mlir::OpBuilder &builder;
  bool goesFromUnitToUnit;
  TeamCode team;
  std::optional<analysis::StateChain> chain;      // if that is all that the kernel is
  llvm::SmallVector<analysis::CopiedRows> copied; // of arrays that have tensor maps
  std::optional<analysis::ChannelCarry> carry;
  std::optional<analysis::RowPass> rowPass;
  std::optional<analysis::HeldStates> heldStates;
  std::unique_ptr<HeldCode> held;
  struct StartedRow {
    CallerArray array;
    Place place;
    AheadLoad load;
    llvm::SmallVector<mlir::Value> held;
  };
  std::vector<StartedRow> startedRows;
  std::optional<TokenBlock> firstBlock;
  llvm::DenseMap<mlir::Operation *, mlir::Value> sumsOfRow; // of the token's row: what is known before
  bool mayHaveList;                                         // of chunks
  mlir::Value list, hasList, listsChunk; // whether there is one, and then whether the CTA has a chunk of it
  mlir::Value ownChunk;                  // where it is the CTA's
  mlir::Value ownRound;                  // of a CTA that goes from unit to unit
  mlir::LLVM::GlobalOp sharedMemory;
  mlir::Value arguments, shared, scratch, sequence, head, part, isPacked, firstToken, threadOfKernel;
  /// The lower and upper half of where the array with the lane's number begins, while all arrays are found.
  std::optional<std::pair<mlir::Value, mlir::Value>> firstOfLane;
  ChunkFlags flags;                          // where chunks are announced or awaited
  std::optional<SegmentSummaries> summaries; // where the chain makes or takes any
  struct Deal {
    mlir::Value own, units, teams, lasting, sharedRounds;
    mlir::Value chunk, rows,
        lastingRows;                // of a team that keeps its unit: its first chunk, and those of a unit in a round
    mlir::Value begin, step;        // of the loop, of 64 bits
    mlir::Value firstToken, tokens; // of the team's first unit
  } deal;                           // of chunks to teams
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::Value, CallerArray> arrays;
  mlir::Value unitTokens;   // of the unit that was set last
  mlir::Value tokensBefore; // the state whose row is found; null where no row goes by them
  mlir::Value notTaken;     // of the tokens that are replayed; null where none may be
  mlir::Value tree;         // what is held of it, in a kernel that goes over trees
  /// Where the token of a loop was found to load, and where in the code that is known.
  struct Loaded {
    mlir::Value token, loaded;
    mlir::Block *block = nullptr;
  } lastLoaded;
  mlir::Value lastListed;                      // the token whose states' rows the list has
  mlir::Value rowAtMultiple;                   // of the pool, of the multiple whose states are found; null: of none
  mlir::Value keptArrays, chunksOfUnit;        // of the team's round, in shared memory; how many chunks a unit has
  llvm::DenseMap<mlir::Value, Access> extents; // of tiles, as reads
  llvm::SmallVector<Access> pending;           // since the last barrier
  std::deque<std::pair<Ahead *, llvm::SmallVector<mlir::Value>>> underWay; // loads, and what they hold
  int64_t copies = 0;                                                      // to tiles, that were started in this chunk
  const bool goesOverTrees;
  bool findsLate = false; // arrays are found where they are read or written: where they begin is spread over lanes
  std::function<void()> startWhereFree; // behind the next barrier of this block
  mlir::Block *freedIn = nullptr;
  std::vector<std::unique_ptr<Registers>> registers; // of the tiles there
  llvm::SmallVector<mlir::Operation *> together;     // that are made at the last of them
  mlir::IRMapping values;
};

} // namespace recur::conversion::nvvm
