// The judge: runs a dgps.recurrence token by token in float64. Every lowering is compared with it, so it is written to
// be read: it shares no code with them, and each op does what its description says in the plainest way.
#pragma once
#include "Data/Data.h"
#include "Interpreter/Disturbance.h"

namespace recur::interpreter {

/// Runs the recurrence. An error says what does not fit: a missing array, a shape, an op without a meaning for one
/// token.
llvm::Expected<data::Results> interpret(dgps::RecurrenceOp recurrence, const data::Data &data);

/// The largest magnitude of any value on the way, infinities too, and where the op stands that gives it.
struct LargestValue {
  double magnitude = 0;
  std::string where; // `line 7`, or the op's name where it has no place in a source
};
/// The same, and tells how large values get.
llvm::Expected<data::Results> interpret(dgps::RecurrenceOp recurrence, const data::Data &data, LargestValue &largest);

/// The same with errors like those of rounding. Terms that cancel are disturbed by themselves, so that the results say
/// what cancels, and whatever is ill-conditioned shows it.
llvm::Expected<data::Results> interpretDisturbed(dgps::RecurrenceOp recurrence, const data::Data &data,
                                                 const Disturbance &disturbance);

/// What a recurrence gives, and the derivative of that along a direction.
struct Derivative {
  data::Results values, slopes;
};

/// Runs the recurrence on numbers that carry their derivative: `direction` says how fast each input, param and initial
/// state changes, and the slopes how fast the results do. What the direction leaves out does not change. This is the
/// judge of gradients, and shares nothing with what derives them: dual numbers go from token to token as the values do.
/// With a disturbance the values have errors like those of rounding, and the slopes have their own.
llvm::Expected<Derivative> interpretAlong(dgps::RecurrenceOp recurrence, const data::Data &data,
                                          const data::Data &direction, const Disturbance &disturbance = {});

} // namespace recur::interpreter
