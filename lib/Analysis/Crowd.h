// How many CTAs of a kernel share a multiprocessor.
#pragma once
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// Where each of them works on chunks of its own, as many as have room and leave a thread enough registers; else one,
/// which has all registers that there are.
int64_t countNeighbourCTAs(tile::KernelOp kernel);

} // namespace recur::analysis
