#pragma once

#include "llvm/ADT/StringRef.h"

namespace recur::frontend {

/// Finds the candidate that a misspelt name was probably meant to be: the one with the fewest letters changed, when
/// those are few for its length. Of names with one letter only the other case is near, for every letter is one change
/// from every other.
class NearestName {
public:
  explicit NearestName(llvm::StringRef name)
      : name(name), limit(name.size() <= 1   ? 1
                          : name.size() <= 3 ? 2
                          : name.size() <= 5 ? 3
                                             : 4) {}

  void offer(llvm::StringRef candidate) {
    unsigned distance = candidate.equals_insensitive(name) ? 0 : name.edit_distance(candidate, true, limit);
    // A short candidate shares too little with the name after this many changes.
    if (distance < limit && distance < candidate.size()) {
      best = candidate;
      limit = distance;
    }
  }

  /// Empty when no candidate is near.
  llvm::StringRef get() const { return best; }

private:
  llvm::StringRef name, best;
  unsigned limit;
};

} // namespace recur::frontend
