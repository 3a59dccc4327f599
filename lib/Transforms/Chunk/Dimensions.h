// Dimensions of the values of a program, many of which hold the same channels.
#pragma once
#include "dialects/Chunk/Chunk.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace recur::chunk {

/// A dimension of a value, as a number; a class of dimensions that are the same is the number of one of them.
using Dim = int64_t;

class Dimensions {
public:
  Dim of(mlir::Value value, unsigned place);
  /// The class of a dimension.
  Dim classOf(Dim dim) const { return classes.getLeaderValue(dim); }
  Dim classOf(mlir::Value value, unsigned place) { return classOf(of(value, place)); }
  /// Makes two dimensions the same, if they have one size. Gives whether they do.
  bool unite(mlir::Value a, unsigned i, mlir::Value b, unsigned j);

  /// Which dimension of the value is of the class; -1 for none.
  int64_t placeOf(mlir::Value value, Dim channels);
  bool has(mlir::Value value, Dim channels) { return placeOf(value, channels) >= 0; }
  /// Of all values that were asked for.
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> placesOf(Dim channels) const;

private:
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Dim> numbers;
  std::vector<std::pair<mlir::Value, unsigned>> values;
  llvm::EquivalenceClasses<Dim> classes;
};

/// Says by `same` which dimensions a state has in common with what reads it, with what it is advanced by, and with what
/// it becomes. Gives whether the op is one that does so.
bool relateStates(mlir::Operation *op,
                  llvm::function_ref<void(mlir::Value a, unsigned i, mlir::Value b, unsigned j)> same);

} // namespace recur::chunk
