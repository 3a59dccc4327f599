// What multiplies for a warpgroup: its left factor, which lies in registers, by a right one in shared memory.
//
// GPUs differ most in this. So a kernel's code asks for a product, and goes on with other work until it needs the sums;
// whether warps multiply by themselves, or a unit that reads shared memory does it beside them, it does not see. Each
// unit says which GPUs have it. Another one is a class in this folder and its row in MatrixUnit.cpp, or one that
// `addMatrixUnit` is given; nothing else changes.
//
// Whatever a unit does with its sums meanwhile, once they are settled they lie in registers as `tile::warpSums` says,
// 16 rows in each warp: what follows takes them as the next product's left factor.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// What a unit multiplies: numbers of 16 bits; or f32, of which it takes the digits that tf32 has. Inner indices of the
/// latter are exchanged (`tile::exchangedColumn`).
enum class FactorKind { BF16, F16, TF32 };

/// Where a factor comes from: from threads' registers; or from shared memory, by loads of the threads, or by the unit
/// itself, which does not see what a thread has written before that thread's fence.
enum class FactorSource { Registers, Loads, SharedMemory };

/// Rows of a product; the steps in which its columns come, and the most of them; the inner indices of an instruction.
struct UnitShape {
  int64_t rows, columnStep, mostColumns, inner;
};

/// The right factor of a product: a tile in shared memory, in panels (dialects/Tile/FragmentLayout.h) so many bytes
/// apart.
struct RightFactor {
  mlir::Value address;
  int64_t panelBytes;
};

/// A product of a warpgroup's 64 rows. Of each instruction's inner indices a thread has four words of the left factor.
struct UnitProduct {
  FactorKind kind;
  llvm::ArrayRef<mlir::Value> left;
  RightFactor right;
  llvm::ArrayRef<int64_t> places; // where, from the right factor's beginning on, inner indices begin, in bytes
  int64_t columns;
  bool isAcross;         // the right factor's columns and not its inner indices lie side by side
  mlir::ValueRange sums; // to which it is added; if there are none, to zeros
};

class MatrixUnit {
public:
  virtual ~MatrixUnit() = default;
  virtual bool isOf(const GPUProfile &gpu) const = 0;
  virtual UnitShape getShape(FactorKind kind) const = 0;
  virtual FactorSource getRightSource() const = 0;
  /// Begins a product. Nothing may be done with what it gives before that is settled.
  virtual llvm::SmallVector<mlir::Value> begin(TeamCode &t, const UnitProduct &product) const = 0;
  /// Stops until all products have ended but the last so many, which are still `running`: the sums of one that has.
  virtual llvm::SmallVector<mlir::Value> settle(TeamCode &t, mlir::ValueRange sums, int64_t running) const = 0;
};

/// Whether the unit takes such a product.
bool takesProduct(const MatrixUnit &unit, const UnitProduct &product);

/// The unit of a GPU: of those that it has the one that comes last, for later ones do more. Every GPU has the first.
const MatrixUnit &getMatrixUnit(const GPUProfile &gpu);
/// One more, behind all others; of a GPU that is not listed, for example (`addGPUProfile`). Before the first kernel is
/// compiled.
void addMatrixUnit(std::unique_ptr<MatrixUnit> unit);

/// `mma.sync`: each warp multiplies its 16 rows, and loads the right factor of all of them.
std::unique_ptr<MatrixUnit> makeWarpUnit();
/// `wgmma`: four warps multiply together, and the right factor comes from shared memory by itself.
std::unique_ptr<MatrixUnit> makeWarpgroupUnit();

} // namespace recur::conversion::nvvm
