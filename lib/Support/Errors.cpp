#include "Support/Errors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;

char recur::InternalError::ID;

Error recur::makeError(const Twine &message) { return createStringError(inconvertibleErrorCode(), message); }

StringRef recur::findNearest(StringRef word, ArrayRef<StringRef> candidates) {
  StringRef nearest;
  // A word that differs in more than a third of its letters is another word.
  unsigned best = (word.size() + 2) / 3;
  for (StringRef candidate : candidates) {
    unsigned distance = word.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, best);
    if (distance <= best && (nearest.empty() || distance < best)) {
      nearest = candidate;
      best = distance;
    }
  }
  return nearest;
}

Error recur::makeUnknownValueError(StringRef option, StringRef value, ArrayRef<StringRef> known) {
  StringRef nearest = findNearest(value, known);
  if (!nearest.empty())
    return makeError(option + ": unknown value '" + value + "'; did you mean '" + nearest + "'?");
  return makeError(option + ": unknown value '" + value + "'; known are " + join(known, ", "));
}
