// The rows of pools, whose indices lie in memory of a GPU.
#pragma once
#include "Runtime/Common/Call.h"

namespace recur::runtime {

/// Where the call asks for it, waits for its stream, brings the indices here and checks them.
recur_status checkPools(const Call &resolved);

} // namespace recur::runtime
