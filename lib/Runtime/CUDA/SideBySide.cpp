#include "Runtime/CUDA/SideBySide.h"

using namespace recur::runtime;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// In times of a chunk of the second launch, a chunk of all units takes the first one units * cost of one
/// multiprocessor. What those that the second leaves cannot do in its time is due before, on all of them.
SideBySide recur::runtime::planSideBySide(const Neighbours &neighbours, int64_t multiprocessors) {
  constexpr int64_t fewestChunks = 4; // of fewer there is nothing to gain
  constexpr double gain = 0.6;        // for on all multiprocessors at once device memory is short, as measured
  auto [units, chunks, parts, teams, cost] = neighbours;
  if (units < 1 || parts < 1 || teams < 1 || units > multiprocessors / parts || chunks < fewestChunks)
    return {};
  int64_t left = multiprocessors - units * parts, lasting = smaller(left * teams / units, chunks);
  if (lasting < 1)
    return {};
  double onOne = double(units) * cost, onAll = onOne / double(multiprocessors), onLeft = onOne / double(left);
  double due = onLeft > 1 ? gain * (1 - 1 / onLeft) * double(chunks) : 0;
  int64_t rows = smaller(multiprocessors * teams / units, chunks);
  int64_t halves = int64_t(2 * due / double(rows)), rounds = (halves + 1) / 2; // to the nearest
  double before = double(rounds * rows) / double(chunks), rest = (1 - before) * onLeft;
  double beside = before * onAll + (rest > 1 ? rest : 1), behind = onAll + 1;
  if (before >= 1 || beside >= behind)
    return {};
  return {rounds ? rows : lasting, lasting, rounds};
}

int32_t recur::runtime::getMostSharedBytes(const recur_launch_info &launch) {
  return launch.shared_bytes * (launch.teams > 1 ? launch.teams : 1);
}
