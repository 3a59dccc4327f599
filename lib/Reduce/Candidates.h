// The ways in which a specification may be made smaller.
#pragma once
#include "Reduce/SpecTree.h"

namespace recur::reduce {

/// Tries a candidate; true when it was taken, after which the specification that candidates are made from is another.
using TryCandidate = llvm::function_ref<bool(Spec candidate)>;

/// One way. It offers candidates made from `spec`, which changes with each one that is taken.
struct Shrinker {
  llvm::StringRef what; // for the progress report
  void (*run)(const Spec &spec, TryCandidate take);
};

/// All of them, those that remove most first.
llvm::ArrayRef<Shrinker> getShrinkers();

} // namespace recur::reduce
