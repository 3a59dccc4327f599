// Hands each head of each sequence to a kernel, or each segment of it.
#include "Runtime/CPU/Features.h"
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/Parts.h"
#include "Runtime/CPU/Segments.h"
#include "Runtime/CPU/ThreadPool.h"
#include "Runtime/CPU/Tokens.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

namespace {

/// Heads of sequences whose segments are worked on together, step by step.
struct Wave {
  static constexpr int64_t mostUnits = 256;
  int64_t firstUnit, unitCount;
  int64_t firstRecord[mostUnits];
};

/// How many tasks a unit of so many segments has.
using Counter = int64_t (*)(int64_t segments);

/// Tasks that may run at the same time. What a task computes does not depend on the slot that runs it.
struct Tasks {
  const Call *call;
  void (*run)(const Tasks &tasks, int64_t task, char *workspace);
  int64_t count;
  const Wave *wave = nullptr;
  int32_t summary = 0;
  Counter counter = nullptr; // of a wave's tasks
  int64_t next = 0;          // the first that no slot has taken
};

/// A task of a wave: a segment of a unit.
struct Place {
  int64_t inWave, segment;
};

} // namespace

/// Takes tasks until none is left. All that computes is called from here, on whatever thread.
static void runSlot(void *context, int64_t slot) {
  KernelFloatMode mode;
  Tasks &tasks = *static_cast<Tasks *>(context);
  const Call &call = *tasks.call;
  char *workspace = static_cast<char *>(call.call->workspace);
  if (workspace)
    workspace += slot * call.slotBytes;
  for (int64_t task; (task = __atomic_fetch_add(&tasks.next, 1, __ATOMIC_RELAXED)) < tasks.count;)
    tasks.run(tasks, task, workspace);
}

/// Returns when all tasks are done.
static void runTasks(Tasks tasks) {
  const recur_call *call = tasks.call->call;
  int64_t slots = tasks.count < tasks.call->slots ? tasks.count : tasks.call->slots;
  if (slots == 0)
    return;
  if (call->parallel_for)
    call->parallel_for(call->parallel_context, slots, runSlot, &tasks);
  else
    runOnPool(slots, runSlot, &tasks);
}

static int64_t getTokens(const Call &call, int64_t unit) { return getSequence(call, unit / call.heads).tokens; }

static void runUnit(const Tasks &tasks, int64_t unit, char *workspace) {
  const Call &call = *tasks.call;
  int64_t tokens = getTokens(call, unit);
  if (goesByTokens(*call.call))
    return runTokens(call, unit, tokens, workspace);
  runPart(call, {unit, 0, tokens}, *chooseKernel(call.recurrence, call.plan, tokens), workspace);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

static char *getRecord(const Tasks &tasks, Place place) {
  const Call &call = *tasks.call;
  return static_cast<char *>(call.call->workspace) + call.slots * call.slotBytes +
         (tasks.wave->firstRecord[place.inWave] + place.segment - 1) * call.recordBytes;
}

static int64_t countSegments(const Tasks &tasks, int64_t inWave) {
  return countSegments(tasks.call->cut, getTokens(*tasks.call, tasks.wave->firstUnit + inWave));
}

static Part getPart(const Tasks &tasks, Place place) {
  int64_t unit = tasks.wave->firstUnit + place.inWave;
  Segment segment = getSegment(tasks.call->cut, getTokens(*tasks.call, unit), place.segment);
  return {unit, segment.begin, segment.tokens};
}

/// The first segment is run; those between it and the last are summarised.
static int64_t countFirstTasks(int64_t segments) { return segments > 1 ? segments - 1 : 0; }
static int64_t countOnlyFirst(int64_t segments) { return segments > 1 ? 1 : 0; }
static int64_t countSummaries(int64_t segments) { return segments > 1 ? segments - 2 : 0; }
static int64_t countApplications(int64_t segments) { return segments > 1 ? 1 : 0; }
static int64_t countLastTasks(int64_t segments) { return segments > 1 ? segments - 1 : 1; }

/// The task's unit, and its place among those of the unit.
static Place findPlace(const Tasks &tasks, int64_t task) {
  int64_t inWave = 0;
  for (int64_t count; task >= (count = tasks.counter(countSegments(tasks, inWave))); ++inWave)
    task -= count;
  return {inWave, task};
}

static void summarise(const Tasks &tasks, Place place, char *workspace) {
  const recur_kernel_info &kernel = *tasks.call->segmented;
  runSummary(*tasks.call, getPart(tasks, place), kernel.summaries[tasks.summary], getRecord(tasks, place), workspace);
}

static void runFirstTask(const Tasks &tasks, int64_t task, char *workspace) {
  Place place = findPlace(tasks, task);
  if (place.segment > 0)
    return summarise(tasks, place, workspace);
  Part part = getPart(tasks, place);
  part.after = getRecord(tasks, {place.inWave, 1});
  part.isLast = false;
  runPart(*tasks.call, part, *tasks.call->segmented, workspace);
}

static void runSummaryTask(const Tasks &tasks, int64_t task, char *workspace) {
  Place place = findPlace(tasks, task);
  ++place.segment;
  summarise(tasks, place, workspace);
}

/// Goes through the summaries of one unit in order.
static void runApplicationTask(const Tasks &tasks, int64_t task, char *workspace) {
  Place place = findPlace(tasks, task);
  int64_t segments = countSegments(tasks, place.inWave);
  for (place.segment = 1; place.segment + 1 < segments; ++place.segment)
    applySummary(*tasks.call, tasks.call->segmented->summaries[tasks.summary], getRecord(tasks, place),
                 getRecord(tasks, {place.inWave, place.segment + 1}), workspace);
}

static void runLastTask(const Tasks &tasks, int64_t task, char *workspace) {
  Place place = findPlace(tasks, task);
  int64_t segments = countSegments(tasks, place.inWave);
  if (segments == 1)
    return runUnit(tasks, tasks.wave->firstUnit + place.inWave, workspace);
  ++place.segment;
  Part part = getPart(tasks, place);
  part.before = getRecord(tasks, place);
  part.isLast = place.segment + 1 == segments;
  runPart(*tasks.call, part, *tasks.call->segmented, workspace);
}

/// Takes as many units as there are records for.
static Wave makeWave(const Call &call, int64_t firstUnit, int64_t units) {
  Wave wave;
  wave.firstUnit = firstUnit;
  wave.unitCount = 0;
  for (int64_t records = 0; wave.unitCount < Wave::mostUnits && firstUnit + wave.unitCount < units; ++wave.unitCount) {
    wave.firstRecord[wave.unitCount] = records;
    records += countSegments(call.cut, getTokens(call, firstUnit + wave.unitCount)) - 1;
    if (records > call.records)
      break;
  }
  return wave;
}

static void runWave(const Call &call, const Wave &wave) {
  auto run = [&](Counter counter, void (*run)(const Tasks &, int64_t, char *), int32_t summary = 0) {
    Tasks tasks{&call, run, 0, &wave, summary, counter};
    for (int64_t i = 0; i < wave.unitCount; ++i)
      tasks.count += counter(countSegments(tasks, i));
    runTasks(tasks);
  };
  // Without states there is nothing to summarise.
  run(call.segmented->summary_count ? countFirstTasks : countOnlyFirst, runFirstTask);
  for (int32_t summary = 0; summary < call.segmented->summary_count; ++summary) {
    if (summary > 0) // by then the states that it needs are known
      run(countSummaries, runSummaryTask, summary);
    run(countApplications, runApplicationTask, summary);
  }
  run(countLastTasks, runLastTask);
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

static bool canRun(const recur_recurrence *recurrence) { return hasFeatures(recurrence->features); }

static recur_status refuse(const recur_recurrence *recurrence) {
  if (isAMXRefused(recurrence->features))
    return fail(RECUR_WRONG_MACHINE,
                "%s was compiled for '%s', and the system does not let this program use AMX (arch_prctl with "
                "ARCH_REQ_XCOMP_PERM fails); build with a --target without it, such as x86-64-v4, or with several",
                recurrence->name, recurrence->target);
  return fail(RECUR_WRONG_MACHINE,
              "%s was compiled for '%s', and this processor lacks instructions of it; build with a lower --target, "
              "such as %s",
              recurrence->name, recurrence->target, lowerTarget);
}

static void plan(Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const recur_call *call = resolved.call;
  int64_t units = resolved.sequences * resolved.heads;
  int64_t threads = call->threads ? call->threads : recur_thread_count();
  if (!goesByTokens(*call))
    resolveSegments(resolved);
  if (resolved.segmented && units) // every segment may be worked on by itself
    units = units < INT64_MAX / (mostSegments + 1) ? units * (mostSegments + 1) : INT64_MAX;
  resolved.slots = units < threads ? units : threads;
  resolved.slotBytes = getKernelBytes(recurrence, resolved.plan, resolved.segmented);
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &info = recurrence->arrays[i];
    if (info.kind == RECUR_STATE && ((call->states_transposed && info.rank == 2) || info.dtype != RECUR_F32))
      resolved.slotBytes += countFloatBytes(info);
  }
  if (goesByTokens(*call) || call->interval)
    resolved.slotBytes += countTokenBytes(resolved);
}

static recur_status execute(const Call &resolved) {
  int64_t units = resolved.sequences * resolved.heads;
  if (resolved.cut.rest == 0) {
    runTasks({&resolved, runUnit, units});
    return RECUR_OK;
  }
  for (int64_t unit = 0; unit < units;) {
    Wave wave = makeWave(resolved, unit, units);
    runWave(resolved, wave);
    unit += wave.unitCount;
  }
  return RECUR_OK;
}

static recur_status checkPools(const Call &resolved) {
  const recur_call &call = *resolved.call;
  return checkIndices(resolved, {call.state_indices, call.final_indices, call.token_indices, call.accepted,
                                 call.interval_indices, call.positions, call.parents, call.sequence_offsets});
}

const Machine recur::runtime::processors = {canRun, refuse, plan, execute, nullptr, checkPools};
