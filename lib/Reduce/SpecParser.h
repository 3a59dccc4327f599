// From text to the tree that is reduced.
#pragma once
#include "Reduce/SpecTree.h"
#include <optional>

namespace recur::reduce {

/// Nothing when the text has a syntax error. Names and shapes are not checked, and comments are lost.
std::optional<Spec> parseSpec(llvm::StringRef text);

} // namespace recur::reduce
