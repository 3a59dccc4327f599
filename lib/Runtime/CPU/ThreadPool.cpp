// Plain pthreads, and nothing of the C++ library that must be linked: C programs link this with their C compiler.
#include "Runtime/CPU/ThreadPool.h"
#include "Runtime/Common/Message.h"
#include "recur/Runtime.h"
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace {

/// One runOnPool, on the stack of its caller; indices are handed out under the pool's mutex, for each is long.
struct Job {
  void (*body)(void *, int64_t);
  void *context;
  int64_t count;
  int64_t next = 0;    // the first index that nobody has taken
  int64_t running = 0; // taken and not finished
  Job *after = nullptr;
};

constexpr int32_t mostThreads = 1024;

struct Pool {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t hasWork = PTHREAD_COND_INITIALIZER;
  pthread_cond_t isFinished = PTHREAD_COND_INITIALIZER;
  Job *jobs = nullptr;    // those with indices that nobody has taken
  int32_t threads = 0;    // with the caller's; 0: not decided
  int32_t started = 0;    // workers
  bool isStarted = false; // or has been tried
  bool stops = false;
  pid_t process = 0; // that started the workers: a fork's child has none
  pthread_t workers[mostThreads];
};

Pool pool; // constant-initialised, and never destroyed: other threads and destructors may still be in a call

} // namespace

using recur::runtime::countProcessors;
using recur::runtime::readCount;

int32_t recur::runtime::countProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return 1;
  int32_t count = CPU_COUNT(&set);
  return count < 1 ? 1 : count > mostThreads ? mostThreads : count;
}

int32_t recur::runtime::readCount(const char *variable) {
  const char *text = getenv(variable);
  if (!text)
    return 0;
  char *end;
  long count = strtol(text, &end, 10);
  if (*text && !*end && count >= 1 && count <= mostThreads)
    return int32_t(count);
  if (*text)
    recur::runtime::warnOfVariable(variable, text, "it takes a whole number from 1 to %d", int(mostThreads));
  return 0;
}

/// The caller holds the mutex.
static int32_t decideThreads() {
  if (!pool.threads)
    pool.threads = readCount("RECUR_THREADS");
  if (!pool.threads)
    pool.threads = countProcessors();
  return pool.threads;
}

static void removeJob(Job *job) {
  Job **link = &pool.jobs;
  while (*link && *link != job)
    link = &(*link)->after;
  if (*link)
    *link = job->after;
}

/// Takes one index of the job and runs it. The mutex is held before and after.
static void runOne(Job *job) {
  int64_t index = job->next++;
  ++job->running;
  if (job->next == job->count)
    removeJob(job);
  pthread_mutex_unlock(&pool.mutex);
  job->body(job->context, index);
  pthread_mutex_lock(&pool.mutex);
  if (--job->running == 0 && job->next == job->count)
    pthread_cond_broadcast(&pool.isFinished);
}

static void *work(void *) {
  pthread_mutex_lock(&pool.mutex);
  while (!pool.stops) {
    if (pool.jobs)
      runOne(pool.jobs);
    else
      pthread_cond_wait(&pool.hasWork, &pool.mutex);
  }
  pthread_mutex_unlock(&pool.mutex);
  return nullptr;
}

static void stopWorkers() {
  if (pool.process != getpid())
    return;
  pthread_mutex_lock(&pool.mutex);
  pool.stops = true;
  pthread_cond_broadcast(&pool.hasWork);
  int32_t count = pool.started;
  pool.started = 0;
  pthread_mutex_unlock(&pool.mutex);
  for (int32_t i = 0; i < count; ++i)
    pthread_join(pool.workers[i], nullptr);
}

static void lockPool() { pthread_mutex_lock(&pool.mutex); }
static void unlockPool() { pthread_mutex_unlock(&pool.mutex); }

/// A fork's child has none of the workers, and starts its own when it needs them.
static void forgetWorkers() {
  pool.mutex = PTHREAD_MUTEX_INITIALIZER;
  pool.hasWork = PTHREAD_COND_INITIALIZER;
  pool.isFinished = PTHREAD_COND_INITIALIZER;
  pool.jobs = nullptr;
  pool.started = 0;
  pool.isStarted = false;
}

/// With the mutex held. Fewer workers than wanted are no error: the caller does what they do not.
static void startWorkers() {
  if (pool.isStarted)
    return;
  if (pool.process == 0)
    pthread_atfork(lockPool, unlockPool, forgetWorkers);
  pool.isStarted = true;
  pool.process = getpid();
  int32_t wanted = decideThreads() - 1;
  while (pool.started < wanted && pthread_create(&pool.workers[pool.started], nullptr, work, nullptr) == 0)
    ++pool.started;
  if (pool.started)
    atexit(stopWorkers);
}

void recur::runtime::runOnPool(int64_t count, void (*body)(void *, int64_t), void *context) {
  if (count <= 0)
    return;
  if (count == 1)
    return body(context, 0);
  Job job{body, context, count};
  pthread_mutex_lock(&pool.mutex);
  startWorkers();
  Job **last = &pool.jobs;
  while (*last)
    last = &(*last)->after;
  *last = &job;
  pthread_cond_broadcast(&pool.hasWork);
  while (job.next < job.count)
    runOne(&job);
  while (job.running)
    pthread_cond_wait(&pool.isFinished, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

int32_t recur_thread_count(void) {
  pthread_mutex_lock(&pool.mutex);
  int32_t count = decideThreads();
  pthread_mutex_unlock(&pool.mutex);
  return count;
}

int32_t recur_set_thread_count(int32_t count) {
  if (count < 1 || count > mostThreads)
    return 0;
  pthread_mutex_lock(&pool.mutex);
  bool isFree = !pool.isStarted;
  if (isFree)
    pool.threads = count;
  pthread_mutex_unlock(&pool.mutex);
  return isFree;
}
