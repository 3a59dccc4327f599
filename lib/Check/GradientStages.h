// What `recurc check --backward` compares with dual numbers: the one place to add a stage of gradients to.
#pragma once
#include "Check/Comparison.h"
#include "Check/RandomData.h"
#include "Interpreter/GradientJudge.h"
#include <functional>

namespace recur::check {

/// A stage that gives the gradients of one recurrence, made ready: it can be run on any data and cotangents.
struct PreparedGradient {
  using Run = std::function<llvm::Expected<interpreter::Data>(const interpreter::Data &, const interpreter::Results &)>;
  double limit; // the largest error that passes
  Run run;
  /// Of a stage that does not compute in float64: results above this are beyond its numbers.
  std::optional<double> largest = std::nullopt;
  /// Derivatives whose terms are below this are zero: decays that vanish in the stage's numbers leave nothing of them.
  double vanishing = interpreter::GradientJudge::smallestFloat64;
  /// The errors that its rounding makes, as those of PreparedStage.
  interpreter::Disturbance rounding = {0x1p-53, 0x1p-53};
  /// Its program in float64, and with such errors in place of rounding, where its terms may cancel that do not token by
  /// token.
  Run runExact = nullptr, runDisturbed = nullptr;
};

struct GradientStage {
  llvm::StringRef name;
  llvm::Expected<PreparedGradient> (*prepare)(dgps::RecurrenceOp recurrence, const PipelineOptions &options);
};

llvm::ArrayRef<GradientStage> getGradientStages();

/// Data, cotangents of all results, a direction, and the judge of gradients along it.
struct JudgedGradient {
  interpreter::Data data;
  interpreter::Results want, cotangents;
  interpreter::Data direction;
  interpreter::GradientJudge judge;
  double largest; // magnitude in the results; infinite where one is not finite
};

llvm::Expected<JudgedGradient> makeJudgedGradient(dgps::RecurrenceOp recurrence, const interpreter::Sizes &sizes,
                                                  uint64_t seed, const Difficulty &difficulty = {});

/// Decays from none to all within a token, gains up to two, and keys that are nearly alike.
Difficulty getHardDifficulty();

/// Where the error of a stage takes most of its limit. The limit follows from the data: along each direction a stage
/// may be off by a few times what errors like those of its rounding do to the derivative token by token, and to the
/// gradient in its own program.
llvm::Expected<Comparison> compareGradient(dgps::RecurrenceOp recurrence, const PreparedGradient &stage,
                                           const JudgedGradient &drawn, const interpreter::Data &gradient);

} // namespace recur::check
