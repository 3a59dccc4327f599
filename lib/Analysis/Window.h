// States that are the last tokens of something.
#pragma once
#include "dialects/DGPS/DGPS.h"
#include <optional>

namespace recur::analysis {

/// Of how many tokens a state holds the last ones, where nothing but single rows of it is read: each token moves the
/// rows by one, drops the oldest and puts its own behind them. So a chunk copies rows, and has no loop over its tokens.
std::optional<int64_t> findWindow(dgps::StateOp state);

} // namespace recur::analysis
