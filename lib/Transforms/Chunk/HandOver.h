// What launches of a call forward leave to each other, and those of its gradient take in place of making it again.
#pragma once
#include "dialects/Chunk/ChunkPhases.h"

namespace recur::chunk {

/// Divides by the scales of systems as the gradient does, in their matrices alone: a row whose scale is zero has then
/// what the gradient divides by it, and adds as good as nothing to other rows.
void keepMatricesFromZero(ProgramOp program);

/// Says of arrays that the phases leave what their numbers are; not of those that are cut into parts, or are there for
/// some calls alone.
void findMeanings(Phases &described, llvm::ArrayRef<ProgramOp> phases);

/// Lets phases of a gradient take what was offered where they would leave the same to each other, or multiply with it
/// what they get by products. Phases with nothing left to do are erased. `roundsFactors`: what is left rounded is left
/// in 16 bits. Gives what they take, by the names that they have for it.
std::vector<LeftArray> takeHanded(llvm::SmallVectorImpl<ProgramOp> &phases, llvm::ArrayRef<LeftArray> offered,
                                  bool roundsFactors);

} // namespace recur::chunk
