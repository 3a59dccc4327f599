// The recurrences of published layers, each in the forms that authors write them in: on which side the keys are, where
// the gains, the scale and the decay stand, how gates are made. Other than what is drawn at random, they are what users
// bring.
#pragma once
#include "property/RandomRecurrence.h"

namespace recur::property {

/// How many layers there are.
unsigned countLayers();
/// The layer of this number. `transposed`: its matrices have their keys as rows.
DrawnRecurrence makeLayer(unsigned number, bool transposed);

} // namespace recur::property
