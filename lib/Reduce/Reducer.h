// Shrinks a specification while it stays interesting: a failure of a hundred lines becomes the few that cause it.
//
// Every candidate is cheaper than what it would replace, by a measure that counts statements first, then expressions,
// then the size of numbers and the length of names, so reducing ends whatever the test says. Candidates that make no
// sense (a name that is no longer declared) are left to the test to refuse.
#pragma once
#include "Reduce/SpecTree.h"
#include <cstdint>

namespace recur::reduce {

/// True when the text still shows what is looked for.
using Interesting = llvm::function_ref<bool(llvm::StringRef text)>;

struct ReduceOptions {
  uint64_t maxTests = UINT64_MAX;
  /// Called after each success with what is left.
  llvm::function_ref<void(llvm::StringRef what, llvm::StringRef text)> progress = nullptr;
};

struct Reduction {
  bool wasInteresting = false; // of the text as given; it is not changed when this is false
  std::string text;
  uint64_t tests = 0;
};

/// A text with syntax errors is reduced by lines and characters instead of by its tree.
Reduction reduceText(llvm::StringRef text, Interesting isInteresting, const ReduceOptions &options = {});

/// The measure that each step makes smaller.
uint64_t measure(const Spec &spec);

} // namespace recur::reduce
