// The launches of a call, which kernels of the stage `tile` are for: who plans them writes the table, and the library's
// descriptor holds it (recur_launch_info).
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace recur::tile {

/// A recur_launch_array.
struct LaunchArray {
  int64_t number, partDim, partSize, copiedRows = 0;
};

/// A recur_launch_info.
struct Launch {
  std::string symbol;
  int64_t threads, sharedBytes; // of a CTA
  // A kernel that leaves something from launch to launch has these too; one that can keep the states before every token
  // has `arrays`.
  int64_t workspaceBytes = 0; // of a CTA
  int64_t parts = 0;
  bool chunksAreApart = false;
  std::vector<LaunchArray> arrays = {};
  int64_t teams = 0;       // of a CTA, where it announces its chunks to the next launch
  bool awaits = false;     // the chunks of the launch before
  float cost = 0;          // of a chunk that is announced or summarised, over one of the launch that takes it
  bool cuts = false;       // several CTAs can deal out a sequence's chunks; with a workspace, where summaries lie
  bool bounds = false;     // all that it leaves is for a launch that is cut
  std::string listed = {}; // the symbol of the same by a list of the chunks of packed sequences; empty: none
  int64_t stateParts = 0;  // CTAs that have a part of a head's states each; 0: a CTA has whole heads
};

/// A recur_left_info.
struct LeftRows {
  int64_t rows, elementBytes;
  llvm::SmallVector<int64_t, 2> shape;
  uint64_t meaning = 0;     // the same for the same values of other kernels; 0: not known. Not in the library
  bool isHanded = false;    // the call forward hands it over to the gradient
  int64_t handedOffset = 0; // in bytes: of what is handed over of a chunk, behind so many

  /// Of a chunk, with room to begin the next array well.
  int64_t countHandedBytes() const {
    constexpr int64_t line = 128;
    int64_t bytes = rows * elementBytes;
    for (int64_t size : shape)
      bytes *= size;
    return (bytes + line - 1) / line * line;
  }
};

} // namespace recur::tile
