// How a call backward is computed: what a task is, what it has in the workspace, and how sequences are cut.
//
// A task is a segment of a sequence, or all of it, of the heads of a group that share inputs. It goes over its tokens
// in parts of whole chunks.
#pragma once
#include "Runtime/CPU/Segments.h"
#include "Runtime/Common/Gradients.h"

namespace recur::runtime {

/// Where what a task has in the workspace lies, in bytes. What is of a head is that for each head of the task.
struct GradientLayout {
  int64_t chunk;
  int64_t keptChunks;     // of a part
  int64_t parts;          // of the longest task
  int64_t headsPerTask;   // that share inputs, or one
  int64_t stateBytes;     // of all states of a head
  int64_t carriedBytes;   // of what the gradient's kernel carries of a head
  int64_t mapBytes;       // of the maps of all states of a head; only of segments, as what follows from `maps`
  int64_t kernels, kept;  // the kernels' workspace, where tasks are whole sequences; states at the start of chunks
  int64_t starts;         // states at the start of each part and behind the last, of a head
  int64_t carried;        // of a head
  int64_t headSums, sums; // of gradients of shared inputs
  int64_t maps, offsets, backOffsets; // what the segment makes of states, and of their cotangents, of a head
  int64_t marks;                      // which steps of a sequence are done
  int64_t end;
};
GradientLayout makeGradientLayout(const Call &call, int64_t keptChunks);

/// Segments of a sequence of so many tokens: 1 where it stays whole.
int64_t countGradientSegments(const Call &call, int64_t tokens);
/// The steps of a sequence of so many segments, of GradientSteps.cpp.
int64_t countGradientSteps(const Call &call, int64_t segments);
/// The place of a task among those of the call whose sequences are cut.
int64_t getTaskIndex(const Call &call, int64_t sequence, int64_t group, int64_t segment);
/// Where the gradients of params of a head of a task are left to be added up.
char *getParamRecord(const Call &call, int64_t sequence, int64_t segment, int64_t head);

/// Fills in what a call backward computes how, by its sizes, the processors and what was kept alone; and by the
/// workspace how much is kept in it.
void planGradient(Call &resolved);

} // namespace recur::runtime
