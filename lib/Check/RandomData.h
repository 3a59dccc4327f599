// Random arrays to check a recurrence on, drawn as its equations demand. Rows of vectors and matrices have about unit
// length, so that most recurrences neither vanish nor blow up.
#pragma once
#include "Check/DataDemands.h"
#include "Data/Data.h"
#include "Pipelines/Stages.h"

namespace recur::check {

/// How hard the numbers are on arithmetic. What is here by default keeps recurrences tame.
struct Difficulty {
  double steepestGate = 1; // log decays are at least minus this, and down to a thousandth of it
  double largestGain = 1;
  double correlation = 0; // of keys from token to token
  double size = 1;        // of everything that is neither a gate nor in a divisor
  double weakestGate = 0; // log decays are below minus this
};

/// The same seed gives the same numbers on every machine.
interpreter::Data makeRandomData(dgps::RecurrenceOp recurrence, const interpreter::Sizes &sizes, uint64_t seed,
                                 const Difficulty &difficulty = {});

/// The condition number up to which float32 arithmetic keeps its usual errors.
constexpr double tameCondition = 4;

/// Random data, what the token-by-token interpreter makes of them, and how much a rounding of them matters.
struct JudgedData {
  interpreter::Data data;
  interpreter::Results want;
  double largest; // magnitude in the results; infinite where one is not finite
  /// The condition number: the relative change of the results over that of the data, when each number changes by one
  /// rounding to float32. Large where a sum that is divided by, or inverted, happens to be near zero.
  double condition;
  unsigned redraws; // how many draws were too wild

  /// What a stage may differ by, of which so much is allowed on tame data: arithmetic that rounds every step does as if
  /// the data had been a little different.
  double scaleLimit(double limit) const { return limit * std::max(1.0, condition / tameCondition); }
};

struct Tameness {
  double largest = 1e30;             // of the results
  double condition = tameCondition;  // at most
  std::optional<DataType> type = {}; // of the data: they are rounded to it
};

/// Draws until the results are as tame as asked, each time with smaller numbers and stronger decay. Several draws that
/// are not are no error: the last is given with its condition number, and its caller decides.
llvm::Expected<JudgedData> makeJudgedData(dgps::RecurrenceOp recurrence, const interpreter::Sizes &sizes, uint64_t seed,
                                          const Tameness &wanted = {}, const Difficulty &difficulty = {});

} // namespace recur::check
