// A recurrence held against the token-by-token interpreter, stage by stage, on drawn data.
#pragma once
#include "Check/Comparison.h"
#include "Frontend/Frontend.h"
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/JSON.h"

namespace recur::check {

/// The longest sequence that is checked.
inline constexpr int64_t kMostTokens = 1'000'000;

/// What to check, and on which data.
struct CheckOptions {
  uint64_t seed = 0;
  std::vector<int64_t> tokens = {0, 1, 5, 64, 65, 200};
  bool compiles = false; // for a target
  bool provokeDifference = false;
  bool backward = false;              // gradients
  bool isHard = false;                // data with strong decays, large gains and keys that are much alike
  std::vector<std::string> only = {}; // the stages to compare, where not all
};

/// How far a stage is off where that takes most of its limit.
struct StageReport {
  llvm::StringRef name;
  double error = 0, limit = 0;
  int64_t worstTokens = 0;
  std::vector<int64_t> notCompared = {}; // lengths whose results are beyond the stage's numbers
  std::string worstArray = {};
  bool passes() const { return error <= limit; } // false for a NaN
  /// Whether it was held against the interpreter on any token at all.
  bool isCompared() const { return comparedTokens > 0 || notCompared.empty(); }
  int64_t comparedTokens = 0; // the most of a sequence

  /// Keeps the length at which most of the limit is taken; not a number is most of all.
  void add(const Comparison &comparison, int64_t tokens) {
    comparedTokens = std::max(comparedTokens, tokens);
    if (!worstArray.empty() && comparison.error / comparison.limit <= error / limit)
      return;
    error = comparison.error;
    limit = comparison.limit;
    worstArray = comparison.array;
    worstTokens = tokens;
  }
  void addNotCompared(int64_t tokens) {
    if (!llvm::is_contained(notCompared, tokens))
      notCompared.push_back(tokens);
  }
};

struct RecurrenceReport {
  dgps::RecurrenceOp recurrence;
  data::Sizes sizes;
  std::vector<StageReport> stages;
  std::vector<llvm::StringRef> absent = {}; // stages asked for by name that nothing here has
  std::string growth = {};                  // of what leaves the numbers of float64 itself, token by token
  bool passes() const {
    return llvm::all_of(stages, [](const StageReport &stage) { return stage.passes(); });
  }
};

/// Gives each dim without a size one of its own, so that no two sides are equal by chance; `K = 8, V = 6` says which.
std::string assumeDims(llvm::ArrayRef<frontend::RecurrenceInfo> recurrences, std::map<std::string, int64_t> &dims);

/// `note` is told which stages are not compared, and why.
llvm::Expected<RecurrenceReport> checkRecurrence(dgps::RecurrenceOp recurrence, const CheckOptions &options,
                                                 const PipelineOptions &pipeline,
                                                 llvm::function_ref<void(const llvm::Twine &)> note);

/// The table, with a line for each stage.
std::string printAsText(RecurrenceReport &report, const CheckOptions &options);
llvm::json::Object printAsJSON(RecurrenceReport &report, const CheckOptions &options);

} // namespace recur::check
