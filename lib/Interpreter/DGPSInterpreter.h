// The judge: runs a dgps.recurrence token by token in float64. Every lowering is compared with it, so it is written to
// be read: it shares no code with them, and each op does what its description says in the plainest way.
#pragma once
#include "Interpreter/Data.h"

namespace recur::interpreter {

/// Runs the recurrence. An error says what does not fit: a missing array, a shape, an op without a meaning for one
/// token.
llvm::Expected<Results> interpret(dgps::RecurrenceOp recurrence, const Data &data);

} // namespace recur::interpreter
