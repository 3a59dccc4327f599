// What the processor that a program runs on has.
#pragma once
#include <cstdint>

namespace recur::runtime {

/// Whether this processor has all of these RECUR_FEATURE bits, and the system lets the program use them: the first time
/// that AMX is asked for, so is the system. False for a bit that this runtime does not know.
bool hasFeatures(uint32_t features);

/// Whether all that is missing of the bits is the system's permission to use AMX.
bool isAMXRefused(uint32_t features);

/// A target for every processor that kernels are made in vectors for, of this one's architecture.
extern const char *const lowerTarget;

} // namespace recur::runtime
