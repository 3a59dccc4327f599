#include "Runtime/CUDA/Segments.h"

using namespace recur::runtime;

/// So many CTAs of each sequence have multiprocessors at the same time.
static int64_t countAtOnce(const Cuttable &launch, int64_t multiprocessors) {
  return launch.units < 1 || launch.parts < 1 ? 1 : multiprocessors / launch.parts / launch.units;
}
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

/// Of both launches, with a sequence in so many segments.
static double timeSummarised(const Cuttable &launch, int64_t segments, int64_t multiprocessors) {
  constexpr double served = 0.6; // of the multiprocessors, for which device memory is fast enough, as measured
  constexpr double another = 4;  // launch
  constexpr double apply = 2, scale = 0.5; // a summary of a segment before, by a matrix or by factors
  double all = double(multiprocessors), own = double(launch.chunks) / double(segments);
  auto passOver = [&](int64_t ctas, double chunk) {
    int64_t atOnce = smaller(ctas, multiprocessors), rounds = (ctas + multiprocessors - 1) / multiprocessors;
    return double(rounds) * own * chunk * larger(1, double(atOnce) / (served * all));
  };
  int64_t summaries = launch.units * ((segments - 1) * launch.parts + (segments - 2) * launch.mapParts);
  double follow = double(segments - 1) * (launch.mapParts ? apply : scale);
  return passOver(summaries, launch.summary) + another + follow + passOver(launch.units * launch.parts * segments, 1);
}

static int64_t planSummarised(const Cuttable &launch, int64_t multiprocessors, int64_t most) {
  int64_t best = 1;
  double least = launch.uncut;
  for (int64_t segments = 2; segments <= most; ++segments) {
    double time = launch.before + timeSummarised(launch, segments, multiprocessors);
    if (time < least) {
      least = time;
      best = segments;
    }
  }
  return best;
}

/// Where gates are strong a CTA goes over a few chunks besides its own, and where they are weak the last one goes over
/// all, as an uncut launch does. Both count the same.
int64_t recur::runtime::planSegments(const Cuttable &launch, int64_t multiprocessors) {
  constexpr int64_t few = 4; // chunks of 64 tokens with log decays of -0.07 each
  int64_t most = smaller(countAtOnce(launch, multiprocessors), launch.chunks / few);
  if (launch.summary > 0) {
    most = smaller(most, limitSummaries(launch.units, launch.parts, false));
    return planSummarised(launch, multiprocessors, most);
  }
  if (most < 2)
    return 1;
  double whole = double(launch.chunks), strong = whole / double(most) + few;
  return launch.before + (strong + whole) / 2 < launch.uncut ? most : 1;
}

int64_t recur::runtime::forceSegments(const Cuttable &launch, int64_t multiprocessors) {
  int64_t fits = countAtOnce(launch, multiprocessors), wanted = fits < 2 ? 2 : fits;
  if (launch.summary > 0)
    wanted = smaller(wanted, limitSummaries(launch.units, launch.parts, true));
  int64_t segments = smaller(wanted, launch.chunks);
  return segments < 1 ? 1 : segments;
}

int64_t recur::runtime::limitSummaries(int64_t units, int64_t parts, bool isForced) {
  constexpr int64_t most = 8, workingCTAs = 264; // of devices that there are
  int64_t fits = units < 1 || parts < 1 ? 1 : smaller(most, workingCTAs / parts / units);
  return isForced && fits < 2 ? 2 : fits;
}
