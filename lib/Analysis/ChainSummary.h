// What a segment makes of a state that goes from chunk to chunk.
#pragma once
#include "Analysis/StateChain.h"
#include "llvm/ADT/DenseSet.h"

namespace recur::analysis {

struct ChainSummary {
  llvm::DenseSet<unsigned> steps, loads; // on which the state that is left depends
  llvm::DenseSet<unsigned> values;       // loads of rows of values, on which what is written depends linearly
  bool hasMaps = false; // a state enters what is written; else each chunk scales the state's columns and adds to them
};

/// Null where that is no affine function of the state which is known from one start to another.
std::optional<ChainSummary> summarise(const StateChain &chain);

/// What bounds the map of a chunk: the state becomes S D + U^T R, where D scales columns and U = Y -+ T B P^T, with
/// P = S W^T, numbers B of the rows and a matrix T of the tokens, of which both may lack. So the map is D -+ (T B W)^T
/// R, whose spectral norm is at most the largest |D| and, for each element of T, its size times that of B and the
/// lengths of the rows of W and R that it joins. Where decays differ by channel that is far less than the product of
/// the tokens' norms, each of which is that of the channel that decays least there.
struct ForgottenState {
  unsigned reads, writes, decays;         // loads: W, R and D
  std::optional<unsigned> matrix;         // T
  llvm::SmallVector<unsigned> factors;    // the numbers that B multiplies
  llvm::SmallVector<int64_t, 2> triangle; // rows and columns of T for a token, if those of later tokens do not count
};

/// Null where the chain is not of this form, or nothing decays.
std::optional<ForgottenState> findForgotten(const StateChain &chain);

} // namespace recur::analysis
