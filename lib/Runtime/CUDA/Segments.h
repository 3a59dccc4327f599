// Sequences whose chunks several CTAs of a launch deal out among themselves.
#pragma once
#include <cstdint>

namespace recur::runtime {

/// What is known of a launch that can be cut: units, which are heads of sequences, chunks of each, its CTAs for each;
/// and times, over one of its chunks, of what has to end before it begins, and of both where it is not cut.
struct Cuttable {
  int64_t units, chunks, parts;
  double before, uncut;
  /// Where a launch before summarises segments: a chunk's time, else 0, and its CTAs for each segment that find what
  /// becomes of a state.
  double summary = 0;
  int64_t mapParts = 0;
};

/// So many segments each sequence is best cut into; 1 where that gains nothing. Without summaries, a CTA that begins
/// within a sequence goes over some chunks before its own, which the gates decide and nobody knows beforehand.
int64_t planSegments(const Cuttable &launch, int64_t multiprocessors);

/// The same for a caller who wants sequences cut.
int64_t forceSegments(const Cuttable &launch, int64_t multiprocessors);

/// For so many segments of each unit there is memory for summaries, whatever the device; of fewer than two nothing is
/// summarised.
int64_t limitSummaries(int64_t units, int64_t parts, bool isForced);

} // namespace recur::runtime
