// Laws of algebra as rewrites of one node: what a random recurrence is disguised with.
#pragma once
#include "Data/Random.h"
#include "property/Terms.h"

namespace recur::property {

enum class Law {
  KeepsNormalForm, // moves, splits and joins factors and summands; leaves every function as it is
  KeepsClass,      // also writes functions by other functions, after which a decay may no longer be seen to be positive
  KeepsValue,      // also writes max by min, after which a state may no longer be seen to be tropical
};

/// Rewrites one random node of the term by one random law that fits it; null when none fits there, or the result would
/// have more than `maxNodes` nodes. The result has the term's shape.
Term rewriteSomewhere(const Term &term, data::Random &random, Law law, unsigned maxNodes);

} // namespace recur::property
