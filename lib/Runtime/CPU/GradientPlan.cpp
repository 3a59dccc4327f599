#include "Runtime/CPU/GradientPlan.h"
#include "Runtime/CPU/FloatMode.h"

using namespace recur::runtime;

/// So many bytes at most, which no workspace has: sums of them do not overflow.
static int64_t multiply(int64_t a, int64_t b) {
  constexpr int64_t most = INT64_MAX / 16;
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}
static int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Heads of a task: those of a group, where any gradient is a sum over them.
static int64_t countHeadsPerTask(const Call &call) {
  for (int32_t i = 0; i < call.recurrence->array_count; ++i) {
    const recur_array_info &info = call.recurrence->arrays[i];
    if (info.kind == RECUR_INPUT && info.shared && call.groups && !isLeftOut(call.recurrence, &info))
      return call.heads / call.groups;
  }
  return 1;
}

int64_t recur::runtime::countGradientSegments(const Call &call, int64_t tokens) {
  if (!call.cut.rest || tokens <= call.cut.first)
    return 1;
  return 1 + divideUp(tokens - call.cut.first, call.cut.rest);
}

int64_t recur::runtime::countGradientSteps(const Call &call, int64_t segments) {
  int64_t states = call.segmented ? call.segmented->summary_count : 0;
  return 2 + segments + (segments > 2 ? 4 * states * (segments - 2) : 0);
}

int64_t recur::runtime::getTaskIndex(const Call &call, int64_t sequence, int64_t group, int64_t segment) {
  int64_t before = 0, own = countGradientSegments(call, getSequence(call, sequence).tokens);
  if (!call.call->sequence_offsets)
    before = sequence * own;
  for (int64_t i = 0; call.call->sequence_offsets && i < sequence; ++i)
    before += countGradientSegments(call, getSequence(call, i).tokens);
  return before * (call.heads / countHeadsPerTask(call)) + group * own + segment;
}

char *recur::runtime::getParamRecord(const Call &call, int64_t sequence, int64_t segment, int64_t head) {
  int64_t index = sequence * call.heads + head;
  if (call.cut.rest) {
    int64_t perTask = countHeadsPerTask(call);
    index = getTaskIndex(call, sequence, head / perTask, segment) * perTask + head % perTask;
  }
  return static_cast<char *>(call.call->workspace) + call.slots * call.slotBytes + index * call.recordBytes;
}

/// The most segments of a sequence, and of all sequences together, whatever the offsets.
static int64_t countMostSegments(const Call &call) { return countGradientSegments(call, call.call->T); }
static int64_t countAllSegments(const Call &call) {
  if (call.call->sequence_offsets && call.cut.rest)
    return 2 * call.sequences + call.call->T / call.cut.rest;
  return multiply(call.sequences, countMostSegments(call));
}

GradientLayout recur::runtime::makeGradientLayout(const Call &call, int64_t keptChunks) {
  const recur_recurrence *recurrence = call.recurrence;
  const recur_gradient_info &gradient = *recurrence->gradient;
  bool isCut = call.cut.rest;
  int64_t longest = call.call->T;
  if (isCut) {
    int64_t segment = call.cut.first > call.cut.rest ? call.cut.first : call.cut.rest;
    longest = segment < longest ? segment : longest;
  }
  GradientLayout layout = {};
  layout.chunk = gradient.chunk;
  layout.keptChunks = keptChunks;
  layout.parts = divideUp(divideUp(longest, layout.chunk), keptChunks);
  layout.headsPerTask = countHeadsPerTask(call);
  int64_t sharedElements = 0, sharedBytes = 0, sharedInputs = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &info = recurrence->arrays[i];
    if (info.kind == RECUR_STATE)
      layout.stateBytes += countFloatBytes(info);
    if (info.kind != RECUR_INPUT || !info.shared || call.groups == 0 || isLeftOut(recurrence, &info))
      continue;
    sharedElements += countElements(info);
    sharedBytes += countElements(info) * getElementBytes(info);
    ++sharedInputs;
  }
  for (int32_t i = 0; i < gradient.carried_count; ++i)
    layout.carriedBytes += countFloatBytes(getCarriedInfo(recurrence, gradient.carried[i]));
  for (int32_t i = 0; isCut && call.segmented && i < call.segmented->summary_count; ++i)
    layout.mapBytes += countMapBytes(call, call.segmented->summaries[i]);
  // What the call forward kept lies in the caller's arrays.
  bool takesStates = gradient.kept_count, isGiven = call.call->kept_interval || !takesStates;
  bool hasAll = hasAllKept(call) || !takesStates;
  int64_t tokens = multiply(keptChunks, layout.chunk), room = sharedInputs * alignment;
  bool sums = layout.headsPerTask > 1;
  layout.kept = isCut ? 0 : roundUp(gradient.workspace_bytes);
  layout.starts = layout.kept + (hasAll ? 0 : multiply(keptChunks, layout.stateBytes));
  int64_t starts = isGiven ? 0 : multiply(layout.headsPerTask, layout.parts + 1);
  layout.carried = layout.starts + multiply(starts, layout.stateBytes);
  layout.headSums = layout.carried + multiply(layout.headsPerTask, layout.carriedBytes);
  layout.sums = layout.headSums + (sums ? roundUp(multiply(tokens, sharedBytes) + room) : 0);
  layout.maps = layout.sums + (sums ? roundUp(multiply(tokens, sharedElements * int64_t(sizeof(float))) + room) : 0);
  layout.offsets = layout.maps + multiply(layout.headsPerTask, layout.mapBytes);
  int64_t offsets = isCut && layout.mapBytes ? multiply(layout.headsPerTask, layout.stateBytes) : 0;
  layout.backOffsets = layout.offsets + offsets;
  layout.marks = layout.backOffsets + offsets;
  layout.end = layout.marks + (isCut ? roundUp(countGradientSteps(call, countMostSegments(call))) : 0);
  return layout;
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

namespace {

/// What a cut is chosen by. Times are in those of a chunk of the gradient's kernel.
struct CutCosts {
  double units, processors, waiting;
  double states, chain; // 0 where that is not needed
  double summary = 0, apply = 0;
};

} // namespace

static double divideUp(double a, double b) {
  double quotient = double(int64_t(a / b));
  return quotient * b < a ? quotient + 1 : quotient;
}

/// The time of a first segment of `first` chunks and `count` others of `rest`.
static double estimateTime(const CutCosts &costs, double first, double count, double rest) {
  if (count == 1 && 2 * costs.units <= costs.processors) {
    // One thread goes ahead and then over the second segment, another one behind and then over the first.
    double one = costs.states * first + (costs.states + 1) * rest, other = costs.chain * rest + first;
    return (one > other ? one : other) + 2 * costs.waiting;
  }
  auto spread = [&](double tasks, double each) { return divideUp(costs.units * tasks, costs.processors) * each; };
  double ahead = costs.states * first, behind = costs.chain * rest;
  double ends = ahead > behind ? ahead : behind, together = costs.units * (ahead + behind) / costs.processors;
  double time = ends > together ? ends : together;
  double longest = (1 + costs.states) * rest > first ? (1 + costs.states) * rest : first;
  time += spread(count + 1, longest) + 2 * costs.waiting;
  if (count > 1)
    time += spread(count - 1, (costs.summary + costs.chain) * rest) + spread(1, (count - 1) * costs.apply) +
            2 * costs.waiting;
  return time;
}

/// How sequences of so many chunks are cut, each of which has so many tokens; not at all where that is no clear gain
/// and is not forced. Not part of another function, whose compiler may put arithmetic before or behind a change of the
/// mode.
[[gnu::noinline]] static Cut findGradientCut(const Call &call, int64_t units, int64_t chunks, int64_t step,
                                             bool isForced) {
  const recur_gradient_info &gradient = *call.recurrence->gradient;
  double scale = double(step / gradient.chunk);
  CutCosts costs = {double(units), double(getProcessors()), 0, 0, 0};
  bool takesStates = gradient.kept_count && !hasAllKept(call);
  // Cotangents of states that take states wait for these, from one end of the sequence to the other: a loss of a fifth
  // to a third on two processors, as measured, where the estimate says a gain.
  if (!isForced && takesStates && gradient.chain_kept_count)
    return {};
  costs.states = takesStates ? gradient.states_cost : 0;
  costs.chain = gradient.chain ? gradient.chain_cost + (gradient.chain_kept_count ? costs.states : 0) : 0;
  int64_t stateElements = 0;
  for (int32_t i = 0; i < call.recurrence->array_count; ++i)
    if (call.recurrence->arrays[i].kind == RECUR_STATE)
      stateElements += countElements(call.recurrence->arrays[i]);
  costs.waiting = estimateWaiting(gradient.chunk, stateElements) / scale;
  bool needsMaps = needsStates(call) || gradient.chain;
  for (int32_t i = 0; needsMaps && call.segmented && i < call.segmented->summary_count; ++i) {
    costs.summary += call.segmented->summaries[i].cost * gradient.forward_cost;
    costs.apply += 2 * call.segmented->summaries[i].apply_cost * gradient.forward_cost / scale;
  }
  // Where a segment between the others cannot be summarised, there are two.
  int64_t most = call.segmented || !needsMaps ? mostSegments : 1, from = isForced && most > 1 && chunks > 2 ? 2 : 1;
  double least = 0;
  Cut best;
  for (int64_t count = from; count <= most && count < chunks; ++count) {
    // The states of the first segment are known before the others'. Two segments are done at the same time.
    bool areTwo = count == 1 && costs.states < 1 && costs.chain < 1;
    double share = areTwo ? (1 - costs.states) / (2 - costs.chain) : 1 / (double(count) + 1 + costs.states);
    int64_t rest = int64_t(divideUp(share * double(chunks), 1)), first = chunks - count * rest;
    if (first < 1) {
      first = 1;
      rest = divideUp(chunks - 1, count);
    }
    double time = estimateTime(costs, double(first), double(count), double(rest));
    if (best.rest && time >= least)
      continue;
    least = time;
    best = {first * step, rest * step};
  }
  double whole = divideUp(costs.units, costs.processors) * (1 + costs.states) * double(chunks);
  return isForced || least < clearGain * whole ? best : Cut();
}

static Cut chooseGradientCut(const Call &call, int64_t tokens, bool isForced) {
  const recur_gradient_info &gradient = *call.recurrence->gradient;
  int64_t step = call.call->kept_interval ? call.call->kept_interval : gradient.chunk; // between cuts
  int64_t chunks = divideUp(tokens, step), units = call.sequences * (call.heads / countHeadsPerTask(call));
  if (call.heads == 0 || call.sequences == 0 || chunks < 2 || (carriesStates(call.recurrence) && !gradient.chain) ||
      (!isForced && units >= getProcessors()))
    return {};
  KernelFloatMode mode; // so that the cut is the same, and no trap is sprung, in any mode of the caller's
  return findGradientCut(call, units, chunks, step, isForced);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

/// Where sequences are cut, every segment of each has a place in the workspace, and every thread that of a kernel.
static void planTasks(Call &resolved) {
  const recur_call *call = resolved.call;
  const recur_gradient_info &gradient = *resolved.recurrence->gradient;
  int64_t threads = call->threads ? call->threads : recur_thread_count();
  resolved.segmented = findSegmentKernel(resolved.recurrence);
  if (resolved.plan != RECUR_PLAN_CHUNK) {
    // Packed sequences are cut as if they were equally long, for the workspace is the same whatever the offsets.
    int64_t tokens = call->sequence_offsets && resolved.sequences ? divideUp(call->T, resolved.sequences) : call->T;
    resolved.cut = chooseGradientCut(resolved, tokens, resolved.plan == RECUR_PLAN_SEGMENT);
  }
  int64_t perSequence = resolved.heads / countHeadsPerTask(resolved);
  int64_t tasks = multiply(countAllSegments(resolved), perSequence);
  resolved.workers = tasks < threads ? tasks : threads;
  resolved.slots = resolved.cut.rest ? tasks : resolved.workers;
  int64_t params = 0;
  for (int32_t i = 0; i < resolved.recurrence->array_count; ++i) {
    const recur_array_info &info = resolved.recurrence->arrays[i];
    if (info.kind == RECUR_PARAM && !isLeftOut(resolved.recurrence, &info))
      params += countFloatBytes(info);
  }
  resolved.records = params ? multiply(countAllSegments(resolved), resolved.heads) : 0;
  resolved.recordBytes = params;
  if (!resolved.cut.rest)
    return;
  int64_t kernels = gradient.workspace_bytes;
  if (resolved.segmented && resolved.segmented->workspace_bytes > kernels)
    kernels = resolved.segmented->workspace_bytes;
  resolved.workerBytes = roundUp(kernels) + makeGradientLayout(resolved, 1).carriedBytes;
}

/// The longest part whose states fit into the workspace: what the caller gives, or else a tenth of what the arrays
/// take, with which a long sequence trains in less than one and a half times its inputs and their gradients.
void recur::runtime::planGradient(Call &resolved) {
  const recur_call *call = resolved.call;
  const recur_gradient_info &gradient = *resolved.recurrence->gradient;
  planTasks(resolved);
  constexpr double always = 64 << 20;
  double budget = double(call->workspace_bytes - resolved.startBytes); // which nothing here can use
  if (!call->workspace_bytes) {
    budget = countGradientBytes(resolved) / 10;
    budget = budget < always ? always : budget;
  }
  int64_t longest = call->T;
  if (resolved.cut.rest) {
    int64_t segment = resolved.cut.first > resolved.cut.rest ? resolved.cut.first : resolved.cut.rest;
    longest = segment < longest ? segment : longest;
  }
  int64_t chunks = divideUp(longest, gradient.chunk);
  if (chunks < 1)
    chunks = 1;
  if (call->kept_interval > gradient.chunk) { // parts are what lies between what was kept
    int64_t given = call->kept_interval / gradient.chunk;
    resolved.keptChunks = given < chunks ? given : chunks;
    resolved.slotBytes = makeGradientLayout(resolved, resolved.keptChunks).end;
    return;
  }
  auto measure = [&](int64_t parts) { return makeGradientLayout(resolved, divideUp(chunks, parts)).end; };
  double others =
      double(resolved.records) * double(resolved.recordBytes) + double(resolved.workers) * double(resolved.workerBytes);
  auto fits = [&](int64_t parts) { return double(measure(parts)) * double(resolved.slots) + others <= budget; };
  // Twice as many parts take less until there are about as many as each has chunks.
  int64_t parts = 1;
  while (!fits(parts) && measure(2 * parts) < measure(parts))
    parts *= 2;
  // Each part but the last is gone over twice for its states: the fewer there are, the less that is.
  for (int64_t tooFew = parts / 2; fits(parts) && tooFew + 1 < parts;) {
    int64_t middle = tooFew + (parts - tooFew) / 2;
    if (fits(middle))
      parts = middle;
    else
      tooFew = middle;
  }
  resolved.keptChunks = divideUp(chunks, parts);
  resolved.slotBytes = measure(parts);
}
