// The types that a caller asks for, against the arrays that recurrences have.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// Whether each name that has a type of its own is that of an array of one of the recurrences, and of no two.
llvm::Error checkArrayTypes(llvm::ArrayRef<dgps::RecurrenceOp> recurrences, const DataTypes &types);

} // namespace recur::compile
