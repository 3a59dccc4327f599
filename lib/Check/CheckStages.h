// What `recurc check` compares with the interpreter: the one place to add a stage to.
#pragma once
#include "Data/Data.h"
#include "Interpreter/ChunkArithmetic.h"
#include "Interpreter/Disturbance.h"
#include "Pipelines/Stages.h"
#include <functional>

namespace recur::check {

/// A stage made ready for one recurrence: it can be run on any data.
struct PreparedStage {
  double limit; // the largest relative RMS error that passes
  /// Null where it was made ready as far as this machine can, which `whyNotRun` says.
  std::function<llvm::Expected<interpreter::Results>(const interpreter::Data &)> run;
  /// Of a stage that does not compute in float64: results above this are beyond its numbers.
  std::optional<double> largest = std::nullopt;
  /// The errors that its rounding makes. An array may be off by a few times what they make of it token by token,
  /// however much that is: it is what the data do to rounded arithmetic, and no fault.
  interpreter::Disturbance rounding = {0x1p-53, 0x1p-53};
  /// Its own program with such errors in place of rounding, where its terms may cancel that do not token by token: the
  /// writes of a chunk, of which little may be left at its end.
  std::function<llvm::Expected<interpreter::Results>(const interpreter::Data &)> runDisturbed = nullptr;
  std::string whyNotRun = {};
  /// How many times as far as token by token: a stage rounds about as often as the interpreter is disturbed, but
  /// elsewhere.
  double timesTokenwise = 4;
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

/// From the top down.
llvm::ArrayRef<CheckStage> getCheckStages();

/// The largest relative error of one rounding.
double unitRoundoff(DataType type);
/// How chunk programs round that are for data of the type: to float32, or the operands of products to the type.
interpreter::Rounding getRounding(DataType type);
/// What a chunk's products may be off by when they round so.
double getRoundedLimit(DataType type);
/// What results may be at most, that nothing on the way leaves the type: what is multiplied may be larger than they
/// are.
double getLargestRounded(DataType type);

} // namespace recur::check
