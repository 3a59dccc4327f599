// States that a call forward on a GPU hands over to the one backward: its launches leave them by the way.
#pragma once
#include "Runtime/CUDA/Launch.h"

namespace recur::runtime {

/// Decides what workspace such a call needs.
void planHandOver(Call &resolved);

/// Puts its launches into the stream.
recur_status runHandingOver(const Device &device, const Call &resolved);

} // namespace recur::runtime
