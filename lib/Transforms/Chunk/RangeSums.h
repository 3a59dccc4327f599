// Cotangents of decays as sums over ranges of pairs.
#pragma once
#include "dialects/Chunk/Chunk.h"

namespace recur::chunk {

/// Rewrites a gradient so that products have rows as they are, what scales these scales the results; and each matrix of
/// the tokens meets a decay of the tokens once, of which products and the decay's own cotangent are made. That is a sum
/// of the matrix by pairs over ranges of tokens, by products with triangles of ones.
void sumRanges(ProgramOp program);

} // namespace recur::chunk
