// States on the way that a call on a GPU leaves for whoever goes on from there: by one launch, or a row after the
// other.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// The kernel that leaves the states before every token, or after each in its row of a pool, in one launch; null where
/// the call asks for something else, or for a plan that has none.
const recur_kernel_info *findKeeper(const Call &resolved);

/// The words of such a kernel's array for a state; zeros where the call keeps none.
void fillKept(int64_t *words, const Call &resolved, int32_t state);

/// What a CTA needs for the states that several tokens of a tree begin with, at the end of its workspace; and what
/// kernels are told of trees.
int64_t countForkBytes(const Call &resolved);
void fillTrees(int64_t *words, const Call &resolved);

/// The bytes that a kernel's launches need where they go from row to row, as arrangePhases counts them.
int64_t countRowBytes(const Call &resolved, const recur_kernel_info &kernel);

/// Runs the call from row to row: each piece begins with a row's states, and ends with those of the next. Sequences of
/// one length go together, packed ones one after another.
recur_status runByRows(const Call &resolved, recur_status (*run)(const Call &piece));

} // namespace recur::runtime
