// A chunk program's kernel for an NVIDIA GPU.
#pragma once
#include "Codegen/Embed/KernelInterface.h"
#include "Pipelines/Stages.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// Code for a GPU is optimised whatever the effort: else numbers lie in memory that should be in registers, which the
/// assembler's report is an error for.
inline constexpr Effort cudaEffort = Effort::Full;

/// What the plan of a kernel asks of the GPU.
struct CUDAPlan {
  std::vector<codegen::InterfaceLaunch> launches;
  int64_t workspaceBytes = 0; // of a CTA
};

/// The plain plan of one CTA for each head of each sequence, for the GPU that the options name.
llvm::Expected<CUDAPlan> planCUDAKernel(chunk::ProgramOp program, const PipelineOptions &pipeline);

/// The same as LLVM IR, optimised; the kernel has the options' symbol, or the program's name. `plan` receives what it
/// asks.
llvm::Expected<std::unique_ptr<llvm::Module>> compileCUDAKernel(chunk::ProgramOp program,
                                                                const PipelineOptions &pipeline,
                                                                llvm::LLVMContext &context, CUDAPlan &plan);

/// A chunk that a plan was made with.
struct TriedChunk {
  int64_t chunk;
  CUDAPlan plan;
};
/// The largest chunk with which all tiles lie in shared memory, or else the smallest, after larger ones; the last is
/// the one to take. Where the options name one it is the only one.
llvm::Expected<std::vector<TriedChunk>> tryChunks(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

} // namespace recur::compile
