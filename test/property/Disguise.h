// Writes a drawn recurrence in a random way that means the same.
#pragma once
#include "property/RandomRecurrence.h"
#include "property/Rewrites.h"
#include <climits>

namespace recur::property {

struct DisguiseOptions {
  Law law = Law::KeepsValue;
  bool renameDeclarations = true; // inputs, params, states and outputs; locals always get other names
  bool reorderDeclarations = true;
  unsigned rewritesPerStatement = 12;
  unsigned moves = 12; // of whole statements
  /// Stops after so many moves and rewrites: two disguises that differ in one show which law does not hold.
  unsigned maxChanges = UINT_MAX;
};

struct Disguise {
  std::string text;
  unsigned changes = 0; // moves and rewrites made
  std::map<std::string, std::string>
      names; // what the recurrence's inputs, params, states and outputs are called in the text

  /// The data under the text's names.
  data::Data rename(const data::Data &data) const;
  /// The text's results under the recurrence's names.
  data::Results restore(const data::Results &results) const;
};

/// The plain text, without a disguise.
Disguise writePlainly(const DrawnRecurrence &recurrence);
Disguise disguise(const DrawnRecurrence &recurrence, uint64_t seed, const DisguiseOptions &options = {});

} // namespace recur::property
