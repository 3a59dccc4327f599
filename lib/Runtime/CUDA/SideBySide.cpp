#include "Runtime/CUDA/SideBySide.h"
#include "ABI/LaunchWords.h"

using namespace recur;
using namespace recur::runtime;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

namespace {

/// Of all chunks of all units, `teams` of the first launch have one each in a round of all multiprocessors, and
/// `lasting` in a round of those that the second leaves. A round takes as long as its teams take for a chunk each, in
/// times of a chunk of the second launch.
struct Rounds {
  int64_t units, chunks, teams, lasting;
  double together, beside;
};

} // namespace

/// The second launch begins behind the rounds of all multiprocessors. It takes no less than one for each chunk, and has
/// those of the last round to go over when the first is done.
static double timeSideBySide(const Rounds &of, int64_t rounds) {
  int64_t rest = of.units * of.chunks - rounds * of.teams, lasting = (rest + of.lasting - 1) / of.lasting;
  double last = double(rest - (lasting - 1) * of.lasting) / double(of.units);
  double first = double(lasting) * of.beside + last, all = double(of.chunks);
  return double(rounds) * of.together + (first > all ? first : all);
}

SideBySide recur::runtime::planSideBySide(const Neighbours &neighbours, int64_t multiprocessors) {
  constexpr int64_t fewestChunks = 4; // of fewer there is nothing to gain
  constexpr double worthwhile = 0.94; // of the time one behind the other: several rounds gain less than counted
  constexpr double keepsPace = 0.8;   // beyond it the second launch waits for each chunk, and loads none ahead
  constexpr double asGood = 0.96;     // estimates are no better than that, and fewer rounds are safer
  constexpr double ofLoneTeams = 1.5; // which hide nothing of what the second launch costs them, as measured
  auto [units, chunks, parts, mostTeams, cost, keepsUnit] = neighbours;
  int64_t teamsOfCTA = smaller(mostTeams, abi::mostTeams);
  double onOne = double(units) * cost, onAll = onOne / double(multiprocessors) * double(chunks),
         together = double(teamsOfCTA) * cost;
  SideBySide apart;
  apart.time = (onAll > together ? onAll : together) + double(chunks);
  if (units < 1 || parts < 1 || teamsOfCTA < 1 || units > multiprocessors / parts || chunks < fewestChunks)
    return apart;
  int64_t left = multiprocessors - units * parts, all = units * chunks;
  auto countTeams = [&](int64_t some) {
    int64_t teams = smaller(some * teamsOfCTA, all);
    return keepsUnit || teamsOfCTA == 1 ? teams / units * units : teams;
  };
  int64_t teams = countTeams(multiprocessors), lasting = countTeams(left);
  if (lasting < units)
    return apart;
  Rounds of{units, chunks, teams, lasting, together, together * (teamsOfCTA > 1 ? 1 : ofLoneTeams)};
  int64_t fewest = onOne > keepsPace * double(left) ? 1 : 0;
  if (fewest * teams >= all)
    return apart;
  double least = timeSideBySide(of, fewest);
  for (int64_t more = fewest + 1; more * teams < all; ++more)
    if (double time = timeSideBySide(of, more); time < least)
      least = time;
  int64_t rounds = fewest;
  while (timeSideBySide(of, rounds) * asGood > least)
    ++rounds;
  if (least > (rounds > 1 ? worthwhile : 1) * apart.time)
    return apart;
  return {rounds ? teams : lasting, lasting, rounds, teamsOfCTA, timeSideBySide(of, rounds)};
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
