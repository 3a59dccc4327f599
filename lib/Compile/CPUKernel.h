// From a chunk program, or from a recurrence whose tokens are lowered, to an object file with one kernel.
//
// The kernel is a recur_kernel, with its arrays in the order that ABI/KernelSignature.h says. It processes one sequence
// of one (batch, head), from token 0 to tokens - 1. The elements of a token are dense and row-major; states are
// float32, the rest has the kernel's type of data.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace recur {

struct KernelObject {
  std::string object; // the bytes of a position-independent object file
  std::string symbol;
  int64_t workspaceBytes;
};

/// A kernel in LLVM IR that shares nothing with others: machine code can be made of several at the same time.
struct LoweredKernel {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string symbol;
  int64_t workspaceBytes;
  Target target;
  Effort effort;
  /// Optimises it, and gives the bytes of its object file.
  llvm::Expected<std::string> makeObject();
  /// What it is made into, for `--emit`: LLVM IR that is optimised, and assembly. The kernel stays as it is.
  struct Texts {
    std::string llvmIR, assembly;
  };
  llvm::Expected<Texts> print() const;
};

/// Lowers the recurrence, of the stage `recurrence`, to the kernel of the plan `step`.
llvm::Expected<std::unique_ptr<LoweredKernel>> lowerStepKernel(dgps::RecurrenceOp recurrence,
                                                               const PipelineOptions &pipeline);

/// Lowers the program for the options' target; the kernel has the options' symbol, or the program's name. An error says
/// which op has no plan, or what the target lacks.
llvm::Expected<std::unique_ptr<LoweredKernel>> lowerCPUKernel(chunk::ProgramOp program,
                                                              const PipelineOptions &pipeline);

/// Compiles it to the end.
llvm::Expected<KernelObject> compileCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline);

/// The workspace that a kernel has, without compiling it to the end.
llvm::Expected<int64_t> countWorkspaceBytes(chunk::ProgramOp program, const PipelineOptions &pipeline);
llvm::Expected<int64_t> countStepWorkspaceBytes(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

} // namespace recur
