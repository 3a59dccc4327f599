#include "Runtime/CUDA/SideBySide.h"

using namespace recur::runtime;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// In times of a chunk of the second launch, a chunk of all units takes the first one units * cost of one
/// multiprocessor. What those that the second leaves cannot do in its time is due before, on all of them.
SideBySide recur::runtime::planSideBySide(const Neighbours &neighbours, int64_t multiprocessors) {
  constexpr int64_t fewestChunks = 4; // of fewer there is nothing to gain
  constexpr int64_t mostTeams = 3;    // a fourth made less of each, and the second launch waited, as measured
  constexpr double gain = 0.6;        // for on all multiprocessors at once device memory is short, as measured
  constexpr double worthwhile = 0.9;  // of the time one behind the other: several rounds gain less than counted
  constexpr double keepsPace = 0.9;   // beyond it the second launch waits for each chunk, and loads none ahead
  auto [units, chunks, parts, allTeams, cost] = neighbours;
  int64_t teams = smaller(allTeams, mostTeams);
  double onOne = double(units) * cost, onAll = onOne / double(multiprocessors), behind = onAll + 1;
  SideBySide apart;
  apart.time = behind * double(chunks);
  if (units < 1 || parts < 1 || teams < 1 || units > multiprocessors / parts || chunks < fewestChunks)
    return apart;
  int64_t left = multiprocessors - units * parts, lasting = smaller(left * teams / units, chunks);
  if (lasting < 1)
    return apart;
  double onLeft = onOne / double(left);
  double due = onLeft > 1 ? gain * (1 - 1 / onLeft) * double(chunks) : 0;
  int64_t rows = smaller(multiprocessors * teams / units, chunks);
  int64_t halves = int64_t(2 * due / double(rows)), rounds = (halves + 1) / 2; // to the nearest
  if (onLeft > keepsPace && rounds == 0)
    rounds = 1;
  double before = double(rounds * rows) / double(chunks), rest = (1 - before) * onLeft;
  double beside = before * onAll + (rest > 1 ? rest : 1);
  if (before >= 1 || beside >= (rounds > 1 ? worthwhile : 1) * behind)
    return apart;
  return {rounds ? rows : lasting, lasting, rounds, teams, beside * double(chunks)};
}

int64_t recur::runtime::dealAlone(int64_t units, int64_t chunks, int64_t teams, int64_t multiprocessors) {
  constexpr int64_t mostChunks = 16, begin = 1, chunk = 3; // of a CTA's time
  int64_t slots = multiprocessors * teams, best = chunks, least = INT64_MAX;
  for (int64_t each = 1; each <= mostChunks && slots > 0; ++each) {
    int64_t rows = (chunks + each - 1) / each, waves = (rows * units + slots - 1) / slots;
    int64_t time = waves * (begin + each * chunk);
    if (time < least) {
      least = time;
      best = rows;
    }
  }
  return best;
}

int32_t recur::runtime::getSharedBytes(const recur_launch_info &launch, int64_t teams) {
  return launch.shared_bytes * int32_t(teams > 1 ? teams : 1);
}
int32_t recur::runtime::getMostSharedBytes(const recur_launch_info &launch) {
  return getSharedBytes(launch, launch.teams);
}
