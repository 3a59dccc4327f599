// A recurrence's kernel for an NVIDIA GPU.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

struct CUDAKernel {
  std::string symbol, ptx;
  int64_t chunk;          // tokens
  int64_t threads;        // of a CTA
  int64_t sharedBytes;    // of a CTA
  int64_t workspaceBytes; // of each head of each sequence
};

/// The plain plan of one CTA for each head of each sequence, for the GPU that the options name, as PTX. Unless they
/// name a chunk too it is as large as lets all tiles lie in shared memory.
llvm::Expected<CUDAKernel> compileCUDAKernel(dgps::RecurrenceOp recurrence, PipelineOptions pipeline);

} // namespace recur::compile
