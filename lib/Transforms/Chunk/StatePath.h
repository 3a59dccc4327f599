// What becomes of a state in a chunk: whether tokens, products or a loop carry it on, and how a segment acts on it.
#pragma once

#include "Transforms/Chunk/Dependence.h"

namespace recur::chunk {

/// How a state goes from token to token.
enum class StateForm {
  Scanned,      // every element by itself
  Products,     // by products with keys, a chunk at a time
  TokenByToken, // by a loop over the tokens, for nothing better is known of it
};

/// The ops that lead from a state to what it becomes.
class StatePath {
public:
  explicit StatePath(StateOp state);

  /// How the path acts on the state; none if it is not affine. Where it acts from one side, the other side may be
  /// scaled besides, as SideDecay says.
  std::optional<SummaryKind> getKind() const;
  mlir::Value getState() const { return state; }
  /// How the state goes from token to token.
  StateForm getForm() const;
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool contains(mlir::Value value) const {
    return value == state || (value.getDefiningOp() && ops.contains(value.getDefiningOp()));
  }
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops.getArrayRef(); }
  llvm::SmallVector<unsigned, 3> operandsOnPath(mlir::Operation *op) const;

private:
  bool isAffine() const;
  bool isElementwise(mlir::Operation *op) const;
  bool actsFromRight(mlir::Operation *op) const;
  bool actsFromLeft(mlir::Operation *op) const;

  mlir::Value state;
  llvm::SetVector<mlir::Operation *> ops;
};

/// The scan's shifts, but numbers where they are infinite: for a scan that starts from the value which changes no
/// extremum and must stay that, which an infinity the other way would make no number. Where an infinite shift leads is
/// left to the sum of the shifts.
mlir::Value keepNeutral(mlir::OpBuilder &builder, TropicalScanOp scan);

/// Whether a chunk adds to the state what it does not enter, and nothing else has to do with it: the gradient of a
/// param.
bool isSum(StateOp state);

/// Whether these vectors, which the chunks begin with, enter a system whose solutions add up in a state without decay.
/// Solved apart from the state, in parts that are rounded, they are further off than data of 16 bits allow.
bool losesDigits(ProgramOp program, mlir::ValueRange vectors);

/// States in an order in which each comes after those that its next value needs; empty if there is none.
llvm::SmallVector<StateOp> orderStates(ProgramOp program);

/// Why some state of the program has no summary, in words that go after "it has no plan 'segment': "; none if all have.
std::optional<std::string> findObstacle(ProgramOp program);

} // namespace recur::chunk
