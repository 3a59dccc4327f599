// Which GPUs run the code of an image, for those who make one and those who load it.
#pragma once
#include "recur/Runtime.h"
#include <cstdint>

namespace recur::abi {

/// An image is a cubin, which is an ELF file, or text: PTX.
inline bool isPTX(const void *image) { return *static_cast<const unsigned char *>(image) != 0x7F; }

/// Whether a GPU of this compute capability, 90 for 9.0, runs it. `features` are those of its recurrence. Drivers
/// compile PTX for every later GPU; a cubin runs on later ones of the same generation.
inline bool runsOn(uint32_t features, bool isPTX, uint32_t capability) {
  uint32_t least = features & ~RECUR_EXACT_CAPABILITY;
  if (features & RECUR_EXACT_CAPABILITY)
    return capability == least;
  return capability >= least && (isPTX || capability / 10 == least / 10);
}

} // namespace recur::abi
