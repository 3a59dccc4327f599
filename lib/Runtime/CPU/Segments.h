// The plan `segment`: how sequences are cut, and what is kept of each segment.
//
// A sequence is cut into segments of whole chunks. The first one is run at once, for its state is known; meanwhile all
// others but the last are summarised, each by itself: what it makes of a state, as a map. Going through the maps in
// order gives the state before each segment, and then all segments but the first are run at the same time.
//
// With the summary of a chunk costing s times the chunk, and m segments of b chunks behind the first, the first one has
// s b chunks, so that it takes as long as a summary does. A sequence of N chunks on m processors then takes the time of
// N (1 + s) / (m + s) chunks: for one head and s = 1.3 it is 0.7 N with two processors and N / 4 with eight.
#pragma once
#include "Runtime/Common/Summaries.h"

namespace recur::runtime {

/// Segments behind the first one that a sequence has at most.
constexpr int64_t mostSegments = 64;
/// `segment` is chosen where its estimated time is at most this part of the time without it.
constexpr double clearGain = 0.92;

/// How to cut sequences when `units` heads of them, the longest of so many tokens, are computed on this many
/// processors: into as many segments as the kernel's cost figures, and the elements of all states of a head, say is
/// fastest. No cut where a sequence has fewer tokens than the kernel is meant for, or where it is no clear gain and is
/// not forced; what is left whole takes `uncut` of the time that the kernel takes for a chunk.
Cut chooseCut(const recur_kernel_info &kernel, int64_t units, int64_t tokens, int32_t processors, int64_t stateElements,
              bool isForced, double uncut = 1);

/// 1 for a sequence that stays whole; else at least 3, and at most 1 + mostSegments for those that the cut was chosen
/// for.
int64_t countSegments(Cut cut, int64_t tokens);

struct Segment {
  int64_t begin, tokens;
};
Segment getSegment(Cut cut, int64_t tokens, int64_t index);

/// Decides whether and how the call's sequences are cut, and what is kept of segments. Of sizes alone, never of
/// threads, so that the results depend on no more either.
void resolveSegments(Call &resolved);

/// The kernel of the plan; null where there is none.
const recur_kernel_info *findSegmentKernel(const recur_recurrence *recurrence);
/// What a step of the plan waits until other processors have begun with it, over the time of a chunk.
double estimateWaiting(int64_t chunk, int64_t stateElements);

/// What is kept of a segment: all states before it, and the parts of the summary that is being computed.
char *getStateBefore(const Call &call, char *record, int64_t state);
int64_t countStateBytes(const Call &call, int64_t state);
int64_t countMapBytes(const Call &call, const recur_summary_info &summary);
char *getSummaryMap(const Call &call, char *record);
float *getSummaryScales(const recur_summary_info &summary, char *map);
char *getSummaryOffset(const Call &call, char *record, const recur_summary_info &summary);

/// Processors that plans are chosen for: what RECUR_PROCESSORS says, or else those that this program may use.
int32_t getProcessors();
/// Tests say here how many processors there are to be.
void setProcessors(int32_t count);

} // namespace recur::runtime
