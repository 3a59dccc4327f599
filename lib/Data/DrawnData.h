// Arrays of random numbers for a recurrence. What each array has to be like is found from the equations (Check) or
// known to whoever drew them (test/property). Rows of vectors and matrices have about unit length, so that most
// recurrences neither vanish nor blow up.
#pragma once
#include "Data/Data.h"
#include "Data/Random.h"

namespace recur::data {

/// What the numbers of an array have to be like.
enum class Fill {
  Normal,
  Positive,
  Negative, // a log decay, most often
  PositiveDefinite,
  Logit,       // goes into a sigmoid or softplus
  Gain,        // scales how much a delta state erases: 0 .. 1, and up to `largestGain` where that is asked for
  StrongGain,  // 0 .. 2, which is safe for keys that are exactly of unit length
  Decay,       // -1 .. 1
  Key,         // of unit length along its last axis
  PositiveKey, // and no element negative
  Zero,
  Whole,         // 0 .. 7, as a token's place or the number of a segment
  PositiveWhole, // 1 .. 8
  NegativeWhole, // -4 .. -1
};

/// How hard the numbers are on arithmetic. What is here by default keeps recurrences tame.
struct Difficulty {
  double steepestGate = 1; // log decays are at least minus this, and down to a thousandth of it
  double largestGain = 1;
  double correlation = 0; // of keys from token to token
  double size = 1;        // of everything that is neither a gate nor in a divisor
  double weakestGate = 0; // log decays are below minus this
  double extremes = 0;    // how often a gate, a gain or a decay is exactly what it may be at most or at least
};

/// Draws one array after the other. The same seed gives the same numbers on every machine.
class ArrayDrawer {
public:
  ArrayDrawer(uint64_t seed, const Difficulty &difficulty) : random(seed), difficulty(difficulty) {}

  /// An array of this role, whose own shape, without the leading sizes, is given.
  Array draw(Role role, const Sizes &sizes, llvm::ArrayRef<int64_t> shape, Fill fill);

private:
  double drawNumber(Fill fill, int64_t rowLength);
  double drawGate();
  void drawKeys(llvm::MutableArrayRef<double> rows, int64_t rowLength, Fill fill);
  void drawPositiveDefinite(llvm::MutableArrayRef<double> matrices, int64_t rows);

  Random random;
  Difficulty difficulty;
};

} // namespace recur::data
