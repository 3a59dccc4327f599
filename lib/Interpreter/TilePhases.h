// Runs the kernels of the phases of a plan one after another, as a GPU's launches do.
#pragma once
#include "Interpreter/TileInterpreter.h"
#include "dialects/Chunk/ChunkPhases.h"

namespace recur::interpreter {

/// `arrays` are those of the program that the phases were made of. The kernels are those of the phases, in their order.
/// One that can begin within a sequence runs for each of the options' segments, the last first. `kept` are the states
/// that a program leaves, or that the program of a gradient takes.
llvm::Expected<data::Results> interpretPhases(llvm::ArrayRef<tile::KernelOp> kernels, const chunk::Phases &phases,
                                              llvm::ArrayRef<KernelArray> arrays, int64_t chunk, const data::Data &data,
                                              const TileOptions &options = {}, KeptArrays *kept = nullptr);

/// The plan of a program and what the program's arrays stand for: one kernel, or those of phases.
struct InterpretedPlan {
  llvm::SmallVector<tile::KernelOp> kernels;
  std::vector<KernelArray> arrays;
  std::optional<chunk::Phases> phases = std::nullopt;
};

/// Runs the plan that leaves the states of `program` at each chunk's start, and then that of its gradient.
llvm::Expected<data::Data> interpretGradient(chunk::ProgramOp program, const InterpretedPlan &states,
                                             const InterpretedPlan &gradient, const data::Data &data,
                                             const data::Results &cotangents, const TileOptions &options = {});

} // namespace recur::interpreter
