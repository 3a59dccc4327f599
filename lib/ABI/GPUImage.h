// The image that an object carries for a GPU: the code of its kernels. For those who make one and those who load it.
#pragma once
#include "recur/Runtime.h"
#include <cstdint>

namespace recur::abi {

/// Kernels are assembled apart, each into a cubin of its own, and kernels that do the same have one: the image is a
/// table of them. Numbers count bytes from its beginning.
struct ImageTable {
  struct Kernel {
    uint64_t symbol;   // its name, with a zero at its end
    uint64_t code;     // its cubin
    uint64_t function; // the name that it has there
  };
  unsigned char magic[8];
  uint64_t count; // of the kernels, which are behind
};
inline constexpr unsigned char imageMagic[8] = {0x7F, 'R', 'E', 'C', 'U', 'R', 'G', 'P'};
/// Of each cubin in the table, and of the table in memory.
inline constexpr uint64_t imageAlignment = 64;

/// Null where the image is one cubin or PTX.
inline const ImageTable *findImageTable(const void *image) {
  for (unsigned i = 0; i < sizeof(imageMagic); ++i) // text may be shorter
    if (static_cast<const unsigned char *>(image)[i] != imageMagic[i])
      return nullptr;
  return static_cast<const ImageTable *>(image);
}

inline const ImageTable::Kernel *getKernels(const ImageTable *table) {
  return reinterpret_cast<const ImageTable::Kernel *>(table + 1);
}

/// An image begins as an ELF file does, also a table; or it is text: PTX.
inline bool isPTX(const void *image) { return *static_cast<const unsigned char *>(image) != imageMagic[0]; }

/// Whether a GPU of this compute capability, 90 for 9.0, runs it. `features` are those of its recurrence. Drivers
/// compile PTX for every later GPU; a cubin runs on later ones of the same generation.
inline bool runsOn(uint32_t features, bool isPTX, uint32_t capability) {
  uint32_t least = features & ~RECUR_EXACT_CAPABILITY;
  if (features & RECUR_EXACT_CAPABILITY)
    return capability == least;
  return capability >= least && (isPTX || capability / 10 == least / 10);
}

} // namespace recur::abi
