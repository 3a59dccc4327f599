// Going over a segment of a sequence, or all of it, for the gradients of the heads of a group that share inputs.
#pragma once
#include "Runtime/CPU/GradientPlan.h"

namespace recur::runtime {

class GradientTask {
public:
  /// In `area` of the workspace the task has what is its own, in `kernels` what it shares with others of its thread.
  GradientTask(const Call &call, int64_t sequence, int64_t group, int64_t segment, char *area, char *kernels);

  /// All of a sequence that is not cut.
  void runWhole();

  // Of a segment, each for all heads; what must be done before is for GradientSteps.cpp to know.

  /// Forward over the first segment for the states before the next one.
  void runAhead(GradientTask &next);
  /// Backward over the last segment for the cotangents of the states before it.
  void runBehind(GradientTask &before);
  /// What the segment makes of a state, and then that to the state before the next segment.
  void summarise(const recur_summary_info &summary);
  void apply(const recur_summary_info &summary, GradientTask &next);
  /// What the segment makes of cotangents of states, but for the maps: of each state that `isSought` says, where the
  /// cotangents that `isKnown` says come from what is behind the segment.
  void chain(const bool *isSought, const bool *isKnown);
  /// The cotangent of the summary's state from behind the segment to before it.
  void applyBack(const recur_summary_info &summary, GradientTask &before);
  /// The gradients of the segment's tokens.
  void runGradients();

  /// Of a sequence that is not cut: what it makes of the cotangents of a state, of all heads of the task, where those
  /// of states whose summaries come later are the final ones. `map` is of an extremum alone, and else null.
  /// The heads of the task have maps and offsets so far apart.
  void summariseBack(const recur_summary_info &summary, float *map, int64_t mapStride, float *offset,
                     int64_t offsetStride);

private:
  int64_t getPartTokens(int64_t part) const;
  int64_t getPartBegin(int64_t part) const { return segment.begin + part * partTokens; }
  int64_t getKeptRow(int64_t token) const;
  char *getStart(int64_t head, int64_t part) const;
  char *getCarried(int64_t head) const { return area + layout.carried + head * layout.carriedBytes; }
  char *getCarriedState(int64_t head, int32_t state) const;
  char *getMap(int64_t head, const recur_summary_info &summary) const;
  char *getOffset(int64_t head, int32_t state) const;
  char *getBackOffset(int64_t head, int32_t state) const;
  /// The state before the segment.
  char *getStateBefore(int64_t head, int32_t state) const;
  int64_t offsetOf(int32_t state) const;
  recur_array place(const Argument &argument, int64_t token, int64_t head) const;
  recur_array placeParam(const Argument &argument, int64_t head) const;
  recur_array placeKept(int32_t state, int64_t head, int64_t part) const;
  int32_t placeInputs(recur_array *arrays, int64_t token, int64_t head) const;

  void readStates(int64_t head);
  void beginCarried(int64_t head);
  void runStarts(int64_t head);
  void runStates(int64_t head, int64_t part, bool keeps, char *final);
  void runGradient(int64_t head, int64_t part, bool hasCotangents = true);
  void runChain(int64_t head, char *carried, bool hasCotangents);
  void addShared(int64_t head, int64_t part);
  void runParts();
  void finish(int64_t head);

  const Call &call;
  const recur_gradient_info &gradient;
  GradientArguments arguments;
  GradientLayout layout;
  char *area, *kernels;
  int64_t number, index; // of the sequence, and of the segment in it
  int64_t firstHead;
  int64_t firstRow; // of the sequence, in what the call forward kept
  Sequence sequence;
  Segment segment;
  bool isFirst, isLast;
  int64_t partTokens, parts;
};

} // namespace recur::runtime
