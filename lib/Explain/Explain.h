// The report of `recurc explain`: what Recur understood of a recurrence, for a person and for a program.
#pragma once

#include "Frontend/Frontend.h"
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace recur::explain {

/// Taken for a dim without a size; what explain finds out does not depend on it.
inline constexpr int64_t kAssumedDim = 64;

struct ExplainOptions {
  /// Dims whose size nobody gave; the report says that it was assumed.
  std::vector<std::string> assumedDims;
  /// What was declared complex; the program has the two parts of each.
  std::vector<std::string> complexNames;
  /// What the chunkwise form is derived for.
  PipelineOptions pipeline;
  /// Print expressions in canonical form, so that the reports of two programs that compute the same are equal.
  bool canonical = false;

  /// Takes what only the declarations say of a recurrence.
  void takeDeclarations(llvm::ArrayRef<frontend::RecurrenceInfo> declared, llvm::StringRef recurrence);
};

std::string explainText(dgps::RecurrenceOp recurrence, const ExplainOptions &options);
llvm::json::Value explainJson(dgps::RecurrenceOp recurrence, const ExplainOptions &options);

} // namespace recur::explain
