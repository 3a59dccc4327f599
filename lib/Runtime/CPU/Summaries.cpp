// Summaries of parts of sequences as calls of their own, for whoever has the parts of a sequence on several machines.
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/GradientTask.h"
#include "Runtime/CPU/Parts.h"
#include "Runtime/CPU/ThreadPool.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"
#include <cstring>

using namespace recur::runtime;

namespace {

/// A call whose sizes were checked, and the summary that it is about.
struct SummaryCall {
  Call resolved;
  recur_call own; // the caller's, with the plan that is used
  const recur_summary_info *info = nullptr;
  int64_t mapSize = 0, stateSize = 0; // float32 numbers of a head of a sequence

  float *getMap(const recur_summary &summary, int64_t unit) const { return summary.maps + unit * mapSize; }
  float *getOffset(const recur_summary &summary, int64_t unit) const { return summary.offsets + unit * stateSize; }
  bool hasBackwardMap() const { return GradientTask::isTropical(*info); }
  int64_t countUnits() const { return resolved.sequences * resolved.heads; }
};

/// What runs for each task, which is a head of a sequence, or the heads of one that share inputs.
struct Tasks {
  const SummaryCall *call;
  void (*run)(const Tasks &tasks, int64_t task, char *workspace);
  int64_t count;
  recur_summary first = {}, second = {}, result = {};
  const float *states = nullptr;
  float *after = nullptr;
  bool isBackward = false;
  int64_t next = 0; // the first that no slot has taken
};

} // namespace

static void runSlot(void *context, int64_t slot) {
  KernelFloatMode mode;
  Tasks &tasks = *static_cast<Tasks *>(context);
  char *workspace = static_cast<char *>(tasks.call->own.workspace);
  if (workspace)
    workspace += slot * tasks.call->resolved.slotBytes;
  for (int64_t task; (task = __atomic_fetch_add(&tasks.next, 1, __ATOMIC_RELAXED)) < tasks.count;)
    tasks.run(tasks, task, workspace);
}

static recur_status runTasks(Tasks tasks) {
  const Call &resolved = tasks.call->resolved;
  const recur_call &call = tasks.call->own;
  int64_t slots = tasks.count < resolved.slots ? tasks.count : resolved.slots;
  if (slots > 0 && call.parallel_for)
    call.parallel_for(call.parallel_context, slots, runSlot, &tasks);
  else if (slots > 0)
    runOnPool(slots, runSlot, &tasks);
  return RECUR_OK;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static int32_t countStates(const recur_recurrence *recurrence) {
  int32_t states = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    states += recurrence->arrays[i].kind == RECUR_STATE;
  return states;
}

/// The kernel whose summaries calls use; null where there is none, and an error says why.
static const recur_kernel_info *findSummaries(const recur_recurrence *recurrence, recur_status &status) {
  status = checkRecurrence(recurrence);
  if (status)
    return nullptr;
  const recur_recurrence *selected = recur_select(recurrence);
  if (!selected) {
    status = checkDevice(recurrence, RECUR_CPU);
    return nullptr;
  }
  const recur_kernel_info *kernel = findSegmentKernel(selected);
  if (!kernel)
    status = fail(RECUR_NO_PLAN,
                  "%s has no summaries: it has no kernel of plan 'segment', because a state's update is no map that "
                  "chunks can be summarised by, or because it was built for another plan alone; recurc explain says "
                  "which state it is",
                  recurrence->name);
  return kernel;
}

static recur_status findSummary(const recur_recurrence *recurrence, int32_t summary, const recur_summary_info *&info) {
  recur_status status;
  const recur_kernel_info *kernel = findSummaries(recurrence, status);
  if (!kernel)
    return status;
  if (summary < 0 || summary >= kernel->summary_count)
    return fail(RECUR_BAD_SIZE, "%s: there is no summary of the number %d; there are %d", recurrence->name,
                int(summary), int(kernel->summary_count));
  info = &kernel->summaries[summary];
  return RECUR_OK;
}

/// The most numbers that a matrix of a summary has.
static int64_t countMatrix(const recur_kernel_info &kernel) {
  int64_t most = 0;
  for (int32_t i = 0; i < kernel.summary_count; ++i) {
    int64_t side = kernel.summaries[i].map_side;
    most = side * side > most ? side * side : most;
  }
  return most;
}

/// Checks sizes and finds the workspace. Forward each slot has that of a kernel, a matrix, and the states before the
/// part; backward it is that of a gradient that is not cut.
static recur_status resolve(SummaryCall &call, const recur_recurrence *recurrence, const recur_call *given,
                            bool isBackward) {
  recur_status status;
  const recur_kernel_info *kernel = findSummaries(recurrence, status);
  if (!kernel)
    return status;
  if (!given)
    return fail(RECUR_NULL_POINTER, "%s: the call is null", recurrence->name);
  if (given->device != RECUR_CPU)
    return fail(RECUR_NO_PLAN, "%s: summaries are made on processors; the device must be RECUR_CPU", recurrence->name);
  if (hasPools(*given))
    return fail(RECUR_NO_PLAN, "%s: summaries are of states of the call's own sequences, not of rows of pools",
                recurrence->name);
  call.own = *given;
  call.own.kept_interval = 0;
  call.own.plan = isBackward ? RECUR_PLAN_CHUNK : RECUR_PLAN_SEGMENT;
  Call &resolved = call.resolved;
  resolved.isBackward = isBackward;
  if (recur_status bad = resolveSizes(resolved, recurrence, &call.own))
    return bad;
  resolved.startBytes = 0; // states before a part are given, or not needed
  if (isBackward) {
    resolved.records = 0; // no gradients of params are added up
    return RECUR_OK;
  }
  resolved.segmented = kernel;
  resolved.cut = {};
  resolved.records = 0;
  int64_t threads = given->threads ? given->threads : recur_thread_count();
  resolved.slots = call.countUnits() < threads ? call.countUnits() : threads;
  resolved.slotBytes = roundUp(kernel->workspace_bytes) + roundUp(countMatrix(*kernel) * int64_t(sizeof(float)));
  for (int32_t i = 0; i < countStates(resolved.recurrence); ++i)
    resolved.slotBytes += countFloatBytes(getStateInfo(resolved.recurrence, i));
  return RECUR_OK;
}

static recur_status resolve(SummaryCall &call, const recur_recurrence *recurrence, const recur_call *given,
                            int32_t summary, bool isBackward) {
  if (recur_status status = findSummary(recurrence, summary, call.info))
    return status;
  if (recur_status status = resolve(call, recurrence, given, isBackward))
    return status;
  call.mapSize = countMapNumbers(call.resolved.recurrence, *call.info);
  call.stateSize = countElements(getStateInfo(call.resolved.recurrence, call.info->state));
  return RECUR_OK;
}

static recur_status checkWorkspace(const SummaryCall &call) {
  const char *name = call.resolved.recurrence->name;
  int64_t needed = countWorkspaceBytes(call.resolved);
  if (needed && !call.own.workspace)
    return fail(RECUR_NULL_POINTER, "%s: the workspace is null; %lld bytes are needed", name, (long long)needed);
  if (call.own.workspace_bytes < needed)
    return fail(RECUR_SMALL_WORKSPACE, "%s: the workspace has %lld bytes; %lld are needed", name,
                (long long)call.own.workspace_bytes, (long long)needed);
  if (reinterpret_cast<uintptr_t>(call.own.workspace) % uintptr_t(alignment) != 0)
    return fail(RECUR_BAD_POINTER, "%s: the workspace is not aligned to %d bytes", name, int(alignment));
  return RECUR_OK;
}

static recur_status checkFloats(const SummaryCall &call, const void *data, int64_t size, const char *what) {
  const char *name = call.resolved.recurrence->name;
  if (size == 0 || call.countUnits() == 0)
    return RECUR_OK;
  if (!data)
    return fail(RECUR_NULL_POINTER, "%s: the %s are null", name, what);
  if (reinterpret_cast<uintptr_t>(data) % sizeof(float) != 0)
    return fail(RECUR_BAD_POINTER, "%s: the %s are not aligned to their elements of 4 bytes", name, what);
  return RECUR_OK;
}

static recur_status checkSummary(const SummaryCall &call, const recur_summary &summary, bool hasMaps, const char *maps,
                                 const char *offsets) {
  if (hasMaps)
    if (recur_status status = checkFloats(call, summary.maps, call.mapSize, maps))
      return status;
  return checkFloats(call, summary.offsets, call.stateSize, offsets);
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

int32_t recur_summary_count(const recur_recurrence *recurrence) {
  recur_status status;
  const recur_kernel_info *kernel = findSummaries(recurrence, status);
  return kernel ? kernel->summary_count : -1;
}

recur_status recur_describe_summary(const recur_recurrence *recurrence, int32_t summary, recur_summary_shape *shape) {
  const recur_summary_info *info = nullptr;
  if (recur_status status = findSummary(recurrence, summary, info))
    return status;
  if (!shape)
    return fail(RECUR_NULL_POINTER, "%s: the shape is null", recurrence->name);
  const recur_recurrence *selected = recur_select(recurrence);
  *shape = {countMapNumbers(selected, *info),
            countElements(getStateInfo(selected, info->state)),
            info->needs,
            info->need_count,
            info->state,
            GradientTask::isTropical(*info)};
  return RECUR_OK;
}

int64_t recur_summary_workspace_size(const recur_recurrence *recurrence, const recur_call *call, int32_t backward) {
  SummaryCall summary;
  return resolve(summary, recurrence, call, backward != 0) ? -1 : countWorkspaceBytes(summary.resolved);
}

//===----------------------------------------------------------------------===//
// Making summaries
//===----------------------------------------------------------------------===//

static void summarise(const Tasks &tasks, int64_t unit, char *workspace) {
  const SummaryCall &call = *tasks.call;
  const Call &resolved = call.resolved;
  int64_t sequence = unit / resolved.heads, head = unit % resolved.heads;
  char *before = workspace + resolved.slotBytes; // the states, from the end of the slot
  for (int32_t i = 0; i < countStates(resolved.recurrence); ++i)
    before -= countFloatBytes(getStateInfo(resolved.recurrence, i));
  int32_t state = 0;
  for (int32_t i = 0; i < resolved.argumentCount; ++i)
    if (resolved.arguments[i].role == Role::Initial)
      readState(resolved.arguments[i], sequence, head, getStateBefore(resolved, before, state++));
  Part part{unit, 0, getSequence(resolved, sequence).tokens};
  char *map = reinterpret_cast<char *>(call.getMap(tasks.result, unit));
  char *offset = reinterpret_cast<char *>(call.getOffset(tasks.result, unit));
  runSummary(resolved, part, *call.info, before, map, offset, workspace);
}

recur_status recur_summarise(const recur_recurrence *recurrence, const recur_call *given, int32_t summary,
                             recur_summary result) {
  SummaryCall call;
  if (recur_status status = resolve(call, recurrence, given, summary, /*isBackward=*/false))
    return status;
  if (recur_status status = resolveArguments(call.resolved))
    return status;
  if (recur_status status = checkSummary(call, result, true, "maps of the result", "offsets of the result"))
    return status;
  const Argument *initial = call.resolved.arguments;
  while (initial->role != Role::Initial)
    ++initial;
  for (int32_t i = 0; i < call.info->need_count; ++i)
    if (const Argument &needed = initial[call.info->needs[i]]; !needed.data && needed.spanBytes + call.countUnits())
      return fail(RECUR_NULL_POINTER, "%s: the initial state '%s' is null; the summary of '%s' needs it",
                  recurrence->name, needed.info->name, getStateInfo(call.resolved.recurrence, call.info->state).name);
  Tasks tasks{&call, summarise, call.countUnits()};
  tasks.result = result;
  return runTasks(tasks);
}

static void summariseBack(const Tasks &tasks, int64_t number, char *workspace) {
  const SummaryCall &call = *tasks.call;
  const Call &resolved = call.resolved;
  int64_t perTask = makeGradientLayout(resolved, 1).headsPerTask, perSequence = resolved.heads / perTask;
  int64_t sequence = number / perSequence, group = number % perSequence;
  GradientTask task(resolved, sequence, group, 0, workspace, workspace);
  int64_t unit = sequence * resolved.heads + group * perTask;
  task.summariseBack(*call.info, call.hasBackwardMap() ? call.getMap(tasks.result, unit) : nullptr,
                     call.getOffset(tasks.result, unit));
}

recur_status recur_summarise_backward(const recur_recurrence *recurrence, const recur_call *given, int32_t summary,
                                      recur_summary result) {
  SummaryCall call;
  if (recur_status status = resolve(call, recurrence, given, summary, /*isBackward=*/true))
    return status;
  if (recur_status status = resolveArguments(call.resolved))
    return status;
  if (recur_status status =
          checkSummary(call, result, call.hasBackwardMap(), "maps of the result", "offsets of the result"))
    return status;
  for (int32_t i = 0; i < call.resolved.argumentCount; ++i)
    if (Argument &argument = call.resolved.arguments[i]; argument.isWritten())
      argument.data = nullptr; // no gradient is wanted
  int64_t perTask = makeGradientLayout(call.resolved, 1).headsPerTask;
  Tasks tasks{&call, summariseBack, call.countUnits() / perTask};
  tasks.result = result;
  return runTasks(tasks);
}

//===----------------------------------------------------------------------===//
// Applying and combining them
//===----------------------------------------------------------------------===//

/// The cotangent of an extremum goes to what won: where nothing of the state did, whatever it is has no part.
static void scaleBack(const SummaryCall &call, const float *map, const float *offset, const float *from, float *to) {
  for (int64_t i = 0; i < call.stateSize; ++i)
    to[i] = map[i] == 0 ? offset[i] : map[i] * from[i] + offset[i];
}

/// Takes a state through a map and an offset, or its cotangent.
static void apply(const SummaryCall &call, bool isBackward, float *map, float *offset, float *from, float *to,
                  char *workspace) {
  const recur_summary_info &info = *call.info;
  if (isBackward && call.hasBackwardMap())
    return scaleBack(call, map, offset, from, to);
  recur_array arrays[8] = {{from, 0}};
  float *matrix = map;
  int64_t side = info.map_side;
  if (isBackward && side) {
    int64_t kernel = roundUp(findSegmentKernel(call.resolved.recurrence)->workspace_bytes);
    matrix = reinterpret_cast<float *>(workspace + kernel);
    transpose(map, matrix, side, side);
  }
  int32_t count = 1;
  if (info.scale_size)
    arrays[count++] = {map + side * side, 0};
  arrays[count++] = {matrix, 0};
  arrays[count++] = {offset, 0};
  arrays[count] = {to, 0}; // and parts that nobody wants
  info.apply(arrays, 1, workspace);
}

static void applyUnit(const Tasks &tasks, int64_t unit, char *workspace) {
  const SummaryCall &call = *tasks.call;
  auto *from = const_cast<float *>(tasks.states) + unit * call.stateSize; // only read
  apply(call, tasks.isBackward, call.getMap(tasks.first, unit), call.getOffset(tasks.first, unit), from,
        tasks.after + unit * call.stateSize, workspace);
}

recur_status recur_apply_summary(const recur_recurrence *recurrence, const recur_call *given, int32_t summary,
                                 int32_t backward, recur_summary applied, const float *states, float *result) {
  SummaryCall call;
  if (recur_status status = resolve(call, recurrence, given, summary, /*isBackward=*/false))
    return status;
  if (recur_status status = checkWorkspace(call))
    return status;
  if (recur_status status = checkSummary(call, applied, true, "maps", "offsets"))
    return status;
  if (recur_status status = checkFloats(call, states, call.stateSize, "states"))
    return status;
  if (recur_status status = checkFloats(call, result, call.stateSize, "states of the result"))
    return status;
  Tasks tasks{&call, applyUnit, call.countUnits()};
  tasks.first = applied;
  tasks.states = states;
  tasks.after = result;
  tasks.isBackward = backward != 0;
  return runTasks(tasks);
}

/// left times right, of a side, into `product`, which is apart from both.
static void multiply(const float *left, const float *right, float *product, int64_t side) {
  for (int64_t row = 0; row < side; ++row)
    for (int64_t column = 0; column < side; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < side; ++k)
        sum += double(left[row * side + k]) * double(right[k * side + column]);
      product[row * side + column] = float(sum);
    }
}

static void combineMaps(const SummaryCall &call, bool isBackward, const float *first, const float *second,
                        float *result, char *workspace) {
  const recur_summary_info &info = *call.info;
  int64_t side = info.map_side;
  if (!side) {
    bool areSums = call.hasBackwardMap() && !isBackward;
    for (int64_t i = 0; i < call.stateSize; ++i)
      result[i] = areSums ? first[i] + second[i] : first[i] * second[i];
    return;
  }
  int64_t kernel = roundUp(findSegmentKernel(call.resolved.recurrence)->workspace_bytes);
  auto *product = reinterpret_cast<float *>(workspace + kernel);
  multiply(info.map_is_left ? second : first, info.map_is_left ? first : second, product, side);
  memcpy(result, product, size_t(side * side) * sizeof(float));
  for (int64_t i = side * side; i < call.mapSize; ++i)
    result[i] = first[i] * second[i];
}

static void combineUnit(const Tasks &tasks, int64_t unit, char *workspace) {
  const SummaryCall &call = *tasks.call;
  // States go through the first part and then the second, cotangents the other way.
  const recur_summary &inner = tasks.isBackward ? tasks.second : tasks.first;
  const recur_summary &outer = tasks.isBackward ? tasks.first : tasks.second;
  apply(call, tasks.isBackward, call.getMap(outer, unit), call.getOffset(outer, unit), call.getOffset(inner, unit),
        call.getOffset(tasks.result, unit), workspace);
  if (tasks.result.maps)
    combineMaps(call, tasks.isBackward, call.getMap(tasks.first, unit), call.getMap(tasks.second, unit),
                call.getMap(tasks.result, unit), workspace);
}

recur_status recur_combine_summaries(const recur_recurrence *recurrence, const recur_call *given, int32_t summary,
                                     int32_t backward, recur_summary first, recur_summary second,
                                     recur_summary result) {
  SummaryCall call;
  if (recur_status status = resolve(call, recurrence, given, summary, /*isBackward=*/false))
    return status;
  if (recur_status status = checkWorkspace(call))
    return status;
  if (recur_status status = checkSummary(call, first, true, "maps of the first", "offsets of the first"))
    return status;
  if (recur_status status = checkSummary(call, second, true, "maps of the second", "offsets of the second"))
    return status;
  bool hasMaps = !backward || call.hasBackwardMap();
  if (recur_status status = checkSummary(call, result, hasMaps, "maps of the result", "offsets of the result"))
    return status;
  Tasks tasks{&call, combineUnit, call.countUnits()};
  tasks.first = first;
  tasks.second = second;
  tasks.result = result;
  tasks.isBackward = backward != 0;
  return runTasks(tasks);
}
