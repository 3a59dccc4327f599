// Sums of parts of gradients, by a launch of their own, always in the same order.
#pragma once
#include "Runtime/CUDA/Launch.h"

namespace recur::runtime {

/// What is summed into an array: so many slices, each so many elements behind the one before it. Strides are over
/// sequences, tokens and heads, of which the result has so many as the array says.
struct Slices {
  const char *data;
  int32_t dtype; // recur_dtype
  int64_t count, stride;
  int64_t strides[3];
};

/// Into an array of the call, whose data and strides are those of the tokens that it is for; adding to what is there,
/// or not. Of packed sequences whose offsets are given, tokens outside of all of them are left alone.
recur_status putSum(const Device &device, const Call &resolved, const Argument &sum, const Slices &slices, bool adds,
                    const int64_t *offsets = nullptr);

/// Makes zeros of so many float32 numbers.
recur_status putZeros(const Device &device, const Call &resolved, char *data, int64_t count);

} // namespace recur::runtime
