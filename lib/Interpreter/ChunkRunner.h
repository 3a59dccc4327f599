// Runs chunk programs over sequences and heads: what the interpreters of programs and of their gradients share.
#pragma once
#include "Interpreter/ChunkInterpreter.h"

namespace recur::interpreter {

/// States by their names.
using States = std::map<std::string, Array>;

/// A matrix with its sides swapped.
Array transpose(const Array &matrix);

/// The states at the start of each chunk of each sequence and head, the head fastest.
using KeptStates = std::vector<std::vector<States>>;

/// The data of a program's gradient: the program's, with the cotangents of its outputs and final states; one that is
/// left out is zero.
data::Data addCotangents(chunk::ProgramOp program, const data::Data &data, const data::Results &cotangents,
                         int64_t sequences);

/// What a program's gradient gives, by the names of what it is of: summed over groups of heads, and over sequences.
/// What is left out there is left out here.
data::Data collectGradient(chunk::ProgramOp program, const data::Sizes &sizes, data::Results results);

/// What is known of a head's segments, before anything is run but summaries.
struct SummarisedSegments {
  std::vector<States> starts; ///< the states before each segment, and behind the last
  std::vector<States> maps;   ///< of each segment, by the states
  std::vector<States> scales; ///< the same, of those states that are scaled beside the map
  const Array *getScales(int64_t segment, const std::string &state) const {
    auto found = scales[segment].find(state);
    return found == scales[segment].end() ? nullptr : &found->second;
  }
};

/// A program's data, checked, and its sequences.
class ChunkRunner {
public:
  ChunkRunner(chunk::ProgramOp program, const data::Data &data, const ChunkOptions &options)
      : program(program), data(data), options(options), stateSizes(data.sizes) {}

  llvm::Error prepare();
  /// Runs the program. One that goes forward adds the states at each chunk's start to `kept`, unless that is null; one
  /// that goes backward takes from there what it needs of them.
  llvm::Expected<data::Results> run(KeptStates *kept = nullptr);
  llvm::Expected<data::Results> runBySegments(llvm::ArrayRef<chunk::ProgramOp> summaries, int64_t segments);

private:
  friend class SegmentedGradient;
  /// Where a sequence lies in the tokens, and which initial and final state is its.
  struct Sequence {
    int64_t batch, begin, end, state;

    int64_t getBoundary(int64_t segment, int64_t segments) const { return begin + (end - begin) * segment / segments; }
  };

  llvm::Expected<SummarisedSegments> summarise(llvm::ArrayRef<chunk::ProgramOp> summaries, const Sequence &sequence,
                                               int64_t head, int64_t segments);
  /// Runs `runs` from `states` over the tokens [begin, end) of a head and gives the states after them. Outputs go to
  /// the results if `runs` has any.
  llvm::Expected<States> runTokens(chunk::ProgramOp runs, int64_t batch, int64_t head, int64_t begin, int64_t end,
                                   States states, std::vector<States> *kept = nullptr);
  llvm::Expected<States> runChunk(chunk::ProgramOp runs, int64_t batch, int64_t head, int64_t first, int64_t tokens,
                                  States states, const States *kept);
  Array load(const Array &array, int64_t index, int64_t count, int64_t stride, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> own) const;
  States initialStates(chunk::ProgramOp runs, int64_t sequence, int64_t head) const;
  void storeFinal(const States &states, int64_t sequence, int64_t head);

  chunk::ProgramOp program;
  const data::Data &data;
  const ChunkOptions &options;
  data::Sizes stateSizes; // as the data's, with the number of sequences for the batch
  std::vector<Sequence> sequences;
  data::Results results;
};

} // namespace recur::interpreter
