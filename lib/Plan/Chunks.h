// How many tokens a chunk has: the search over programs that differ in that alone.
#pragma once
#include "Plan/Search.h"

namespace recur::plan {

/// A program of the stage `chunk`, in a module that keeps it.
struct ChunkProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  chunk::ProgramOp program;
};
/// Makes it with chunks of so many tokens.
using MakeProgram = llvm::function_ref<llvm::Expected<ChunkProgram>(int64_t chunk)>;

struct ChunkChoice {
  int64_t chunk = 0;
  GPUKernels kernels;        // of a GPU, with this chunk
  std::vector<Verdict> lost; // candidates with other chunks
};

/// The largest chunk with which all tiles lie in shared memory, unless the next smaller one is better; where there is
/// none, the smallest. Where the options name one it is the only one.
llvm::Expected<ChunkChoice> findChunk(MakeProgram make, const PipelineOptions &pipeline);

/// Of a gradient: the largest chunk no longer than the recurrence's with which all tiles lie in shared memory, or else
/// the recurrence's.
llvm::Expected<ChunkChoice> findGradientChunk(MakeProgram make, const PipelineOptions &pipeline, int64_t ofRecurrence);

/// Of a processor's kernels.
llvm::Expected<ChunkChoice> findCoreChunk(MakeProgram make, const PipelineOptions &pipeline);

} // namespace recur::plan
