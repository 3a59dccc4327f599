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

/// An error says what of the recurrence has no gradient.
llvm::Expected<GradientPrograms> makeGradientPrograms(dgps::RecurrenceOp recurrence, const PipelineOptions &options);

} // namespace recur::compile
