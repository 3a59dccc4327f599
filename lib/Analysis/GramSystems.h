// Systems that conjugate gradients solve whose matrices are a decayed sum of squares of keys: a state that keys are
// written to by themselves, as it is for each token.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::analysis {

/// The matrix of token n is d_n G and, for each token i up to n, d_n / d_i gains_i k_i k_i^T, where d is the product of
/// the decays of the chunk so far.
struct GramSystems {
  mlir::Value state;       // G, of the chunk's start
  mlir::Value keys, gains; // gains are null where they are one
  mlir::Value decay;       // logarithms, one a token; null where nothing decays
};

/// What the region of the op says, if it is that.
std::optional<GramSystems> findGramSystems(chunk::CgOp op);

/// Whether all that cancels in the program are such systems, which can be solved by themselves: vectors, keys and state
/// are there as they came, or as a phase left them, and the ridge is one row.
bool cancelsInGramSystemsAlone(chunk::ProgramOp program);

} // namespace recur::analysis
