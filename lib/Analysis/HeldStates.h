// Kernels that go from token to token with their states in registers: a thread has some rows and columns of each state
// from the first token to the last.
//
// Of a state one dimension goes along the warps, the free one, over which no op sums; the other one goes across the
// lanes of a warp. So a token's read of the state ends in a few exchanges between lanes, and what it leaves, a number
// for each index along, is where the change of the state wants it. Such numbers stay in registers, too.
#pragma once
#include "Analysis/TokenRows.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace recur::analysis {

/// Where the numbers of a vector are: the same in all threads, or as a state's free dimension, or as its other one.
enum class HeldForm { Same, Along, Across };

/// How a warp's lanes share a block of a state.
constexpr int64_t heldLanesAcross = 8, heldLanesAlong = 4;

struct HeldStates {
  mlir::scf::ForOp loop;                         // over tokens
  int64_t warps;                                 // of all CTAs that have a head
  llvm::MapVector<mlir::Value, int64_t> states;  // the free dimension of each
  llvm::DenseMap<mlir::Value, HeldForm> numbers; // small tiles in registers
  llvm::DenseSet<mlir::Value> placed;            // those of them that lie in their places besides
  llvm::DenseSet<mlir::Operation *> ops;         // that threads do with their own numbers

  /// How many numbers a thread has of a vector.
  int64_t countOwn(HeldForm form, int64_t size) const {
    return form == HeldForm::Same    ? 1
           : form == HeldForm::Along ? size / (warps * heldLanesAlong)
                                     : size / heldLanesAcross;
  }
  bool canShare(HeldForm form, int64_t size) const {
    return form == HeldForm::Same || size % (form == HeldForm::Along ? warps * heldLanesAlong : heldLanesAcross) == 0;
  }
  HeldForm getForm(mlir::Value state, int64_t dim) const {
    return states.lookup(state) == dim ? HeldForm::Along : HeldForm::Across;
  }
  /// Numbers of states that a thread has.
  int64_t countNumbers() const;
  /// Shared memory that the plan has for states alone: nothing lies there. What lies behind it moves down.
  llvm::SmallVector<std::pair<int64_t, int64_t>> freed; // begin and end
  int64_t moveDown(int64_t offset) const {
    int64_t moved = offset;
    for (auto [begin, end] : freed)
      moved -= end <= offset ? end - begin : 0;
    return moved;
  }
  TokenRows rows; // behind all tiles
  /// Of so much that the plan has.
  int64_t countShared(int64_t bytes) const { return rows.tokens ? rows.end : moveDown(bytes); }
};

/// On a kernel, that its states lie in their places and threads hold none: beside them registers would not do.
constexpr llvm::StringLiteral placesStatesAttribute = "tile.places_states";

/// None where no state is used so, or states have more numbers than registers have room for.
std::optional<HeldStates> findHeldStates(tile::KernelOp kernel);

/// The dimension of a tile that has more than one index; the last one where none has. None where several have.
std::optional<int64_t> findOnlyDim(tile::TileType type);

} // namespace recur::analysis
