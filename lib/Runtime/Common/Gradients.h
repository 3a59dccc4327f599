// What calls backward have in common on whatever machine.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// The arguments of a call backward by what they are.
struct GradientArguments {
  int32_t inputs = 0, params = 0, states = 0, outputs = 0;
  const Argument *input, *param, *initial, *outputCotangent, *finalCotangent, *inputGradient, *paramGradient,
      *initialGradient;

  explicit GradientArguments(const Call &call);
};

/// Whether there is no gradient of it, for it was left out of the build.
bool isLeftOut(const recur_recurrence *recurrence, const recur_array_info *info);
/// What is carried: a state by its place, or -1 less the place of a param.
const recur_array_info &getCarriedInfo(const recur_recurrence *recurrence, int32_t carried);
/// Whether states are computed again from the initial ones.
bool needsStates(const Call &call);
/// Whether the call forward kept the states of each chunk, or handed them over.
bool hasAllKept(const Call &call);
/// The recur_dtype of a state, by its place in the gradient's `kept`, as launches of a GPU have it.
int32_t getKeptType(const recur_gradient_info &gradient, int32_t place);
/// The place of a state in the gradient's `kept`; less than 0 where it is not there.
int32_t findKeptPlace(const recur_gradient_info &gradient, int32_t state);
/// Whether cotangents of states go from a segment to the one before it.
bool carriesStates(const recur_recurrence *recurrence);
/// The bytes of inputs, outputs and states, their cotangents and their gradients; about that many, where it is too many
/// to count.
double countGradientBytes(const Call &call);

} // namespace recur::runtime
