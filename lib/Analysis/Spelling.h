// Functions of the language that the front end writes as several ops (`EmitChoice.cpp`, `EmitCall.cpp`), found again
// for reports: comparisons, where, mod, gelu and sign. Both dialects of values have them, dgps and chunk.
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace recur::analysis {

struct Spelling {
  /// A value, or a number where there is none.
  struct Operand {
    mlir::Value value;
    double number = 0;
  };
  enum class Kind {
    Comparison, // of two operands
    Choice,     // the two of a comparison, then what is taken where it holds, and what elsewhere
    Call        // a function of all operands
  };
  Kind kind;
  llvm::StringRef word; // the comparison's operator, or the function's name
  llvm::SmallVector<Operand, 4> operands;

  /// As text, with that of its values: those beside a comparison's operator, and others.
  std::string write(llvm::function_ref<std::string(mlir::Value value, bool isCompared)> print) const;
};

/// What the language has for a value that takes several ops, or for any choice.
std::optional<Spelling> findSpelling(mlir::Value value);

} // namespace recur::analysis
