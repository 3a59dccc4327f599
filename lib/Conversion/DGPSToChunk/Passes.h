// The step down from the recurrence of one token to the program of a chunk of tokens.
#pragma once

#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace recur::conversion {

#define GEN_PASS_DECL
#include "Conversion/DGPSToChunk/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/DGPSToChunk/Passes.h.inc"

struct ChunkFormOptions {
  int64_t chunk;
  bool remains = false;    ///< the program bounds what a chunk leaves of its delta states, as far as that is known
  bool asDeclared = false; ///< delta states whose keys are their rows stay so; else the program has the transpose
};

/// Builds, at the builder's place, the chunk program that computes what `recurrence` does. The recurrence stays as it
/// is.
chunk::ProgramOp convertToChunk(mlir::OpBuilder &builder, dgps::RecurrenceOp recurrence,
                                const ChunkFormOptions &options);

} // namespace recur::conversion
