// The runtime's own threads.
#pragma once
#include <cstdint>

namespace recur::runtime {

/// Runs body(context, i) for each i below `count` on this thread and those of the pool, and returns when all are done.
/// The thread that calls takes part, so this ends even where the pool has no threads or all of them are busy.
void runOnPool(int64_t count, void (*body)(void *context, int64_t index), void *context);

/// Those that this program may use, at least 1.
int32_t countProcessors();
/// The number, from 1 to 1024, that an environment variable says; 0 when it says none.
int32_t readCount(const char *variable);

} // namespace recur::runtime
