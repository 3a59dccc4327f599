// What a compiled stage rounds to, on its way and at its end.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::check {

struct RoundedTypes {
  DataType factors;  // of products
  DataType coarsest; // of factors, and of what is written
  bool hasF16;       // whose range is the smallest
  bool tf32 = false; // factors are tf32, with the digits of f16, which `factors` is, and the range of f32
};

/// `backward`: of the gradient, which writes what inputs and params have the types of.
llvm::Expected<RoundedTypes> findRoundedTypes(dgps::RecurrenceOp recurrence, const PipelineOptions &options,
                                              bool backward = false);

} // namespace recur::check
