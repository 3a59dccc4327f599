// The whole of what the analysis finds, as text that is the same for every way to write a recurrence: sums and products
// are sorted by their text, and nothing depends on local names.
#pragma once
#include "Analysis/RecurrenceAnalysis.h"

namespace recur::property {

std::string printForm(analysis::RecurrenceAnalysis &analysis);

} // namespace recur::property
