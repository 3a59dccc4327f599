// Random arrays to check a recurrence on, drawn as its equations demand.
#pragma once
#include "Check/DataDemands.h"
#include "Data/DrawnData.h"
#include "Interpreter/DGPSInterpreter.h"
#include "Pipelines/Stages.h"
#include <cmath>

namespace recur::check {

/// The same seed gives the same numbers on every machine.
data::Data makeRandomData(dgps::RecurrenceOp recurrence, const data::Sizes &sizes, uint64_t seed,
                          const data::Difficulty &difficulty = {});

/// The same data within the rounding of float32: each number is changed by the relative size, but for integers.
constexpr double nudgeSize = 0x1p-24;
data::Data nudge(dgps::RecurrenceOp recurrence, data::Data data);

/// The largest magnitude; infinite where a number is not finite.
double findLargest(const data::Results &results);

/// The condition number up to which float32 arithmetic keeps its usual errors.
constexpr double tameCondition = 4;

/// Random data, what the token-by-token interpreter makes of them, and how much a rounding of them matters.
struct JudgedData {
  data::Data data;
  data::Results want;
  double largest; // magnitude in the results; infinite where one is not finite
  interpreter::LargestValue onTheWay;
  /// The condition number: the relative change of the results over that of the data, when each number changes by one
  /// rounding to float32. Large where a sum that is divided by, or inverted, happens to be near zero.
  double condition;
  unsigned redraws; // how many draws were too wild

  /// How far a stage may be off that may be off by `limit` on tame data: arithmetic that rounds every step does as if
  /// the data had been a little different.
  double scaleLimit(double limit) const { return limit * std::max(1.0, condition / tameCondition); }
};

struct Tameness {
  double largest = 1e30;               // of the results
  double onTheWay = INFINITY;          // the largest of whatever is computed
  double condition = tameCondition;    // at most
  std::optional<DataTypes> types = {}; // of the data: they are rounded to them
};

/// Draws until the results are as tame as asked, each time with smaller numbers and stronger decay. Several draws that
/// are not are no error: the last is given with its condition number, and its caller decides.
llvm::Expected<JudgedData> makeJudgedData(dgps::RecurrenceOp recurrence, const data::Sizes &sizes, uint64_t seed,
                                          const Tameness &wanted = {}, const data::Difficulty &difficulty = {});

} // namespace recur::check
