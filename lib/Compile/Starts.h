// What states start as, as a recurrence of its own, whose kernels the runtime runs where a caller gives no initial
// state.
#pragma once
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::compile {

/// A recurrence, by itself in a module, without inputs and outputs: all params, and the states that do not start as
/// zero, which one token makes what they start as. Null where all states start as zero.
mlir::OwningOpRef<mlir::ModuleOp> makeStarts(dgps::RecurrenceOp recurrence);

/// The recurrence in such a module.
dgps::RecurrenceOp getStarts(mlir::ModuleOp module);

/// The options with the gradients that those of params are made of, where states start as something of these params.
PipelineOptions completeGradients(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

/// Those of the gradients that are of what makes the starts.
PipelineOptions restrictGradients(dgps::RecurrenceOp starts, const PipelineOptions &pipeline);

} // namespace recur::compile
