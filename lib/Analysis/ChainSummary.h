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

} // namespace recur::analysis
