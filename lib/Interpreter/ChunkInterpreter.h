// The judge of chunk programs: runs a chunk.program op by op, chunk by chunk, in float64 or rounding as a target would.
// It is written to be read, and shares no code with the lowerings.
#pragma once
#include "Data/Data.h"
#include "Interpreter/ChunkArithmetic.h"
#include "dialects/Chunk/Chunk.h"

namespace recur::interpreter {

struct ChunkOptions {
  Rounding rounding = Rounding::exact;
  /// Without rounding: the relative size of random errors of the operands of products.
  double disturbance = 0;
  /// For packed sequences, which lie one after another in the tokens of a batch of one: where each begins, and at last
  /// where the last ends. Initial and final states are then [sequences, H, ...]. Empty: every batch entry is a
  /// sequence.
  std::vector<int64_t> sequenceOffsets;
};

/// Runs the program. An error says what does not fit: a missing array, a shape, an op without a meaning.
llvm::Expected<data::Results> interpret(chunk::ProgramOp program, const data::Data &data,
                                        const ChunkOptions &options = {});

/// Runs each sequence in `segments` pieces: the summaries (programs marked `summary_of` this program's states, in the
/// states' order) give what each piece does to each state; their composition gives the states at the pieces' starts;
/// the program then runs on each piece by itself.
llvm::Expected<data::Results> interpretBySegments(chunk::ProgramOp program, llvm::ArrayRef<chunk::ProgramOp> summaries,
                                                  const data::Data &data, int64_t segments,
                                                  const ChunkOptions &options = {});

/// Runs the program that `chunk-differentiate` made of `program`: over the chunks from the last to the first, on the
/// states that `program` leaves at each chunk's start. The cotangents are of the outputs and final states; one that is
/// left out is zero. Gives the gradients of inputs, params and initial states by their names. Those of shared inputs
/// are summed over their group of heads and those of params over the sequences, always in the same order.
llvm::Expected<data::Data> interpretGradient(chunk::ProgramOp program, chunk::ProgramOp gradient,
                                             const data::Data &data, const data::Results &cotangents,
                                             const ChunkOptions &options = {});

/// The programs that the gradient of segments is made of.
struct SegmentedGradientPrograms {
  chunk::ProgramOp program, gradient;
  /// The gradient's with nothing but the cotangents of states.
  chunk::ProgramOp chain;
  /// Of each state of `program`, in the states' order; none where some state has none.
  llvm::ArrayRef<chunk::ProgramOp> summaries;
};

/// As interpretGradient, with each sequence in `segments` pieces: the summaries give the states at the pieces' starts,
/// and, transposed and with what the chain gives of each piece by itself, the cotangents of the states at their ends;
/// the gradient then runs on each piece by itself. Two pieces need no summaries.
llvm::Expected<data::Data> interpretGradientBySegments(SegmentedGradientPrograms programs, const data::Data &data,
                                                       const data::Results &cotangents, int64_t segments,
                                                       const ChunkOptions &options = {});

} // namespace recur::interpreter
