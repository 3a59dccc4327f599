// Summaries of parts of sequences as calls of their own, for whoever has the parts of a sequence on several machines.
#include "Runtime/Common/Summaries.h"
#include "Runtime/Common/Machine.h"
#include "Runtime/Common/Message.h"

using namespace recur::runtime;

bool recur::runtime::isExtremum(const recur_summary_info &summary) { return summary.extremum != RECUR_NO_EXTREMUM; }

bool SummaryCall::hasBackwardMap() const { return isExtremum(*info); }

const recur_array_info &recur::runtime::getStateInfo(const recur_recurrence *recurrence, int64_t state) {
  const recur_array_info *info = recurrence->arrays;
  for (;; ++info)
    if (info->kind == RECUR_STATE && state-- == 0)
      return *info;
}

int64_t recur::runtime::countMapNumbers(const recur_recurrence *recurrence, const recur_summary_info &summary) {
  int64_t side = summary.map_side;
  return side ? side * side + summary.scale_size : countElements(getStateInfo(recurrence, summary.state));
}

int32_t recur::runtime::countStates(const recur_recurrence *recurrence) {
  int32_t states = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    states += recurrence->arrays[i].kind == RECUR_STATE;
  return states;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static const SummaryMachine &getMachine(int32_t device) {
  return device == RECUR_CUDA ? cudaSummaries : processorSummaries;
}

static recur_status failWithout(const recur_recurrence *recurrence, int32_t device) {
  if (device == RECUR_CUDA)
    return fail(RECUR_NO_PLAN,
                "%s has no summaries for a GPU: it was built without them (--summaries), or a state's update is no map "
                "that chunks can be summarised by; recurc explain says which state it is",
                recurrence->name);
  return fail(RECUR_NO_PLAN,
              "%s has no summaries: it has no kernel of plan 'segment', because a state's update is no map that "
              "chunks can be summarised by, or because it was built for another plan alone; recurc explain says "
              "which state it is",
              recurrence->name);
}

static recur_status checkNumber(const recur_recurrence *recurrence, const SummaryTable &table, int32_t summary) {
  if (summary < 0 || summary >= table.count)
    return fail(RECUR_BAD_SIZE, "%s: there is no summary of the number %d; there are %d", recurrence->name,
                int(summary), int(table.count));
  return RECUR_OK;
}

/// Checks sizes and finds the workspace.
static recur_status resolve(SummaryCall &call, const recur_recurrence *recurrence, const recur_call *given,
                            bool isBackward) {
  if (recur_status status = checkRecurrence(recurrence))
    return status;
  if (!given)
    return fail(RECUR_NULL_POINTER, "%s: the call is null", recurrence->name);
  if (recur_status status = checkDevice(recurrence, given->device))
    return status;
  if (hasPools(*given))
    return fail(RECUR_NO_PLAN, "%s: summaries are of states of the call's own sequences, not of rows of pools",
                recurrence->name);
  const SummaryMachine &machine = getMachine(given->device);
  call.table = machine.find(recur_select_for(recurrence, given->device));
  if (!call.table.summaries)
    return failWithout(recurrence, given->device);
  call.own = *given;
  call.own.kept_interval = 0;
  call.own.plan = isBackward ? RECUR_PLAN_CHUNK : given->device == RECUR_CUDA ? RECUR_PLAN_AUTO : RECUR_PLAN_SEGMENT;
  Call &resolved = call.resolved;
  resolved.isBackward = isBackward;
  if (recur_status bad = resolveSizes(resolved, recurrence, &call.own))
    return bad;
  resolved.startBytes = 0;    // states before a part are given, or not needed
  resolved.argumentCount = 0; // until they are looked at
  resolved.keptCount = 0;
  machine.plan(call);
  return RECUR_OK;
}

static recur_status resolve(SummaryCall &call, const recur_recurrence *recurrence, const recur_call *given,
                            int32_t summary, bool isBackward) {
  if (recur_status status = resolve(call, recurrence, given, isBackward))
    return status;
  if (recur_status status = checkNumber(recurrence, call.table, summary))
    return status;
  call.info = &call.table.summaries[summary];
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
  const char *name = call.resolved.recurrence->name;
  const struct {
    const char *what;
    int64_t stride, size;
  } sides[] = {{maps, call.getMapStride(summary), call.mapSize},
               {offsets, call.getOffsetStride(summary), call.stateSize}};
  for (auto [what, stride, size] : sides)
    if (stride < size)
      return fail(RECUR_BAD_SIZE, "%s: the %s of a head lie %lld numbers behind those before it, and have %lld", name,
                  what, (long long)stride, (long long)size);
  if (hasMaps)
    if (recur_status status = checkFloats(call, summary.maps, call.mapSize, maps))
      return status;
  return checkFloats(call, summary.offsets, call.stateSize, offsets);
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

/// Those of this machine's processors, or else of a GPU, which need not be here: they have the same shapes. An error
/// where there are none.
static recur_status findTable(const recur_recurrence *recurrence, SummaryTable &table,
                              const recur_recurrence *&selected) {
  if (recur_status status = checkRecurrence(recurrence))
    return status;
  selected = recur_select(recurrence);
  if (selected)
    table = processorSummaries.find(selected);
  bool isForGPU = false;
  for (const recur_recurrence *one = recurrence; one && !table.summaries; one = one->next)
    if (one->device == RECUR_CUDA) {
      isForGPU = true;
      table = cudaSummaries.find(one);
      selected = one;
    }
  if (table.summaries)
    return RECUR_OK;
  if (isForGPU)
    return failWithout(recurrence, RECUR_CUDA);
  return selected ? failWithout(recurrence, RECUR_CPU) : checkDevice(recurrence, RECUR_CPU);
}

int32_t recur_summary_count(const recur_recurrence *recurrence) {
  SummaryTable table;
  const recur_recurrence *selected = nullptr;
  return findTable(recurrence, table, selected) ? -1 : table.count;
}

recur_status recur_describe_summary(const recur_recurrence *recurrence, int32_t summary, recur_summary_shape *shape) {
  SummaryTable table;
  const recur_recurrence *selected = nullptr;
  if (recur_status status = findTable(recurrence, table, selected))
    return status;
  if (recur_status status = checkNumber(recurrence, table, summary))
    return status;
  if (!shape)
    return fail(RECUR_NULL_POINTER, "%s: the shape is null", recurrence->name);
  const recur_summary_info &info = table.summaries[summary];
  *shape = {countMapNumbers(selected, info),
            countElements(getStateInfo(selected, info.state)),
            info.needs,
            info.need_count,
            info.state,
            isExtremum(info)};
  return RECUR_OK;
}

int64_t recur_summary_workspace_size(const recur_recurrence *recurrence, const recur_call *call, int32_t backward) {
  SummaryCall summary;
  return resolve(summary, recurrence, call, backward != 0) ? -1 : countWorkspaceBytes(summary.resolved);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

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
  return getMachine(given->device).summarise(call, result);
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
    if (Argument &argument = call.resolved.arguments[i]; argument.isWritten()) {
      argument.data = nullptr; // no gradient is wanted
      argument.spanBytes = 0;
    }
  return getMachine(given->device).summariseBack(call, result);
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
  return getMachine(given->device).apply(call, backward != 0, applied, states, result);
}

recur_status recur_apply_summaries(const recur_recurrence *recurrence, const recur_call *given, int32_t summary,
                                   int32_t backward, const recur_summary *parts, int32_t count, float *result) {
  SummaryCall call;
  if (recur_status status = resolve(call, recurrence, given, summary, /*isBackward=*/false))
    return status;
  if (recur_status status = checkWorkspace(call))
    return status;
  if (count < 1)
    return fail(RECUR_BAD_SIZE, "%s: there are %d parts; a state goes through one at least", recurrence->name,
                int(count));
  if (!parts)
    return fail(RECUR_NULL_POINTER, "%s: the parts are null", recurrence->name);
  for (int32_t i = 0; i < count; ++i) // the first one's map has no part
    if (recur_status status = checkSummary(call, parts[i], i > 0, "maps", "offsets"))
      return status;
  if (recur_status status = checkFloats(call, result, call.stateSize, "states of the result"))
    return status;
  return getMachine(given->device).applyAll(call, backward != 0, parts, count, result);
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
  return getMachine(given->device).combine(call, backward != 0, first, second, result);
}
