// What a sequence makes of the cotangents of states, by the launches of its gradient or of the chain in it.
#pragma once
#include "Runtime/CUDA/Launch.h"

namespace recur::runtime {

/// Of which state, and from what behind the sequence.
struct ChainCall {
  int32_t state;
  const bool *isKnown; // of states whose cotangents are the caller's; null: none, nor those of outputs
  const float *behind; // the state's own; null: zeros
  float *before;       // where its cotangent before the sequence goes; may lie where `behind` does
  int64_t stride = 0;  // of both, over heads of sequences; 0: dense
};

/// Whether the state's cotangent is carried at all. If not, no result depends on it.
bool isCarried(const recur_recurrence *recurrence, int32_t state);

/// The states before the sequence are the call's initial ones.
recur_status runChain(const Device &device, const Call &resolved, const ChainCall &chain);

} // namespace recur::runtime
