// What a warpgroup does together: barriers with phases, copies, and products, which are its matrix unit's.
#pragma once
#include "Conversion/TileToNVVM/MatrixUnits/MatrixUnit.h"

namespace recur::conversion::nvvm {

/// A right factor of f32, of which products of tf32 round each number as they read it: a tile of so many rows, in
/// panels.
struct RightFactor32 {
  mlir::Value address;
  int64_t rows;
};

/// What the inner indices of a product of tf32 are, as the left factor has them in a thread's numbers: channels, two
/// neighbours; or tokens, in the order of `tokenOfColumn`.
enum class Inner32 { Channels, Tokens };

/// Matrix units truncate tf32 operands after ten digits, which makes them smaller by half of 2^-10 on average. Scaling
/// operands up by this beforehand centres the error over all leading digits, and numbers of so few digits stay what
/// they are. The average of 1 / m over mantissas m from 1 to 2 is ln 2, and so is the share of 2^-11.
inline constexpr double centredTF32 = 1 + .69 / 2048;

/// Addresses in shared memory are of 32 bits here.
class WarpgroupCode {
public:
  explicit WarpgroupCode(TeamCode &t) : t(t), unit(getMatrixUnit(t.gpu)) {}

  mlir::Value addressOf(mlir::Value sharedPointer);
  mlir::Value pointerTo(mlir::Value address);
  /// The same number, of which LLVM knows nothing: what follows from it is not found ahead, nor shared with elsewhere.
  mlir::Value forget(mlir::Value number);

  // Barriers in shared memory, which count arrivals by phases.
  void makeBarrier(mlir::Value address, int64_t arrivals);
  /// As often as `times` says.
  void arrive(mlir::Value address, int64_t times = 1);
  /// Stops until the phase of this parity is complete.
  void wait(mlir::Value address, mlir::Value parity);
  /// What this thread wrote is there for matrix units that read shared memory past the threads' own path.
  void fence();
  void syncWarp();
  /// A barrier of the CTA, by its number, at which so many threads meet: those that only arrive do not wait.
  void meet(int64_t number, int64_t threads);
  void arriveAndGoOn(int64_t number, int64_t threads);
  /// All threads of the warpgroup have so many registers each from now on, more than before or fewer.
  void takeRegisters(int64_t count);
  void giveRegisters(int64_t count);
  /// Whether the condition holds for any thread of the one warpgroup that asks; all of its threads do.
  mlir::Value anyOfWarpgroup(mlir::Value condition);
  mlir::Value anyOfWarp(mlir::Value condition);
  /// Whether any of these pairs of bf16, or numbers of f32, has an infinite number or none.
  mlir::Value isAnyInfinite(llvm::ArrayRef<mlir::Value> all, bool areF32 = false);
  /// What the lane has whose number differs by so much.
  mlir::Value exchange(mlir::Value value, int64_t distance);

  /// Starts to copy as many bytes; of these `counted` are read, and zeros make up the rest.
  void copy(mlir::Value to, mlir::Value from, int64_t bytes, mlir::Value counted);
  /// A box of an array's tensor map, by the copy unit: its columns, and the rows from these coordinates on, the
  /// innermost first. The barrier's phase ends when its bytes have come, which `expectBytes` has told it before.
  void copyBox(mlir::Value to, mlir::Value map, llvm::ArrayRef<mlir::Value> coordinates, mlir::Value barrier);
  void expectBytes(mlir::Value barrier, int64_t bytes);
  /// An arrival of this thread once all of its copies have come, or stops until then.
  void arriveWithCopies(mlir::Value address);
  void waitForCopies();
  /// Asks the copy unit to take so many bytes, a multiple of 16, from an address in shared memory to the device's; and
  /// stops until all that this thread has asked for has been read.
  void copyOut(mlir::Value to, mlir::Value from, mlir::Value bytes);
  void waitForCopiesOut();

  /// Four 8 by 8 matrices of 16 bits, of which each lane gives the address of a piece. Across, rows become columns.
  llvm::SmallVector<mlir::Value> loadMatricesAcross(mlir::Value address);
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value address, bool isAcross = false);
  void storeMatrices(mlir::Value address, llvm::ArrayRef<mlir::Value> four, bool isAcross);
  /// Two numbers rounded to bf16, if no other type is said, in one register; and those of bf16 back.
  mlir::Value pack(mlir::Value low, mlir::Value high, mlir::Type element = {});
  std::pair<mlir::Value, mlir::Value> unpack(mlir::Value both);
  /// Pairs of neighbours, each as a register of what they round to and one of what that leaves, rounded.
  struct Split {
    llvm::SmallVector<mlir::Value> upper, lower;
  };
  Split split(llvm::ArrayRef<mlir::Value> numbers);

  /// Begins a product of a warpgroup: a left factor of bf16, or f16, with 64 rows in registers, four for 16 inner
  /// indices, and a right one with so many columns; `places` is where, from its beginning on, its inner indices begin,
  /// 16 by 16, in bytes. Across, its columns and not its inner indices lie side by side. Adds to `sums`, if there are
  /// any. Nothing may be done with what it gives before it is settled.
  llvm::SmallVector<mlir::Value> multiply(FactorKind kind, llvm::ArrayRef<mlir::Value> left, RightFactor right,
                                          llvm::ArrayRef<int64_t> places, int64_t columns, bool isAcross,
                                          mlir::ValueRange sums = {});
  /// The same of tf32, eight inner indices at a time, which lie side by side. A thread's sums, of f32, are its left
  /// factor if the right one's inner indices are exchanged as `tile.invert` says.
  llvm::SmallVector<mlir::Value> multiplyPrecise(llvm::ArrayRef<mlir::Value> left, RightFactor right,
                                                 llvm::ArrayRef<int64_t> places, int64_t columns,
                                                 mlir::ValueRange sums = {});
  /// A product of each warp's 16 rows, of factors of f32 that are rounded to tf32; it is done when this returns. Where
  /// `isAcross`, the right factor's rows are the inner indices; else its rows are the result's columns, which are
  /// tokens. `areTokens`: so they are where inner indices lie across. `skips` says for which eights of columns which
  /// eights of inner indices are zeros of the right factor.
  struct Product32 {
    llvm::ArrayRef<mlir::Value> left;
    RightFactor32 right;
    int64_t inner, columns;
    Inner32 kind;
    bool isAcross, areTokens;
    llvm::function_ref<bool(int64_t column, int64_t inner)> skips;
  };
  llvm::SmallVector<mlir::Value> multiply32(const Product32 &product, mlir::ValueRange sums = {});
  /// Where a number of a tile of f32 lies.
  mlir::Value placeInPanels32(RightFactor32 tile, mlir::Value row, mlir::Value column);
  /// As matrix units take it, which cut digits off: scaled, which takes an eighth of the time of a conversion.
  mlir::Value roundToTF32(mlir::Value number);
  /// Stops until all products have ended but the last so many, which are still `running`.
  llvm::SmallVector<mlir::Value> settle(mlir::ValueRange sums, int64_t running);
  /// Where a piece of a row lies in a tile of so many rows, in panels.
  mlir::Value placeInPanels(mlir::Value tile, int64_t rows, mlir::Value row, mlir::Value piece);

private:
  llvm::SmallVector<mlir::Value> begin(const UnitProduct &product);
  /// Two numbers of f32; without a second address, neighbours.
  std::pair<mlir::Value, mlir::Value> loadTwo(mlir::Value first, mlir::Value second);
  void storeMatricesByLanes(mlir::Value address, llvm::ArrayRef<mlir::Value> four, bool isAcross);
  /// An instruction that NVVM has no op for, and LLVM an intrinsic.
  void call(llvm::StringRef intrinsic, mlir::ValueRange operands);
  mlir::Value run(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands, mlir::Type result = {});

  TeamCode &t;
  const MatrixUnit &unit;
};

} // namespace recur::conversion::nvvm
