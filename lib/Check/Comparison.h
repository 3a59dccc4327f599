// What a stage of `recurc check` gives against what the token-by-token interpreter does, array by array.
//
// How far an array may be off follows from the data: the interpreter runs once more with random errors of the size of
// the stage's roundings, and an array may be off by a few times what they make of it. So a sum whose terms cancel, a
// state that has decayed to nothing, or an iteration that is ill-conditioned is judged by what arithmetic can do on it.
#pragma once
#include "Check/CheckStages.h"

namespace recur::check {

/// The first value that is not finite, in words; empty if there is none.
std::string describeGrowth(const data::Results &results, const data::Sizes &sizes);

/// How much of its limit each array's error takes, and the error and the limit where that is most.
struct Comparison {
  double error = 0, limit = 0;
  std::string array;
  void add(const std::string &name, double newError, double newLimit) {
    if (!array.empty() && newError / newLimit <= error / limit)
      return;
    error = newError, limit = newLimit, array = name;
  }
};

/// The errors that rounding makes token by token, and those that it makes in the stage's own program where its terms
/// cancel. Of the latter no more than what leaves a 64th of the terms: a form that cancels more is a bad one.
struct RoundingErrors {
  data::Results tokenwise;
  std::optional<data::Results> ofProgram;
  double mostOfProgram = 0;
  double timesTokenwise = 4;
  double vanishing = 0;
  double leftOut = 0;                             // of initial states, of which `vanishing` takes account
  std::optional<DataTypes> stored = std::nullopt; // what results are rounded to

  /// How far rounding may move an array.
  double mostOf(data::NamedArrays data::Results::*arrays, const std::string &name, const Array &want) const;
};
llvm::Expected<RoundingErrors> measureRounding(dgps::RecurrenceOp recurrence, const PreparedStage &stage,
                                               const data::Data &data);

/// Compares array by array: one that vanishes, or is ill-conditioned, widens no limit but its own.
Comparison compare(const data::Results &got, const data::Results &want, double limit, const RoundingErrors &rounding);

} // namespace recur::check
