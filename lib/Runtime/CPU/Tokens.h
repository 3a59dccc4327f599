// Tokens of which some are only tried: one after another, with the state after each in a row of a pool.
#pragma once
#include "Runtime/CPU/Parts.h"

namespace recur::runtime {

/// What a slot needs for it, behind a kernel's workspace: a place for each state that lies in no row as kernels have
/// it; of a tree one for what it begins with, and one for that after each of its tokens.
int64_t countTokenBytes(const Call &resolved);

/// Goes over the tokens of a head of a sequence as calls of one token each do, but that states are float32 between
/// them.
void runTokens(const Call &call, int64_t unit, int64_t tokens, char *workspace);

} // namespace recur::runtime
