// The chunkwise form of a recurrence as equations, and what it costs beside the recurrent form.
#pragma once

#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace recur::explain {

/// What one token of one head costs. Bytes are those that have to move: inputs and outputs as float32, and the states
/// in and out once a chunk (chunkwise) or once a token (recurrent).
struct Cost {
  double flops = 0, bytes = 0;
};

struct ChunkReport {
  int64_t chunk = 0;
  int64_t interactions = 0;           ///< the matrices that are formed; several steps a token may share one
  std::vector<std::string> equations; ///< in the order of the program
  std::vector<std::string> words;     ///< what the words in them mean
  std::vector<std::string> looped;    ///< the states that go token by token within the chunk
  Cost chunkwise, recurrent;

  /// How many times the flops of the recurrent form; none where that has none.
  std::optional<double> flopsRatio() const {
    return recurrent.flops > 0 ? std::optional(chunkwise.flops / recurrent.flops) : std::nullopt;
  }
};

llvm::Expected<ChunkReport> makeChunkReport(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

} // namespace recur::explain
