// Flags in device memory that say which chunks one kernel has left for another, which runs beside it.
//
// The second may start when every CTA of the first lets it, or has ended: the first waits for nobody, so whoever waits
// for a flag waits for CTAs that have their multiprocessors, or have ended. Before that, the first has cleared all
// flags, whatever was in the workspace. The second ends when the first has, so that whoever comes next finds both done.
#pragma once
#include "Conversion/TileToNVVM/Team.h"

namespace recur::conversion::nvvm {

class ChunkFlags {
public:
  ChunkFlags() = default;
  /// Of the unit's chunks, from the first on, or, of a kernel that announces, of all units'; a null pointer where
  /// nobody announces or awaits any.
  ChunkFlags(TeamCode &team, mlir::Value first);

  /// Whether the kernel has flags at all.
  explicit operator bool() const { return bool(first); }

  // The kernel that announces.
  /// Clears the flags that the team will set, and no others: a CTA may begin when another has set some. The team has a
  /// chunk in fewer than so many rounds; `clearOne` is for a round. All of the CTA's teams have cleared theirs behind
  /// it.
  void clear(TeamCode &team, mlir::Value rounds, llvm::function_ref<void(mlir::Value round)> clearOne) const;
  /// Clears the flag that is there.
  static void clearAt(TeamCode &team, mlir::Value place);
  /// Lets the other kernel start, as far as this CTA is concerned, if it is time.
  void letOthersStart(TeamCode &team, mlir::Value isTime) const;
  /// Sets a chunk's flag, if there is one to announce; all that the team left of it was stored before one of its
  /// barriers. `findPlace` says where it is, to one thread.
  void announce(TeamCode &team, mlir::Value isThere, llvm::function_ref<mlir::Value()> findPlace) const;

  // The kernel that awaits.
  /// How many chunks are there before any was awaited: none, or all.
  mlir::Value countAtStart(TeamCode &team) const;
  /// Stops a warp until the chunk is there, out of so many in all; `known` of them were there when it last looked.
  /// Gives how many are there now. A warp looks at as many flags as it has lanes.
  mlir::Value await(TeamCode &team, mlir::Value known, mlir::Value chunk, mlir::Value count) const;
  /// Stops until the other kernel has ended.
  void awaitEnd(TeamCode &team) const;

private:
  mlir::Value first, areUsed; // an address of 64 bits
};

} // namespace recur::conversion::nvvm
