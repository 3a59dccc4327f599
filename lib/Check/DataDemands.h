// What the equations of a recurrence want of the numbers that it is run on.
//
// Nothing is known of a recurrence but its equations, so its numbers are drawn by how they are used. What feeds an exp
// (a log decay) is negative; what is divided by or feeds a log or sqrt is positive, through products, sums and other
// states; a matrix that conjugate gradients solve with, or that a quadratic form in a divisor is of, is symmetric and
// positive definite. A key of a delta state is of unit length, and what it erases with is a gain.
#pragma once
#include "dialects/DGPS/DGPS.h"
#include <map>

namespace recur::check {

enum class Demand {
  None,
  Positive,
  Negative,
  PositiveDefinite,
  Logit,       // goes into a sigmoid or softplus
  Gain,        // scales how much a delta state erases: 0 .. 1, up to 2 on unit keys
  Key,         // of unit length along its last axis
  PositiveKey, // and no element negative
};

/// For each input, param and state of the recurrence of which anything is wanted, by name.
std::map<std::string, Demand> findDemands(dgps::RecurrenceOp recurrence);

} // namespace recur::check
