// What the equations of a recurrence want of the numbers that it is run on.
//
// Nothing is known of a recurrence but its equations, so its numbers are drawn by how they are used. What feeds an exp
// (a log decay) is negative; what is divided by or feeds a log or sqrt is positive, through products, sums and other
// states; a matrix that conjugate gradients solve with, or that a quadratic form in a divisor is of, is symmetric and
// positive definite. A key of a delta state is of unit length, and what it erases with is a gain.
#pragma once
#include "Data/DrawnData.h"
#include <map>

namespace recur::check {

using Demands = std::map<std::string, data::Fill>;

/// For each input, param and state of the recurrence of which anything is wanted, by name.
Demands findDemands(dgps::RecurrenceOp recurrence);

} // namespace recur::check
