// Summaries of parts of sequences: what calls of whatever machine have in common, and what each machine does itself.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// The summaries of a recurrence for one kind of machine; none where it has no such.
struct SummaryTable {
  const recur_summary_info *summaries = nullptr;
  int32_t count = 0;
};

/// A call whose sizes were checked, and the summary that it is about.
struct SummaryCall {
  Call resolved;
  recur_call own; // the caller's, with the plan that is used
  SummaryTable table;
  const recur_summary_info *info = nullptr;
  int64_t mapSize = 0, stateSize = 0; // float32 numbers of a head of a sequence

  int64_t getMapStride(const recur_summary &summary) const { return summary.map_stride ? summary.map_stride : mapSize; }
  int64_t getOffsetStride(const recur_summary &summary) const {
    return summary.offset_stride ? summary.offset_stride : stateSize;
  }
  float *getMap(const recur_summary &summary, int64_t unit) const {
    return summary.maps + unit * getMapStride(summary);
  }
  float *getOffset(const recur_summary &summary, int64_t unit) const {
    return summary.offsets + unit * getOffsetStride(summary);
  }
  bool hasBackwardMap() const;
  int64_t countUnits() const { return resolved.sequences * resolved.heads; }
};

/// What differs between the kinds of machines. All checks of a call are common to them, but for what only one kind asks
/// of memory.
struct SummaryMachine {
  /// Those of a recurrence for this kind of machine.
  SummaryTable (*find)(const recur_recurrence *recurrence);
  /// Decides the workspace, and whatever of Call follows from how the call is computed.
  void (*plan)(SummaryCall &call);
  recur_status (*summarise)(const SummaryCall &call, recur_summary result);
  recur_status (*summariseBack)(const SummaryCall &call, recur_summary result);
  recur_status (*combine)(const SummaryCall &call, bool isBackward, recur_summary first, recur_summary second,
                          recur_summary result);
  recur_status (*apply)(const SummaryCall &call, bool isBackward, recur_summary given, const float *states,
                        float *result);
  recur_status (*applyAll)(const SummaryCall &call, bool isBackward, const recur_summary *parts, int32_t count,
                           float *result);
};
extern const SummaryMachine processorSummaries, cudaSummaries;

/// A running extremum, whose cotangent goes to the tokens that won: the map of a state is none of its cotangent.
bool isExtremum(const recur_summary_info &summary);
/// The float32 numbers of a summary's map. Right behind a matrix lie the scales, which are counted too.
int64_t countMapNumbers(const recur_recurrence *recurrence, const recur_summary_info &summary);
/// The declaration of a state, by its place among the states.
const recur_array_info &getStateInfo(const recur_recurrence *recurrence, int64_t state);
int32_t countStates(const recur_recurrence *recurrence);

} // namespace recur::runtime
