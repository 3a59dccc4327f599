#include "Team.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

namespace nb = nanobind;
using namespace recur::python;

/// What compilers call where a parallel region begins; every OpenMP library has it.
using RunRegion = void (*)(void (*body)(void *), void *context, unsigned threads, unsigned flags);

namespace {
struct Team {
  RunRegion run;
  nb::object countThreads;
};

/// A parallel_for as a region.
struct Region {
  void (*body)(void *, int64_t);
  void *context;
  int64_t count;
  std::atomic<int64_t> next = 0;
};
} // namespace

/// Leaked, for modules are gone before what lies in static memory.
static Team *team;
static std::atomic<bool> isTeamLeft = false;

static void runRegion(void *context) {
  Region &region = *static_cast<Region *>(context);
  for (int64_t i; (i = region.next.fetch_add(1, std::memory_order_relaxed)) < region.count;)
    region.body(region.context, i);
}

/// OpenMP may start fewer threads than it is asked for, so that each takes what is left.
static void runOnTeam(void *, int64_t count, void (*body)(void *, int64_t), void *context) {
  if (count == 1)
    return body(context, 0);
  Region region{body, context, count};
  team->run(runRegion, &region, unsigned(count), 0);
}

bool recur::python::useTeam(const std::string &library, nb::object countThreads) {
  // Found among what PyTorch is linked with: a process may have several.
  void *handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  auto run = reinterpret_cast<RunRegion>(handle ? dlsym(handle, "GOMP_parallel") : nullptr);
  if (!run)
    return false;
  if (const char *own = getenv("RECUR_THREADS"); own && *own)
    isTeamLeft = true;
  pthread_atfork(nullptr, nullptr, [] { isTeamLeft = true; });
  team = new Team{run, std::move(countThreads)};
  return true;
}

void recur::python::joinTeam(recur_call &call) {
  if (!team || isTeamLeft)
    return;
  nb::object count = nb::steal(PyObject_Vectorcall(team->countThreads.ptr(), nullptr, 0, nullptr));
  long threads = count.is_valid() ? PyLong_AsLong(count.ptr()) : 0;
  if (PyErr_Occurred())
    PyErr_Clear();
  if (threads < 1)
    return;
  if (!call.threads)
    call.threads = int32_t(threads);
  call.parallel_for = runOnTeam;
}

bool recur::python::setThreadCount(int32_t count) {
  bool isSet = recur_set_thread_count(count) != 0;
  if (isSet)
    isTeamLeft = true;
  return isSet;
}
