// How many CTAs of a kernel share a multiprocessor.
#pragma once
#include "Target/GPUProfile.h"
#include "dialects/Tile/Tile.h"

namespace recur::analysis {

/// As many as have room, each with so much shared memory.
int64_t countCTAs(const GPUProfile &gpu, int64_t sharedBytes);
/// As many as have room besides with so many threads, and so many registers for each of these.
int64_t countCTAs(const GPUProfile &gpu, int64_t sharedBytes, int64_t threads, int64_t registersOfThread);

/// Where each of them works on chunks of its own, as many as have room and leave a thread enough registers; else one,
/// which has all registers that there are.
int64_t countNeighbourCTAs(tile::KernelOp kernel);

/// As many CTAs as share a multiprocessor, or teams of one CTA: those that the kernel says, or else as many as have
/// room.
int64_t getOccupancy(tile::KernelOp kernel);

} // namespace recur::analysis
