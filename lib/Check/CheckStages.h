// What `recurc check` compares with the interpreter: the one place to add a stage to.
#pragma once
#include "Data/Data.h"
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/Disturbance.h"
#include "Pipelines/Stages.h"
#include <functional>
#include <limits>

namespace recur::check {

constexpr double largestFloat32 = std::numeric_limits<float>::max();

/// A stage made ready for one recurrence: it can be run on any data.
struct PreparedStage {
  double limit; // the largest relative RMS error that passes
  /// Null where it was made ready as far as this machine can, which `whyNotRun` says.
  std::function<llvm::Expected<data::Results>(const data::Data &)> run;
  /// A stage that does not compute in float64 has no numbers above this.
  std::optional<double> largest = std::nullopt;
  /// Whether all that it computes has float32's range.
  bool isFloat32() const { return largest && *largest <= largestFloat32; }
  /// The errors that its rounding makes. An array may be off by a few times what they make of it token by token,
  /// however much that is: it is what the data do to rounded arithmetic, and no fault.
  interpreter::Disturbance rounding = {0x1p-53, 0x1p-53};
  /// Its own program with such errors in place of rounding, where its terms may cancel that do not token by token: the
  /// writes of a chunk, of which little may be left at its end.
  std::function<llvm::Expected<data::Results>(const data::Data &)> runDisturbed = nullptr;
  std::string whyNotRun = {};
  /// How many times as far as token by token: a stage rounds about as often as the interpreter is disturbed, but
  /// elsewhere.
  double timesTokenwise = 4;
  /// Numbers below this are zero: what has decayed so far leaves the range of the stage's numbers.
  double vanishing = 0;
  /// What outputs and states are stored as, where that has no numbers near zero that are as exact as others. What
  /// states start as is rounded to it too.
  std::optional<DataTypes> stored = std::nullopt;
  /// So much of an initial state it may leave out, where gates leave no more of it.
  double leftOut = 0;
};

struct CheckStage {
  llvm::StringRef name;
  /// Compiles a copy of the recurrence as far as the stage. Nothing when the stage does not concern the recurrence or
  /// the options.
  llvm::Expected<std::optional<PreparedStage>> (*prepare)(dgps::RecurrenceOp recurrence,
                                                          const PipelineOptions &options);
  /// Only when --target is given, for it compiles.
  bool needsTarget = false;
};

/// All stages that are checked, from the top down.
llvm::ArrayRef<CheckStage> getCheckStages();

/// The largest relative error of one rounding.
double unitRoundoff(DataType type);
/// How chunk programs round that are for data of the type: to float32, or the operands of products to the type.
interpreter::Rounding getRounding(DataType type);
struct RoundedTypes;
/// The same of a stage.
interpreter::Rounding getRounding(const RoundedTypes &types);
/// How far results may be off when the products of a chunk round their factors to the type.
double getRoundedLimit(DataType type);
/// Below this, a number of the type loses digits that the limit counts.
double findVanishing(DataType type, double limit);
/// How large results may be if nothing on the way is to leave the type: what is multiplied may be larger than they
/// are.
double getLargestRounded(DataType type);

} // namespace recur::check
