// PyTorch's threads in place of the runtime's own.
#pragma once
#include "recur/Runtime.h"
#include <nanobind/nanobind.h>
#include <string>

namespace recur::python {

/// Has calls on PyTorch's tensors run on the threads of the OpenMP that `library`, PyTorch's own, is linked with, as
/// many as `countThreads()` says when the call is made: these have just computed what comes before it and are awake,
/// and two sets of threads would be in each other's way. False where there is no such OpenMP.
bool useTeam(const std::string &library, nanobind::object countThreads);

/// Has this call run there. Nothing changes where there are no such threads, where RECUR_THREADS or set_thread_count
/// says how many the runtime's own are, and in a forked process, which has none of OpenMP's.
void joinTeam(recur_call &call);

/// As recur_set_thread_count, after which no call runs on PyTorch's threads.
bool setThreadCount(int32_t count);

} // namespace recur::python
