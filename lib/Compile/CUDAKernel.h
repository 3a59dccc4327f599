// What kernels for NVIDIA GPUs are made of, and their way to LLVM IR once they are planned.
#pragma once
#include "Codegen/NVPTX/Kernels.h"
#include "Pipelines/Stages.h"
#include "Plan/Chunks.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::compile {

/// The recurrence has the plan that was asked for, and the target's assembler made no kernel of it that is kept.
class RefusedPlanError : public llvm::ErrorInfo<RefusedPlanError> {
public:
  static char ID;
  explicit RefusedPlanError(const llvm::Twine &why) : why(why.str()) {}
  void log(llvm::raw_ostream &os) const override { os << why; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::string why;
};

/// Code for a GPU is optimised whatever the effort: else numbers lie in memory that should be in registers, which the
/// assembler's report is an error for.
inline constexpr Effort cudaEffort = Effort::Full;

/// Kernels of the stage `tile`, which stay as they are, as LLVM IR.
llvm::Expected<std::vector<codegen::KernelIR>> lowerCUDAKernels(mlir::ModuleOp tiles, const PipelineOptions &pipeline);

/// The recurrence as the program of the plan `step`, on its own in a module, and the options for it: chunks of one
/// token, which leave besides the states that they begin with, where the caller has arrays for them.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> makeStepProgram(dgps::RecurrenceOp recurrence,
                                                                  PipelineOptions &options);

/// How many tokens a chunk of the recurrence has on the GPU that the options name, and its kernels with so many.
llvm::Expected<plan::ChunkChoice> chooseChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);
/// The same of its gradient.
llvm::Expected<plan::ChunkChoice> chooseGradientChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

} // namespace recur::compile
