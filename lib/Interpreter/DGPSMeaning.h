// What each dgps op computes, on values that lie in one buffer of numbers: of doubles, or of numbers that carry a
// derivative with them.
#pragma once
#include "Interpreter/Dual.h"
#include "dialects/DGPS/DGPS.h"
#include <functional>

namespace recur::interpreter {

/// Where a value of the token lies in the buffer.
struct Slot {
  int64_t offset = 0;
  int64_t rows = 1; // a scalar is 1 x 1, a vector is 1 x n
  int64_t cols = 1;
  int64_t count() const { return rows * cols; }
};

/// Computes one op: reads the slots of its operands and fills the slot of its result.
template <typename Number> using Action = std::function<void(Number *numbers)>;

/// The action of an op that computes a value from values; an empty one when the op has no such meaning. `Number` is
/// double or Dual.
template <typename Number> Action<Number> makeAction(mlir::Operation *op, llvm::function_ref<Slot(mlir::Value)> slotOf);

} // namespace recur::interpreter
