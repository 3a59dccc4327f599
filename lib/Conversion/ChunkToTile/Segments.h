// Kernels that go from chunk to chunk and share a sequence with others of a launch.
#pragma once
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace recur::conversion {

/// Makes the kernel's loop go over its segment, with the arrays that it gives.
void takeSegment(mlir::OpBuilder &builder, tile::SegmentOp segment, mlir::scf::ForOp loop);

/// Lets a kernel whose state stays in registers begin with what follows from summaries of segments, where these can be
/// made: it takes the segment that it gets. Gives the kernel that makes them, which is put before it and named so,
/// and is of so many parts; null if there is none, and nothing has changed.
///
/// A summary of a segment is the state that it leaves where it begins with zeros, and what it makes of a state. Where
/// what is written does not depend on the state, that is a factor for each column. Else all that is written
/// has to be linear in the state and in the rows of values that loads bring.
tile::KernelOp addSummaries(tile::KernelOp chain, int64_t parts, llvm::StringRef name);

} // namespace recur::conversion
