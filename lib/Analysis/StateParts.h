// States that threads hold, of which several CTAs have a part each: some indices of the dimension over which no op
// sums. Each of them computes what depends on no state as a whole, and of what the states give its own indices alone.
// So nothing of a head may be made of all of these, and nothing but the parts be stored.
#pragma once
#include "Analysis/HeldStates.h"

namespace recur::analysis {

/// On a kernel: so many CTAs have a head.
constexpr llvm::StringLiteral statePartsAttribute = "tile.state_parts";

/// 1 where a CTA has whole heads.
int64_t getStateParts(tile::KernelOp kernel);

bool haveParts(tile::KernelOp kernel, const HeldStates &held);

} // namespace recur::analysis
