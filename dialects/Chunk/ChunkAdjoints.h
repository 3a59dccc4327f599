// The reverse mode of chunk programs: what knows the cotangents, and what builds ops for them.
#pragma once

#include "dialects/Chunk/ChunkTangents.h"
#include "llvm/ADT/SetVector.h"

namespace recur::chunk {

/// The cotangents of values: how much what is differentiated moves with each. A value without one does not matter to
/// it. What several ops contribute to the cotangent of a value is added.
class Adjoints {
public:
  mlir::Value of(mlir::Value value) const { return cotangents.lookup(value); }
  void set(mlir::Value value, mlir::Value cotangent) { cotangents[value] = cotangent; }

  /// Adds what a value of the tokens is found to matter, summed where the value is the same for several tokens or
  /// elements. Null adds nothing, and constants need none.
  void add(ValueBuilder &build, mlir::Value value, mlir::Value contribution);
  /// Adds to the cotangent of a state.
  void addToState(ValueBuilder &build, mlir::Value state, mlir::Value contribution);
  /// Adds `values^T keys` to the cotangent of a matrix state.
  void addWrite(ValueBuilder &build, mlir::Value state, mlir::Value values, mlir::Value keys);

private:
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

/// Builds at the builder's place what carries the cotangents of the results of the block's ops back to what they use,
/// from the last op to the first. Fails where an op has no adjoint, and says which and why.
mlir::LogicalResult buildAdjoints(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops, Adjoints &adjoints);

/// The values from outside that the op's region uses; each once.
llvm::SetVector<mlir::Value> findCaptured(mlir::Operation *op);

/// A matrix like `matrix`, of the tokens, with `row` as its last row and zeros elsewhere; null if `matrix` is not known
/// to be one of the tokens. The columns of missing tokens are zero too, which those of a row may not be.
mlir::Value buildLastRow(ValueBuilder &build, mlir::Value matrix, mlir::Value row);

/// What a solve's matrix and values are both multiplied by, row by row, and what they are without it; null if there is
/// no such number.
struct CommonScale {
  mlir::Value scale, matrix, values;
};
CommonScale findCommonScale(SolveOp op);

/// A scale of a system that is smaller is taken for this, so that the gradient can divide by it. The solution has the
/// scale as a factor: with as small a one, it is as good as zero in any sum that matters.
inline constexpr double smallestScale = 0x1p-40;
mlir::Value keepFromZero(ValueBuilder &build, mlir::Value number);

/// Whether the value is computed from constants alone.
bool isConstant(mlir::Value value);

} // namespace recur::chunk
