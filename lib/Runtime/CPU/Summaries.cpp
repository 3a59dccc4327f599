// Summaries of parts of sequences on processors.
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/GradientTask.h"
#include "Runtime/CPU/Parts.h"
#include "Runtime/CPU/ThreadPool.h"
#include <cstring>

using namespace recur::runtime;

namespace {

/// What runs for each task, which is a head of a sequence, or the heads of one that share inputs.
struct Tasks {
  const SummaryCall *call;
  void (*run)(const Tasks &tasks, int64_t task, char *workspace);
  int64_t count;
  recur_summary first = {}, second = {}, result = {};
  const recur_summary *parts = nullptr;
  int32_t partCount = 0;
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
// The workspace
//===----------------------------------------------------------------------===//

static SummaryTable findSummaries(const recur_recurrence *recurrence) {
  const recur_kernel_info *kernel = findSegmentKernel(recurrence);
  return kernel ? SummaryTable{kernel->summaries, kernel->summary_count} : SummaryTable();
}

/// The most numbers that a matrix of a summary has.
static int64_t countMatrix(const SummaryTable &table) {
  int64_t most = 0;
  for (int32_t i = 0; i < table.count; ++i) {
    int64_t side = table.summaries[i].map_side;
    most = side * side > most ? side * side : most;
  }
  return most;
}

/// Forward each slot has the workspace of a kernel, a matrix, and the states before the part; backward it is that of a
/// gradient that is not cut.
static void plan(SummaryCall &call) {
  Call &resolved = call.resolved;
  resolved.records = 0; // no gradients of params are added up
  if (resolved.isBackward)
    return;
  const recur_kernel_info *kernel = findSegmentKernel(resolved.recurrence);
  resolved.segmented = kernel;
  resolved.cut = {};
  int64_t threads = call.own.threads ? call.own.threads : recur_thread_count();
  resolved.slots = call.countUnits() < threads ? call.countUnits() : threads;
  resolved.slotBytes = roundUp(kernel->workspace_bytes) + roundUp(countMatrix(call.table) * int64_t(sizeof(float)));
  for (int32_t i = 0; i < countStates(resolved.recurrence); ++i)
    resolved.slotBytes += countFloatBytes(getStateInfo(resolved.recurrence, i));
}

//===----------------------------------------------------------------------===//
// Making summaries
//===----------------------------------------------------------------------===//

static void summariseUnit(const Tasks &tasks, int64_t unit, char *workspace) {
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

static recur_status summarise(const SummaryCall &call, recur_summary result) {
  Tasks tasks{&call, summariseUnit, call.countUnits()};
  tasks.result = result;
  return runTasks(tasks);
}

static void summariseBackTask(const Tasks &tasks, int64_t number, char *workspace) {
  const SummaryCall &call = *tasks.call;
  const Call &resolved = call.resolved;
  int64_t perTask = makeGradientLayout(resolved, 1).headsPerTask, perSequence = resolved.heads / perTask;
  int64_t sequence = number / perSequence, group = number % perSequence;
  GradientTask task(resolved, sequence, group, 0, workspace, workspace);
  int64_t unit = sequence * resolved.heads + group * perTask;
  task.summariseBack(*call.info, call.hasBackwardMap() ? call.getMap(tasks.result, unit) : nullptr,
                     call.getMapStride(tasks.result), call.getOffset(tasks.result, unit),
                     call.getOffsetStride(tasks.result));
}

static recur_status summariseBack(const SummaryCall &call, recur_summary result) {
  int64_t perTask = makeGradientLayout(call.resolved, 1).headsPerTask;
  Tasks tasks{&call, summariseBackTask, call.countUnits() / perTask};
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
static void applyTo(const SummaryCall &call, bool isBackward, float *map, float *offset, float *from, float *to,
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
  applyTo(call, tasks.isBackward, call.getMap(tasks.first, unit), call.getOffset(tasks.first, unit), from,
          tasks.after + unit * call.stateSize, workspace);
}

static recur_status apply(const SummaryCall &call, bool isBackward, recur_summary given, const float *states,
                          float *result) {
  Tasks tasks{&call, applyUnit, call.countUnits()};
  tasks.first = given;
  tasks.states = states;
  tasks.after = result;
  tasks.isBackward = isBackward;
  return runTasks(tasks);
}

static void applyAllToUnit(const Tasks &tasks, int64_t unit, char *workspace) {
  const SummaryCall &call = *tasks.call;
  float *state = tasks.after + unit * call.stateSize;
  memcpy(state, call.getOffset(tasks.parts[0], unit), size_t(call.stateSize) * sizeof(float));
  for (int32_t i = 1; i < tasks.partCount; ++i)
    applyTo(call, tasks.isBackward, call.getMap(tasks.parts[i], unit), call.getOffset(tasks.parts[i], unit), state,
            state, workspace);
}

static recur_status applyAll(const SummaryCall &call, bool isBackward, const recur_summary *parts, int32_t count,
                             float *result) {
  Tasks tasks{&call, applyAllToUnit, call.countUnits()};
  tasks.parts = parts;
  tasks.partCount = count;
  tasks.after = result;
  tasks.isBackward = isBackward;
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
  applyTo(call, tasks.isBackward, call.getMap(outer, unit), call.getOffset(outer, unit), call.getOffset(inner, unit),
          call.getOffset(tasks.result, unit), workspace);
  if (tasks.result.maps)
    combineMaps(call, tasks.isBackward, call.getMap(tasks.first, unit), call.getMap(tasks.second, unit),
                call.getMap(tasks.result, unit), workspace);
}

static recur_status combine(const SummaryCall &call, bool isBackward, recur_summary first, recur_summary second,
                            recur_summary result) {
  Tasks tasks{&call, combineUnit, call.countUnits()};
  tasks.first = first;
  tasks.second = second;
  tasks.result = result;
  tasks.isBackward = isBackward;
  return runTasks(tasks);
}

const SummaryMachine recur::runtime::processorSummaries = {findSummaries, plan,  summarise, summariseBack,
                                                           combine,       apply, applyAll};
