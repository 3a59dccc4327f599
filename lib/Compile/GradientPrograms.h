// A recurrence's chunk program and the program of its gradient.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

struct GradientPrograms {
  mlir::OwningOpRef<mlir::ModuleOp> module; // has the programs
  chunk::ProgramOp program, gradient;
  chunk::ProgramOp states; // leaves the states that the gradient takes
};

/// An error where the options name a gradient of what the recurrence does not have.
llvm::Error checkGradientNames(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

/// Whether the options ask for the gradient of this input, param or state.
bool wantsGradient(const PipelineOptions &options, llvm::StringRef name);

/// Adds to the module the gradient's program without all but the cotangents of states; none where it is the same, or
/// carries none.
llvm::Expected<chunk::ProgramOp> makeChainProgram(GradientPrograms &programs);

/// Adds to the module the program itself as one that leaves the states that the gradient takes, beside its outputs.
chunk::ProgramOp makeHandingProgram(GradientPrograms &programs);

/// The gradients that the options ask for. An error says what of the recurrence has no gradient.
llvm::Expected<GradientPrograms> makeGradientPrograms(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

/// The same as kernels of the options' target have it: those of a GPU find what delays hold in the arrays of inputs,
/// and keep nothing of it.
llvm::Expected<GradientPrograms> makeKernelGradients(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

} // namespace recur::compile
