// Two launches of a kernel at the same time: the first has chunks ready for the second while that goes over those that
// are there.
#pragma once
#include "recur/Runtime.h"

namespace recur::runtime {

/// How chunks are dealt out to teams of the first launch. There are so many in all for some rounds, in which all
/// multiprocessors have some. Then those CTAs end whose teams do not last, and those of the second launch take their
/// multiprocessors.
struct SideBySide {
  int64_t teams = 0; // 0: the launches go one behind the other
  int64_t lastingTeams = 0, sharedRounds = 0;
  int64_t teamsOfCTA = 0;
  double time = 0; // of both launches, over a chunk of the second
};

/// What is known of the two launches: units, which are heads of sequences, chunks of each, CTAs of the second for each,
/// the first one's teams in a CTA, its `cost`, and whether a team has chunks of one unit alone.
struct Neighbours {
  int64_t units, chunks, parts, teamsOfCTA;
  double cost;
  bool keepsUnit = false;
};

SideBySide planSideBySide(const Neighbours &neighbours, int64_t multiprocessors);

/// How many rows of CTAs a unit has where such a launch, of which a multiprocessor has room for so many CTAs as there
/// could be teams, goes alone: a CTA takes several chunks one after another, for to begin takes a while.
int64_t dealAlone(int64_t units, int64_t chunks, int64_t teams, int64_t multiprocessors);

/// Of a CTA of the launch with so many teams, or with all that it can have.
int32_t getSharedBytes(const recur_launch_info &launch, int64_t teams);
int32_t getMostSharedBytes(const recur_launch_info &launch);

} // namespace recur::runtime
