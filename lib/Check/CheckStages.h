// What `recurc check` compares with the interpreter: the one place to add a stage to.
#pragma once
#include "Data/Data.h"
#include "Pipelines/Stages.h"
#include <functional>

namespace recur::check {

/// A stage made ready for one recurrence: it can be run on any data.
struct PreparedStage {
  double limit; // the largest relative RMS error that passes
  std::function<llvm::Expected<interpreter::Results>(const interpreter::Data &)> run;
  /// Of a stage that does not compute in float64: results above this are beyond its numbers.
  std::optional<double> largest = std::nullopt;
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

} // namespace recur::check
