// States that threads hold from token to token, and what they compute with them.
#pragma once
#include "Analysis/HeldStates.h"
#include "Analysis/WholeTile.h"
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// What the code of held states does not know itself.
struct HeldKernel {
  llvm::function_ref<Place(mlir::Value tile)> place;
  /// Before a tile in its place is read or written.
  llvm::function_ref<void(mlir::Value tile, bool isWrite)> order;
};

class HeldCode {
public:
  HeldCode(TeamCode &team, const analysis::HeldStates &held) : t(team), held(held) {}
  /// At the beginning of the kernel, of which the CTA has a part.
  void begin(mlir::Value part);

  bool isState(mlir::Value tile) const;
  bool takes(mlir::Operation *op) const { return held.ops.contains(op); }
  void load(mlir::Value tile, const CallerArray &array, mlir::Value first);
  void store(mlir::Value tile, const CallerArray &array, mlir::Value first);
  void emit(tile::MapOp op, const HeldKernel &known);
  void emit(tile::ProductOp op, const HeldKernel &known);
  void emit(tile::ReduceOp op, const HeldKernel &known);
  /// What such an op makes where it is one number. And that number, where it is known before.
  mlir::Value sum(mlir::Operation *op, const HeldKernel &known);
  void take(mlir::Operation *op, mlir::Value sum, const HeldKernel &known);
  /// Of a vector along the warps.
  void emit(tile::StoreOp op, const CallerArray &array, mlir::Value first);

private:
  using Numbers = llvm::SmallVector<mlir::Value>;
  /// A thread, its lane across, and its block along.
  struct ThreadPlace {
    mlir::Value thread, across, along;
  };
  ThreadPlace findThread(mlir::Value thread) const;
  /// Calls `take` with each number of the thread's, or if rows are whole with neighbours: where they are in the array,
  /// and which.
  void forEachPiece(mlir::Value state, const CallerArray &array, mlir::Value first, bool isWhole,
                    llvm::function_ref<void(mlir::Value pointer, llvm::ArrayRef<int64_t> numbers)> take);
  /// How many numbers of a thread are neighbours in the state's rows.
  int64_t countPiece(mlir::Value state) const;
  /// How many neighbours across lie in one piece.
  int64_t countTogether(int64_t size) const;
  /// Where the thread's numbers of a vector are, in their order.
  llvm::SmallVector<Index> listIndices(analysis::HeldForm form, int64_t size, const ThreadPlace &place) const;
  llvm::SmallVector<Index> listIndices(analysis::HeldForm form, int64_t size) const {
    return listIndices(form, size, own);
  }
  Numbers read(mlir::Value tile, analysis::HeldForm form, const HeldKernel &known);
  /// A row of a matrix of several steps.
  Numbers readRow(mlir::Value tile, int64_t row, analysis::HeldForm form, const HeldKernel &known);
  Numbers readFrom(const Place &place, int64_t dim, llvm::ArrayRef<Index> at, analysis::HeldForm form);
  void keep(mlir::Value tile, Numbers numbers, const HeldKernel &known);
  void put(const Place &place, int64_t dim, llvm::ArrayRef<Index> at, analysis::HeldForm form,
           llvm::ArrayRef<mlir::Value> numbers);
  mlir::Value isFirst(analysis::HeldForm form);
  void changeState(tile::MapOp op, const HeldKernel &known);
  void changeState(tile::ProductOp op, const HeldKernel &known);
  mlir::Value sum(tile::ProductOp op, const HeldKernel &known);
  mlir::Value sum(tile::ReduceOp op, const HeldKernel &known);
  void addTo(Numbers &numbers, tile::ProductOp op, analysis::HeldForm form, const HeldKernel &known);
  void readState(tile::ProductOp op, const HeldKernel &known);
  Numbers get(mlir::Value state);
  void set(mlir::Value state, llvm::ArrayRef<mlir::Value> numbers);
  llvm::MutableArrayRef<mlir::Value> placesOf(mlir::Value state);
  mlir::Value sumAcross(mlir::Value own) {
    return t.combineLanes(own, [&](mlir::Value a, mlir::Value b) { return t.plus(a, b); }, analysis::heldLanesAcross);
  }
  /// Of numbers along the warps, which lanes across have in common, each lane may have one alone: what is computed of
  /// them is computed once. So may those that are summed across: at each exchange a lane keeps one half of the sums.
  bool maySpread(size_t count) const;
  mlir::Value findOwnIndex(int64_t count);
  mlir::Value isOwner(int64_t count); // of lanes that have the same one, which writes it
  mlir::Value sumAndSpread(Numbers sums);
  /// The one that the lane has; null where it has all, or they are not along the warps.
  mlir::Value findSpread(mlir::Value tile) const { return spread.lookup(analysis::getWholeTile(tile)); }
  /// The same of a tile whose numbers all lanes have, or which lies in its place.
  mlir::Value readSpread(mlir::Value tile, int64_t count, const HeldKernel &known);
  Numbers gather(mlir::Value tile, int64_t count);
  void keepSpread(mlir::Value tile, mlir::Value number, int64_t count, const HeldKernel &known);
  bool emitSpread(tile::MapOp op, const HeldKernel &known);
  bool emitSpread(tile::ProductOp op, const HeldKernel &known);
  mlir::Value addToSpread(mlir::Value number, tile::ProductOp op, int64_t count, const HeldKernel &known);

  TeamCode &t;
  const analysis::HeldStates &held;
  mlir::Value blockOfPart;                        // the part's first block along; null where a CTA has whole states
  ThreadPlace own;                                // as known from the beginning of the kernel
  mlir::Block *entry = nullptr;                   // where states have their variables
  llvm::DenseMap<mlir::Value, Numbers> variables; // of states
  llvm::DenseMap<mlir::Value, Numbers> numbers;   // of small tiles
  llvm::DenseMap<mlir::Value, mlir::Value> spread;
};

} // namespace recur::conversion::nvvm
