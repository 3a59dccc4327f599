// Instructions that NVVM has no operations for, or none that fits, as text.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

/// What LLVM is to assume of a text beside its operands.
enum class TextReach { Memory, Operands };

/// One instruction to LLVM, which is neither moved nor left out.
mlir::Value emitText(TeamCode &t, llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands,
                     mlir::Type result = {}, TextReach reach = TextReach::Memory);

/// The same number, of which LLVM knows nothing: what follows from it is not found ahead, nor shared with elsewhere.
mlir::Value forget(TeamCode &t, mlir::Value number, TextReach reach = TextReach::Operands);

/// The parts of what an instruction gives, and a type of so many.
llvm::SmallVector<mlir::Value> takeApart(TeamCode &t, mlir::Value all, int64_t count);
mlir::Type structOf(TeamCode &t, mlir::Type element, int64_t count);

} // namespace recur::conversion::nvvm
