// Which arrays of a chain the copy unit of a multiprocessor can bring rows of, a chunk's at once.
#pragma once
#include "Analysis/StateChain.h"

namespace recur::analysis {

/// As many arrays of a launch have tensor maps at most.
inline constexpr size_t mostCopiedArrays = 16;

struct CopiedRows {
  unsigned array; // its number among the kernel's
  int64_t rows;   // of a chunk: of its tokens, or of their micro-steps
};

/// Those of all loads of rows, by the arrays' numbers, but of arrays that another launch still writes: threads, which
/// wait for it, were measured to bring those as fast or faster. None where there is a load that it cannot bring, so
/// that either it brings all of the others or threads do.
llvm::SmallVector<CopiedRows> findCopiedRows(const StateChain &chain, tile::KernelOp kernel);

} // namespace recur::analysis
