// What states start as, for the levels below a recurrence, which take all initial states from their caller.
#pragma once
#include "Data/Data.h"
#include "Target/DataTypes.h"
#include "dialects/DGPS/DGPS.h"
#include <optional>

namespace recur::check {

/// The data with the initial states that they leave out and that do not start as zero; rounded to `types`, as kernels
/// have them.
llvm::Expected<data::Data> completeStarts(dgps::RecurrenceOp recurrence, const data::Data &data,
                                          const std::optional<DataTypes> &types = std::nullopt);

/// The gradient of data that leave initial states out, of that of the completed data: what starts are made of gets a
/// part of theirs. The starts' gradients are derived as those of the recurrence are.
llvm::Expected<data::Data> addStartGradients(dgps::RecurrenceOp recurrence, const data::Data &data,
                                             data::Data gradient);

} // namespace recur::check
