// Runs the kernels of the phases of a plan one after another, as a GPU's launches do.
#pragma once
#include "Interpreter/TileInterpreter.h"
#include "dialects/Chunk/ChunkPhases.h"

namespace recur::interpreter {

/// `arrays` are those of the program that the phases were made of. The kernels are those of the phases, in their order.
/// One that can begin within a sequence runs for each of the options' segments, the last first.
llvm::Expected<data::Results> interpretPhases(llvm::ArrayRef<tile::KernelOp> kernels, const chunk::Phases &phases,
                                              llvm::ArrayRef<KernelArray> arrays, int64_t chunk, const data::Data &data,
                                              const TileOptions &options = {});

} // namespace recur::interpreter
