// What the functions of a lowered module tell the code generator.
#pragma once
#include "llvm/ADT/StringRef.h"

namespace recur {

/// A function has loops over single numbers, of which LLVM's vectorizers are to make vectors. The loops of others are
/// as they should be.
inline constexpr llvm::StringLiteral scalarLoopsAttribute = "recur-scalar-loops";

} // namespace recur
