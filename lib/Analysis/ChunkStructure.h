// What is true of the matrices of a chunk program on every machine: how they lie best, where they are zero, and whether
// they may be rounded.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace recur::analysis {

/// A matrix of the tokens that is zero where a column's token comes after a row's.
struct Triangle {
  int64_t rowsPerToken, columnsPerToken;
  bool operator==(const Triangle &) const = default;
};

/// Whether the value is one matrix, and none for each token: as it is, or under a shape with one token.
bool isOneMatrix(mlir::Value value);
/// Whether the function makes one matrix element by element: of matrices, scaled or summed, or of two vectors.
bool makesOneMatrix(chunk::MapOp map);

class ChunkStructure {
public:
  /// `solvesApart`: conjugate gradients keep to themselves how they are rounded.
  explicit ChunkStructure(chunk::ProgramOp program, bool solvesApart = false);

  /// Whether a matrix without tokens, a state or what becomes of one, lies transposed.
  bool isTransposed(mlir::Value matrix) const { return transposed.contains(matrix); }
  std::optional<Triangle> findTriangle(mlir::Value matrix) const;
  /// Whether rows of the tokens are two numbers each where a matrix of the tokens is applied to them in a rounded
  /// product: the values of a precise advance, before they are scaled, and what such a matrix makes them of. Of a
  /// gradient, rows that such a matrix is applied to and that are no data.
  bool isPrecise(mlir::Value rows) const { return precise.contains(rows); }
  /// Whether the value is made of numbers alone: those of tokens, such as gates, parameters and constants. What a
  /// matrix of decays is made of multiplies once a token: rounded, it is off by more with each.
  bool isOfNumbers(mlir::Value value) const { return ofNumbers.contains(value); }
  /// Whether states may be rounded where they are factors of products.
  bool roundsStates() const { return allowsRounding; }

private:
  void chooseLayouts(chunk::ProgramOp program);
  void findTriangles(mlir::Operation *op);
  void findPrecise(mlir::Value rows);
  void findPreciseOfGradient(mlir::Operation *op);
  void findOfNumbers(mlir::Operation *op);

  llvm::DenseSet<mlir::Value> transposed, precise, ofNumbers;
  llvm::DenseMap<mlir::Value, Triangle> triangles;
  bool allowsRounding;
};

} // namespace recur::analysis
