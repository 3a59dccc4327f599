#include "Runtime/CPU/Segments.h"
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/ThreadPool.h"
#include <cstdlib>

using namespace recur::runtime;

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

static double divideUp(double a, double b) {
  double quotient = double(int64_t(a / b));
  return quotient * b < a ? quotient + 1 : quotient;
}

/// As long for every kernel, so more chunks of a small one.
double recur::runtime::estimateWaiting(int64_t chunk, int64_t stateElements) {
  // In microseconds, as measured: of waking a thread, of a chunk of next to nothing, of a token for each state element.
  constexpr double waking = 9, ofChunk = 5, ofElement = 7e-5;
  // Beside that, what the step reads is in another processor's caches.
  constexpr double fetching = 0.25;
  return waking / (ofChunk + ofElement * double(chunk) * double(stateElements)) + fetching;
}

/// What the tokens of a chunk take one by one, over a chunk's time, where so many tokens are left to the plan `step`:
/// .24 to .7 were measured, mostly .6.
static constexpr double ofSteps = .6;

/// The time of a cut in which each sequence has `first` chunks and then `count` segments of `rest` chunks, over that of
/// a chunk.
static double estimateTime(const recur_kernel_info &kernel, double units, double processors, double waiting,
                           double first, double count, double rest) {
  double parallel = divideUp(units * count, processors), serial = divideUp(units, processors);
  double time = parallel * rest + waiting;
  for (int32_t i = 0; i < kernel.summary_count; ++i) {
    double summary = kernel.summaries[i].cost * rest;
    if (i == 0 && summary < first)
      summary = first;
    time += parallel * summary + serial * (count - 1) * kernel.summaries[i].apply_cost + 2 * waiting;
  }
  return kernel.summary_count ? time : time + parallel * first;
}

/// Not part of another function, whose compiler may put arithmetic before or behind a change of the mode.
[[gnu::noinline]] static Cut findCut(const recur_kernel_info &kernel, int64_t units, int64_t chunks, int32_t processors,
                                     int64_t stateElements, bool isForced, double uncut) {
  double waiting = estimateWaiting(kernel.chunk, stateElements);
  double cost = kernel.summary_count ? kernel.summaries[0].cost : 0, least = 0;
  Cut best;
  for (int64_t count = 2; count <= mostSegments && count < chunks; ++count) {
    // The rest is rounded up, so that the first segment is the shorter one; it has a chunk at least.
    int64_t rest = int64_t(divideUp(double(chunks), double(count) + cost)), first = chunks - count * rest;
    if (first < 1) {
      first = 1;
      rest = (chunks - 1 + count - 1) / count;
    }
    double time =
        estimateTime(kernel, double(units), double(processors), waiting, double(first), double(count), double(rest));
    if (best.rest && time >= least)
      continue;
    least = time;
    best = {first * kernel.chunk, rest * kernel.chunk};
  }
  bool isGain = least < clearGain * uncut * divideUp(double(units), double(processors)) * double(chunks);
  return isForced || isGain ? best : Cut();
}

Cut recur::runtime::chooseCut(const recur_kernel_info &kernel, int64_t units, int64_t tokens, int32_t processors,
                              int64_t stateElements, bool isForced, double uncut) {
  int64_t chunks = (tokens + kernel.chunk - 1) / kernel.chunk;
  if (tokens < kernel.tokens_from || units < 1 || (!isForced && units >= processors))
    return {};
  KernelFloatMode mode; // so that the cut is the same, and no trap is sprung, in any mode of the caller's
  return findCut(kernel, units, chunks, processors, stateElements, isForced, uncut);
}

int64_t recur::runtime::countSegments(Cut cut, int64_t tokens) {
  if (cut.rest == 0 || tokens <= cut.first + cut.rest)
    return 1;
  return 1 + (tokens - cut.first + cut.rest - 1) / cut.rest;
}

Segment recur::runtime::getSegment(Cut cut, int64_t tokens, int64_t index) {
  if (index == 0)
    return {0, cut.first};
  int64_t begin = cut.first + (index - 1) * cut.rest;
  return {begin, tokens - begin < cut.rest ? tokens - begin : cut.rest};
}

//===----------------------------------------------------------------------===//
// What is kept of segments
//===----------------------------------------------------------------------===//

int64_t recur::runtime::countStateBytes(const Call &call, int64_t state) {
  return countFloatBytes(getStateInfo(call.recurrence, state));
}

char *recur::runtime::getStateBefore(const Call &call, char *record, int64_t state) {
  for (int64_t i = 0; i < state; ++i)
    record += countStateBytes(call, i);
  return record;
}

static int64_t countStatesBytes(const Call &call) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < call.recurrence->array_count; ++i)
    if (call.recurrence->arrays[i].kind == RECUR_STATE)
      bytes += countFloatBytes(call.recurrence->arrays[i]);
  return bytes;
}

char *recur::runtime::getSummaryMap(const Call &call, char *record) { return record + countStatesBytes(call); }

int64_t recur::runtime::countMapBytes(const Call &call, const recur_summary_info &summary) {
  return roundUp(countMapNumbers(call.recurrence, summary) * int64_t(sizeof(float)));
}

float *recur::runtime::getSummaryScales(const recur_summary_info &summary, char *map) {
  return reinterpret_cast<float *>(map) + int64_t(summary.map_side) * summary.map_side;
}

char *recur::runtime::getSummaryOffset(const Call &call, char *record, const recur_summary_info &summary) {
  return getSummaryMap(call, record) + countMapBytes(call, summary);
}

static int64_t countRecordBytes(const Call &call) {
  int64_t parts = 0;
  for (int32_t i = 0; i < call.segmented->summary_count; ++i) {
    const recur_summary_info &summary = call.segmented->summaries[i];
    int64_t bytes = countMapBytes(call, summary) + countStateBytes(call, summary.state);
    parts = bytes > parts ? bytes : parts;
  }
  return countStatesBytes(call) + parts;
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

const recur_kernel_info *recur::runtime::findSegmentKernel(const recur_recurrence *recurrence) {
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (recurrence->kernels[i].plan == RECUR_PLAN_SEGMENT)
      return &recurrence->kernels[i];
  return nullptr;
}

void recur::runtime::resolveSegments(Call &resolved) {
  const recur_call *call = resolved.call;
  bool isForced = resolved.plan == RECUR_PLAN_SEGMENT;
  const recur_kernel_info *kernel = findSegmentKernel(resolved.recurrence);
  if (!kernel || (!isForced && resolved.plan != RECUR_PLAN_AUTO) || resolved.sequences == 0 || resolved.heads == 0)
    return;
  int32_t processors = getProcessors();
  int64_t longest = call->T, units = resolved.sequences * resolved.heads;
  if (const int64_t *offsets = call->sequence_offsets) {
    // As if all sequences were as long as the longest.
    longest = 0;
    for (int64_t i = 0; i < call->sequence_count; ++i)
      longest = offsets[i + 1] - offsets[i] > longest ? offsets[i + 1] - offsets[i] : longest;
    int64_t total = offsets[call->sequence_count] - offsets[0];
    units = longest ? (total + longest - 1) / longest * resolved.heads : 0;
    // There must be room whatever the offsets.
    if (!isForced && resolved.heads >= processors)
      return;
  }
  int64_t stateElements = countStatesBytes(resolved) / int64_t(sizeof(float));
  const recur_kernel_info *whole = chooseKernel(resolved.recurrence, RECUR_PLAN_AUTO, longest);
  // There is no other where the recurrence was built for segments alone.
  double uncut = longest >= kernel->tokens_from && whole && whole->plan == RECUR_PLAN_STEP ? ofSteps : 1;
  resolved.cut = chooseCut(*kernel, units, longest, processors, stateElements, isForced, uncut);
  if (resolved.cut.rest || call->sequence_offsets)
    resolved.segmented = kernel;
  if (!resolved.segmented)
    return;
  // Room for the segments behind the first: of all sequences, or of as many as are worked on at the same time.
  int64_t perUnit = countSegments(resolved.cut, longest) - 1, all;
  if (call->sequence_offsets) {
    perUnit = mostSegments;
    units = resolved.heads;
    if (call->T / kernel->chunk < mostSegments)
      perUnit = call->T / kernel->chunk;
  }
  int64_t threads = call->threads ? call->threads : recur_thread_count();
  int64_t most = 2 * threads > mostSegments ? 2 * threads : mostSegments;
  if (__builtin_mul_overflow(units, perUnit, &all) || all > most)
    all = most;
  resolved.records = all;
  resolved.recordBytes = countRecordBytes(resolved);
}

//===----------------------------------------------------------------------===//
// Processors
//===----------------------------------------------------------------------===//

static int32_t processors = 0; // 0: not counted

void recur::runtime::setProcessors(int32_t count) { __atomic_store_n(&processors, count, __ATOMIC_RELAXED); }

int32_t recur::runtime::getProcessors() {
  // Whoever comes first counts; all who count find the same.
  int32_t count = __atomic_load_n(&processors, __ATOMIC_RELAXED);
  if (count)
    return count;
  count = readCount("RECUR_PROCESSORS");
  if (!count)
    count = countProcessors();
  setProcessors(count);
  return count;
}
