// A program that goes from chunk to chunk with small states alone, by what other programs leave of each chunk.
#pragma once
#include "dialects/Chunk/ChunkTangents.h"
#include "llvm/ADT/SmallVector.h"

namespace recur::chunk {

/// What a chunk adds to a state that is carried so, and what it scales it with, are left under these names.
inline std::string nameOffset(StateOp state) { return (state.getName() + ".offset").str(); }
inline std::string nameFactor(StateOp state) { return (state.getName() + ".map").str(); }

/// Leaves what a chunk scales the state with, where it does.
void giveFactor(ValueBuilder &build, StateOp state, mlir::Value decay, bool linear);

/// One number of a chunk: 1 where it has so many tokens, and else 0.
mlir::Value buildHasTokens(ValueBuilder &build, int64_t chunk, int64_t tokens);

/// Builds the program, whose name ends with `suffix`. It has states of its own for those of another.
class CarryProgram {
public:
  CarryProgram(mlir::OpBuilder &builder, ProgramOp of, llvm::ArrayRef<StateOp> states,
               llvm::StringRef suffix = "_carry");
  ProgramOp get() const { return program; }
  mlir::OpBuilder &getInside() { return inside; }
  /// The program's own, by the other's.
  const llvm::DenseMap<StateOp, mlir::Value> &getStates() const { return states; }
  /// A row that each chunk left.
  mlir::Value take(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);
  mlir::Value takeOffset(StateOp state) { return take(nameOffset(state), tensorOf(state).getShape()); }
  /// What becomes of a state that a decay scales, or none, and a chunk adds to.
  mlir::Value scan(StateOp state, mlir::Value decay, bool angles = false);
  /// Ends with the state: each chunk finds what it was before the chunk.
  void leave(StateOp state, mlir::Value next);

private:
  ProgramOp program;
  mlir::OpBuilder inside;
  llvm::DenseMap<StateOp, mlir::Value> states;
};

} // namespace recur::chunk
