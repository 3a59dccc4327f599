// What states start as where the caller gives no initial state: the `start` of a recurrence is another one, without
// inputs, which makes it of the params as its final states after one token.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Where what a call needs for its starts lies, in bytes from the end of its other workspace.
struct StartLayout {
  int64_t gradients; // of the initial states, behind these states themselves; of a call backward, as what follows
  int64_t params;    // what the starts add to the gradients of params
  int64_t workspace; // of the recurrence that makes the starts
  int64_t end;       // less than 0: too large
};
StartLayout makeStartLayout(const Call &resolved);

/// The state of `resolved` that a state of its start stands for, by its role; null where there is none.
Argument *findStart(Call &resolved, Role role, const recur_array_info &state);
const Argument *findStart(const Call &resolved, Role role, const recur_array_info &state);

/// A call of the recurrence that makes the starts, without its arguments.
recur_call describeStarts(const Call &resolved);
/// The workspace for the starts, behind all else.
char *getStartSpace(const Call &resolved);
/// Whether the initial state was left to the recurrence, and made in the workspace.
bool isMade(const Call &resolved, const Argument &initial);

/// The workspace that the starts need; an error where it is too large.
recur_status planStarts(Call &resolved);
/// Makes the initial states that the caller left out and that are not zero. Of a call backward gives their gradients a
/// place, where those of params need them.
recur_status provideStarts(Call &resolved);
/// Adds to the gradients of params what they have to do with the starts.
recur_status addStartGradients(const Call &resolved);

} // namespace recur::runtime
