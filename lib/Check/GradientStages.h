// What `recurc check --backward` compares with dual numbers: the one place to add a stage of gradients to.
#pragma once
#include "Check/Comparison.h"
#include "Check/RandomData.h"
#include "Engine/HostEngine.h"
#include "Interpreter/GradientJudge.h"
#include <functional>

namespace recur::check {

/// A stage that gives the gradients of one recurrence, made ready: it can be run on any data and cotangents.
struct PreparedGradient {
  using Run = std::function<llvm::Expected<data::Data>(const data::Data &, const data::Results &)>;
  double limit; // the largest error that passes
  Run run;
  /// A stage that does not compute in float64 has no numbers above this.
  std::optional<double> largest = std::nullopt;
  /// Derivatives whose terms are below this are zero: decays that vanish in the stage's numbers leave nothing of them.
  double vanishing = interpreter::GradientJudge::smallestFloat64;
  /// The errors that its rounding makes, as those of PreparedStage.
  interpreter::Disturbance rounding = {0x1p-53, 0x1p-53};
  /// Its program in float64, and with such errors in place of rounding, where its terms may cancel that do not token by
  /// token.
  Run runExact = nullptr, runDisturbed = nullptr;
  /// A stage that runs kernels has them here, so that tests can call them in other ways.
  std::shared_ptr<engine::HostEngine> engine = nullptr;
  /// Why a stage without `run` was made ready no further: this machine cannot run it.
  std::string whyNotRun = {};
  /// The same behind a call forward that hands over what it can, where it can.
  Run runHanded = nullptr;
};

struct GradientStage {
  llvm::StringRef name;
  llvm::Expected<PreparedGradient> (*prepare)(dgps::RecurrenceOp recurrence, const PipelineOptions &options);
  bool needsTarget = false; // only when --target is given, for it compiles
  /// What kind of target it concerns.
  enum Machine { Any, Processor, GPU } machine = Any;
  bool concerns(const Target &target) const { return machine == Any || (machine == Processor) == target.isCPU(); }
};

llvm::ArrayRef<GradientStage> getGradientStages();

/// Data, cotangents of all results, a direction, and the judge of gradients along it.
struct JudgedGradient {
  data::Data data;
  data::Results want, cotangents;
  data::Data direction;
  interpreter::GradientJudge judge;
  double largest; // magnitude in the results; infinite where one is not finite
};

/// If types of data are given, data and cotangents are rounded to them. The direction is along the named inputs, params
/// and states alone; none named: along all.
llvm::Expected<JudgedGradient> makeJudgedGradient(dgps::RecurrenceOp recurrence, const data::Sizes &sizes,
                                                  uint64_t seed, const data::Difficulty &difficulty = {},
                                                  std::optional<DataTypes> types = {},
                                                  llvm::ArrayRef<std::string> along = {});

/// The same of data that are given, as they are.
llvm::Expected<JudgedGradient> judgeGradient(dgps::RecurrenceOp recurrence, data::Data data, uint64_t seed,
                                             std::optional<DataTypes> types = {});

/// Decays from none to all within a token, gains up to two, and keys that are nearly alike.
data::Difficulty getHardDifficulty();

/// Where the error of a stage takes most of its limit. The limit follows from the data: along each direction a stage
/// may be off by a few times what errors like those of its rounding do to the derivative token by token, and to the
/// gradient in its own program.
llvm::Expected<Comparison> compareGradient(dgps::RecurrenceOp recurrence, const PreparedGradient &stage,
                                           const JudgedGradient &drawn, const data::Data &gradient);

} // namespace recur::check
