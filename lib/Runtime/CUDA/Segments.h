// Sequences whose chunks several CTAs of a launch deal out among themselves.
#pragma once
#include <cstdint>

namespace recur::runtime {

/// What is known of a launch that can be cut: units, which are heads of sequences, chunks of each, its CTAs for each;
/// and times, over one of its chunks, of what has to end before it begins, and of both where it is not cut.
struct Cuttable {
  int64_t units, chunks, parts;
  double before, uncut;
};

/// So many segments each sequence is best cut into; 1 where that gains nothing. A CTA that begins within a sequence
/// goes over some chunks before its own, which the gates decide and nobody knows beforehand.
int64_t planSegments(const Cuttable &launch, int64_t multiprocessors);

/// The same for a caller who wants sequences cut.
int64_t forceSegments(const Cuttable &launch, int64_t multiprocessors);

} // namespace recur::runtime
