// What the functions of a lowered module tell the code generator.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace recur {

/// A function has loops over single numbers, of which LLVM's vectorizers are to make vectors. The loops of others are
/// as they should be.
inline constexpr llvm::StringLiteral scalarLoopsAttribute = "recur-scalar-loops";

/// Of a loop in MLIR: how often it is unrolled. MLIR's own conversions pass it on to the loop's last branch by this
/// name, by which its translation does not know it.
inline constexpr llvm::StringLiteral loopAnnotationAttribute = "llvm.loop_annotation";

} // namespace recur
