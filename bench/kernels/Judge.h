// What kernels and their peers should compute: the recurrences token by token in float64.
#pragma once
#include "Problem.h"

namespace recur::bench {

/// Relative root mean square difference of the kernel's first tokens from the same in float64, for one head. Runs the
/// kernel, from states of zeros. For the plan segment, at least the difference of all tokens from the plan chunk's.
double measureError(const Shape &shape);

enum class Peer { Strict, Fast, Blas };
/// Runs the peer on all heads of the shape's data.
void runPeer(Peer peer, const Shape &shape, const Problem &problem, std::vector<float> &output);
/// Relative root mean square difference of the peer's output from the kernel's, over all heads.
double measureDifference(Peer peer, const Shape &shape);

} // namespace recur::bench
