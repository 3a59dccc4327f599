// A call backward on a GPU goes over its sequences together, in parts of whole chunks from the last to the first. The
// states at the start of each chunk of a part are at hand when its gradients are computed.
#pragma once
#include "Runtime/Common/Gradients.h"

namespace recur::runtime {

/// Where things lie in the workspace, in bytes; of what has several arrays, where each of them is, in the order of the
/// gradient's description.
struct GradientSpace {
  int64_t partTokens = 0;             // of a part of a sequence
  int64_t parts = 1;                  // of the longest
  int64_t launches = 0;               // what launches leave, and their tiles
  int64_t kept[mostArguments];        // states at the start of a part's chunks
  int64_t starts[mostArguments];      // each state at the start of each part but the first
  int64_t carried[2 * mostArguments]; // cotangents of states between parts; gradients of params
  int64_t perHead[mostArguments];     // gradients of shared inputs, of each head
  int64_t zeros = 0;                  // a token's of the largest output
  int64_t bytes = 0;                  // less than 0: more than there can be
};
GradientSpace arrangeGradient(const Call &resolved, int64_t keptChunks);

/// The launches of all gradients, which may take what the call forward hands over.
const recur_kernel_info &getRunLaunches(const Call &resolved);
/// Whether packed sequences go one after another, for the rows of their kept states do.
bool goOneByOne(const Call &resolved);
/// Whether a state that the call forward kept is rounded as the gradient's launches have it; by its place in `kept`.
bool isRounded(const Call &resolved, int32_t place);
/// Whether a shared input's gradient is a sum over heads.
bool isSummed(const Call &resolved, const recur_array_info &input);
/// The chunks of a part, or of packed sequences that go together, where each may begin at a chunk of its own.
int64_t countPartChunks(const Call &resolved, int64_t partTokens);

/// Decides how many chunks a part has.
void planCUDAGradient(Call &resolved);

} // namespace recur::runtime
