#include "Runtime/CUDA/Segments.h"

using namespace recur::runtime;

/// So many CTAs of each sequence have multiprocessors at the same time.
static int64_t countAtOnce(const Cuttable &launch, int64_t multiprocessors) {
  return launch.units < 1 || launch.parts < 1 ? 1 : multiprocessors / launch.parts / launch.units;
}

/// Where gates are strong a CTA goes over a few chunks besides its own, and where they are weak the last one goes over
/// all, as an uncut launch does. Both count the same.
int64_t recur::runtime::planSegments(const Cuttable &launch, int64_t multiprocessors) {
  constexpr int64_t few = 4; // chunks of 64 tokens with log decays of -0.07 each
  int64_t fits = countAtOnce(launch, multiprocessors), most = launch.chunks / few;
  int64_t segments = fits < most ? fits : most;
  if (segments < 2)
    return 1;
  double whole = double(launch.chunks), strong = whole / double(segments) + few;
  return launch.before + (strong + whole) / 2 < launch.uncut ? segments : 1;
}

int64_t recur::runtime::forceSegments(const Cuttable &launch, int64_t multiprocessors) {
  int64_t fits = countAtOnce(launch, multiprocessors), wanted = fits < 2 ? 2 : fits;
  int64_t segments = wanted < launch.chunks ? wanted : launch.chunks;
  return segments < 1 ? 1 : segments;
}
