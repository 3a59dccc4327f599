// Random arrays to check a recurrence on.
//
// Nothing is known of a recurrence but its equations, so its numbers are drawn by how they are used: what feeds an exp
// (a log decay) is drawn negative, what is divided by or feeds a log or sqrt positive, through products, sums and other
// states; a matrix that conjugate gradients solve with is drawn symmetric and positive definite. Everything else has
// either sign. Rows of vectors and matrices have about unit length, so that most recurrences neither vanish nor blow
// up.
#pragma once
#include "Interpreter/Data.h"

namespace recur::driver {

/// What the equations want of numbers.
enum class SignDemand { None, Positive, Negative, PositiveDefinite };

/// For each input, param and state of the recurrence, by name.
std::map<std::string, SignDemand> findSignDemands(dgps::RecurrenceOp recurrence);

/// The same seed gives the same numbers on every machine.
interpreter::Data makeRandomData(dgps::RecurrenceOp recurrence, const interpreter::Sizes &sizes, uint64_t seed);

} // namespace recur::driver
