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

/// Builds, at the builder's place, the chunk program that computes what `recurrence` does. The recurrence stays as it
/// is. With `saysWhatRemains` the program bounds what a chunk leaves of its delta states, as far as that is known.
chunk::ProgramOp convertToChunk(mlir::OpBuilder &builder, dgps::RecurrenceOp recurrence, int64_t chunk,
                                bool saysWhatRemains = false);

} // namespace recur::conversion
