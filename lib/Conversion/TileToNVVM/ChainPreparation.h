// What a chain makes besides its state, ahead of it: numbers of the tokens, and bf16 of f16, by one warp, and
// interactions, by a warpgroup of their own. They leave them in the chunk's stage, beside what was loaded.
#pragma once
#include "Analysis/StateChain.h"
#include "Conversion/TileToNVVM/Team.h"
#include "mlir/IR/IRMapping.h"

namespace recur::conversion::nvvm {

/// Numbers of numbers, in the registers of one warp: a lane has neighbouring rows. Those that the caller has in another
/// type are on their way while the chunk before is done.
class ChainNumbers {
public:
  ChainNumbers(TeamCode &team, const analysis::StateChain &chain,
               const llvm::DenseMap<mlir::Value, CallerArray> &arrays)
      : t(team), chain(chain), arrays(arrays) {}
  /// Asks for what a chunk has in other types; `values` is what scalars of the loop are in it.
  llvm::SmallVector<mlir::Value> ask(const mlir::IRMapping &values);
  /// Makes all numbers of the chunk, and leaves them where those of its stage begin.
  void make(mlir::ValueRange asked, const mlir::IRMapping &values, mlir::Value begin);

private:
  /// A lane's numbers of a tile, of one that is all lanes' own if the tile has one; and how many rows count, where
  /// others are not known to be zeros.
  struct Known {
    llvm::SmallVector<mlir::Value> numbers;
    mlir::Value rows;
  };
  static int64_t perLane(int64_t size);
  mlir::Value rowOf(int64_t size, int64_t number);
  mlir::Value placeOf(const analysis::StateChain::Load &load, mlir::Value row);
  llvm::SmallVector<mlir::Value> &numbersOf(mlir::Value tile);
  void run(tile::MapOp op, mlir::Value rows);
  void run(tile::ScanOp op, mlir::Value rows);
  void leave(const analysis::StateChain::Load &load);

  TeamCode &t;
  const analysis::StateChain &chain;
  const llvm::DenseMap<mlir::Value, CallerArray> &arrays;
  mlir::Value begin;
  llvm::DenseMap<mlir::Value, Known> known; // by tile
};

/// Makes bf16 of the chunk's rows of f16 that do not stay so, in their place: the matrix units take factors of one
/// type. All lanes of a warp take part.
void convertHalves(TeamCode &team, const analysis::StateChain &chain, mlir::Value stage);

/// Makes the interactions of a chunk, the tiles and numbers of whose stage begin at the addresses, and leaves them
/// among the tiles.
void emitInteractions(TeamCode &team, const analysis::StateChain &chain, mlir::Value stage, mlir::Value numbers);

} // namespace recur::conversion::nvvm
