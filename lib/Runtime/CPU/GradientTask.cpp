#include "Runtime/CPU/GradientTask.h"
#include "Runtime/CPU/Numbers.h"
#include "Runtime/CPU/Parts.h"

using namespace recur::runtime;

GradientTask::GradientTask(const Call &call, int64_t sequenceNumber, int64_t group, int64_t segmentIndex, char *area,
                           char *kernels)
    : call(call), gradient(*call.recurrence->gradient), arguments(call),
      layout(makeGradientLayout(call, call.keptChunks)), area(area), kernels(kernels), number(sequenceNumber),
      index(segmentIndex), firstHead(group * layout.headsPerTask), firstRow(countKeptRows(call, number)),
      sequence(getSequence(call, number)), segment{0, sequence.tokens}, isFirst(index == 0),
      isLast(index + 1 == countGradientSegments(call, sequence.tokens)) {
  if (!(isFirst && isLast))
    segment = getSegment(call.cut, sequence.tokens, index);
  partTokens = layout.keptChunks * layout.chunk;
  parts = (segment.tokens + partTokens - 1) / partTokens;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

int64_t GradientTask::getPartTokens(int64_t part) const {
  int64_t left = segment.tokens - part * partTokens;
  return left < partTokens ? left : partTokens;
}

/// Of what the call forward kept, where that is at the token.
int64_t GradientTask::getKeptRow(int64_t token) const { return firstRow + token / call.call->kept_interval; }

char *GradientTask::getStart(int64_t head, int64_t part) const {
  return area + layout.starts + (head * (layout.parts + 1) + part) * layout.stateBytes;
}

int64_t GradientTask::offsetOf(int32_t state) const {
  int64_t offset = 0;
  for (int32_t i = 0; i < state; ++i)
    offset += countFloatBytes(*arguments.initial[i].info);
  return offset;
}

/// Null where it is not carried.
char *GradientTask::getCarriedState(int64_t head, int32_t state) const {
  char *carried = getCarried(head);
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    if (gradient.carried[i] == state)
      return carried;
    carried += countFloatBytes(getCarriedInfo(call.recurrence, gradient.carried[i]));
  }
  return nullptr;
}

char *GradientTask::getMap(int64_t head, const recur_summary_info &summary) const {
  char *map = area + layout.maps + head * layout.mapBytes;
  for (const recur_summary_info *before = call.segmented->summaries; before != &summary; ++before)
    map += countMapBytes(call, *before);
  return map;
}
char *GradientTask::getOffset(int64_t head, int32_t state) const {
  return area + layout.offsets + head * layout.stateBytes + offsetOf(state);
}
char *GradientTask::getBackOffset(int64_t head, int32_t state) const {
  return area + layout.backOffsets + head * layout.stateBytes + offsetOf(state);
}

char *GradientTask::getStateBefore(int64_t head, int32_t state) const {
  return call.keptCount ? call.getKept(state, getKeptRow(segment.begin), firstHead + head)
                        : getStart(head, 0) + offsetOf(state);
}

/// The token's place in an array of tokens, of the head.
recur_array GradientTask::place(const Argument &argument, int64_t token, int64_t head) const {
  if (!argument.data || argument.spanBytes == 0)
    return {nullptr, 0};
  int64_t own = firstHead + head;
  if (argument.info->shared)
    own /= call.heads / call.groups;
  return {argument.at(sequence.entry, sequence.begin + token, own), argument.strides[1]};
}

recur_array GradientTask::placeParam(const Argument &argument, int64_t head) const {
  return {argument.spanBytes ? argument.at(0, 0, firstHead + head) : nullptr, 0};
}

/// A state at the start of each chunk of the part, one after another.
recur_array GradientTask::placeKept(int32_t state, int64_t head, int64_t part) const {
  if (hasAllKept(call))
    return {call.getKept(state, getKeptRow(getPartBegin(part)), firstHead + head),
            call.arguments[call.argumentCount + state].strides[0]};
  return {area + layout.kept + layout.keptChunks * offsetOf(state), arguments.initial[state].elements};
}

int32_t GradientTask::placeInputs(recur_array *arrays, int64_t token, int64_t head) const {
  for (int32_t i = 0; i < arguments.inputs; ++i)
    arrays[i] = place(arguments.input[i], token, head);
  return arguments.inputs;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The states before the first token.
void GradientTask::readStates(int64_t head) {
  for (int32_t i = 0; i < arguments.states; ++i)
    readState(arguments.initial[i], number, firstHead + head, getStart(head, 0) + offsetOf(i));
}

/// Goes forward over the part: for the states at the start of its chunks, for those behind it, or both.
void GradientTask::runStates(int64_t head, int64_t part, bool keeps, char *final) {
  recur_array arrays[mostGradientArguments];
  int32_t count = placeInputs(arrays, getPartBegin(part), head);
  for (int32_t i = 0; i < arguments.params; ++i)
    arrays[count++] = placeParam(arguments.param[i], head);
  for (int32_t i = 0; i < arguments.states; ++i)
    arrays[count++] = {call.keptCount ? call.getKept(i, getKeptRow(getPartBegin(part)), firstHead + head)
                                      : getStart(head, part) + offsetOf(i),
                       0};
  for (int32_t i = 0; i < arguments.states; ++i)
    arrays[count++] = {final ? final + offsetOf(i) : nullptr, 0};
  for (int32_t i = 0; i < arguments.states; ++i)
    arrays[count++] = keeps ? placeKept(i, head, part) : recur_array{nullptr, 0};
  gradient.states(arrays, getPartTokens(part), kernels);
}

/// The states at the start of each part.
void GradientTask::runStarts(int64_t head) {
  for (int64_t part = 0; part + 1 < parts; ++part)
    runStates(head, part, /*keeps=*/false, getStart(head, part + 1));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// What matters of the states behind the sequence, and of params so far.
void GradientTask::beginCarried(int64_t head) {
  char *carried = getCarried(head);
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    int32_t what = gradient.carried[i];
    int64_t bytes = countFloatBytes(getCarriedInfo(call.recurrence, what));
    if (what < 0)
      memset(carried, 0, size_t(bytes));
    else if (isLast)
      readState(arguments.finalCotangent[what], number, firstHead + head, carried);
    carried += bytes;
  }
}

void GradientTask::runGradient(int64_t head, int64_t part, bool hasCotangents) {
  recur_array arrays[2 * mostGradientArguments];
  int64_t first = getPartBegin(part);
  int32_t count = placeInputs(arrays, first, head);
  for (int32_t i = 0; i < arguments.outputs; ++i)
    arrays[count++] = hasCotangents ? place(arguments.outputCotangent[i], first, head) : recur_array{nullptr, 0};
  for (int32_t i = 0; i < arguments.params; ++i)
    arrays[count++] = placeParam(arguments.param[i], head);
  int32_t firstCarried = count;
  char *carried = getCarried(head);
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    arrays[count++] = {carried, 0};
    carried += countFloatBytes(getCarriedInfo(call.recurrence, gradient.carried[i]));
  }
  char *shared = area + layout.headSums;
  for (int32_t i = 0; i < arguments.inputs; ++i) {
    const Argument &argument = arguments.inputGradient[i];
    if (isLeftOut(call.recurrence, argument.info))
      continue;
    if (argument.info->shared && layout.headsPerTask > 1) {
      arrays[count++] = {argument.data ? shared : nullptr, argument.elements};
      shared += roundUp(argument.elements * argument.elementBytes * layout.keptChunks * layout.chunk);
    } else {
      arrays[count++] = place(argument, first, head);
    }
  }
  for (int32_t i = 0; i < gradient.carried_count; ++i)
    arrays[count++] = arrays[firstCarried + i];
  for (int32_t i = 0; i < gradient.kept_count; ++i)
    arrays[count++] = placeKept(gradient.kept[i], head, part);
  gradient.run(arrays, getPartTokens(part), kernels);
}

/// Adds a head's gradients of shared inputs to those of the heads before it, and gives the caller the sum of all.
void GradientTask::addShared(int64_t head, int64_t part) {
  char *from = area + layout.headSums, *sum = area + layout.sums;
  int64_t first = getPartBegin(part), tokens = getPartTokens(part), most = layout.keptChunks * layout.chunk;
  bool isLastHead = head + 1 == layout.headsPerTask;
  for (int32_t i = 0; i < arguments.inputs; ++i) {
    const Argument &argument = arguments.inputGradient[i];
    if (!argument.info->shared || isLeftOut(call.recurrence, argument.info))
      continue;
    int32_t type = argument.info->dtype;
    float *sums = reinterpret_cast<float *>(sum);
    for (int64_t token = 0; argument.data && argument.spanBytes && token < tokens; ++token) {
      char *to = isLastHead ? static_cast<char *>(place(argument, first + token, head).data) : nullptr;
      for (int64_t c = 0; c < argument.elements; ++c) {
        int64_t at = token * argument.elements + c;
        float one = readNumber(from, at, type);
        if (head)
          one = sums[at] + one;
        if (to)
          writeNumber(to, c, type, one);
        else
          sums[at] = one;
      }
    }
    from += roundUp(argument.elements * argument.elementBytes * most);
    sum += roundUp(argument.elements * int64_t(sizeof(float)) * most);
  }
}

/// From the last part to the first. The states at the start of each part are known, and where there is one part of the
/// first segment, those of its chunks.
void GradientTask::runParts() {
  bool isKept = isFirst && !isLast && parts == 1 && needsStates(call);
  for (int64_t part = parts; part-- > 0;)
    for (int64_t head = 0; head < layout.headsPerTask; ++head) {
      if (gradient.kept_count && !hasAllKept(call) && !(isKept && layout.headsPerTask == 1))
        runStates(head, part, /*keeps=*/true, nullptr);
      runGradient(head, part);
      if (layout.headsPerTask > 1)
        addShared(head, part);
    }
}

/// Gives the caller the gradients of the initial states, and leaves those of the params to be added up.
void GradientTask::finish(int64_t head) {
  char *carried = getCarried(head), *record = getParamRecord(call, number, index, firstHead + head);
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    int32_t what = gradient.carried[i];
    int64_t bytes = countFloatBytes(getCarriedInfo(call.recurrence, what));
    if (what >= 0 && isFirst)
      writeState(arguments.initialGradient[what], number, firstHead + head, carried);
    if (what < 0) {
      char *to = record;
      for (int32_t param = 0; param < -1 - what; ++param)
        if (!isLeftOut(call.recurrence, arguments.param[param].info))
          to += countFloatBytes(*arguments.param[param].info);
      memcpy(to, carried, size_t(bytes));
    }
    carried += bytes;
  }
}

void GradientTask::runWhole() {
  for (int64_t head = 0; head < layout.headsPerTask && needsStates(call); ++head)
    readStates(head);
  runGradients();
}

void GradientTask::runGradients() {
  bool areStartsKnown = isFirst && !isLast; // since runAhead
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    beginCarried(head);
    if (needsStates(call) && !areStartsKnown)
      runStarts(head);
  }
  runParts();
  for (int64_t head = 0; head < layout.headsPerTask; ++head)
    finish(head);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

void GradientTask::runAhead(GradientTask &next) {
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    readStates(head);
    for (int64_t part = 0; part < parts; ++part)
      runStates(head, part, /*keeps=*/parts == 1 && layout.headsPerTask == 1,
                part + 1 < parts ? getStart(head, part + 1) : next.getStart(head, 0));
  }
}

/// Takes the cotangents of a head's states, as they are carried but without params, from behind the segment to before
/// it. Without cotangents of outputs that is what the segment makes of them alone.
void GradientTask::runChain(int64_t head, char *carried, bool hasCotangents) {
  bool takesStates = gradient.chain_kept_count && !hasAllKept(call);
  if (takesStates && needsStates(call))
    runStarts(head);
  for (int64_t part = parts; part-- > 0;) {
    if (takesStates)
      runStates(head, part, /*keeps=*/true, nullptr);
    recur_array arrays[2 * mostGradientArguments];
    int64_t first = getPartBegin(part);
    int32_t count = placeInputs(arrays, first, head);
    for (int32_t i = 0; i < arguments.outputs; ++i)
      arrays[count++] = hasCotangents ? place(arguments.outputCotangent[i], first, head) : recur_array{nullptr, 0};
    for (int32_t i = 0; i < arguments.params; ++i)
      arrays[count++] = placeParam(arguments.param[i], head);
    for (int time = 0; time < 2; ++time) { // behind the tokens, and before them
      char *state = carried;
      for (int32_t i = 0; i < gradient.carried_count; ++i) {
        if (gradient.carried[i] < 0)
          continue;
        arrays[count++] = {state, 0};
        state += countFloatBytes(getCarriedInfo(call.recurrence, gradient.carried[i]));
      }
    }
    for (int32_t i = 0; i < gradient.chain_kept_count; ++i)
      arrays[count++] = placeKept(gradient.chain_kept[i], head, part);
    gradient.chain(arrays, getPartTokens(part), kernels);
  }
}

/// What is carried, without params, in a thread's workspace behind the kernels'.
static char *getChained(const Call &call, const GradientLayout &layout, char *kernels) {
  return kernels + call.workerBytes - layout.carriedBytes;
}

void GradientTask::runBehind(GradientTask &before) {
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    char *chained = getChained(call, layout, kernels), *state = chained;
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (int32_t what = gradient.carried[i]; what >= 0) {
        readState(arguments.finalCotangent[what], number, firstHead + head, state);
        state += countFloatBytes(*arguments.initial[what].info);
      }
    runChain(head, chained, /*hasCotangents=*/true);
    state = chained;
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (int32_t what = gradient.carried[i]; what >= 0) {
        int64_t bytes = countFloatBytes(*arguments.initial[what].info);
        memcpy(before.getCarriedState(head, what), state, size_t(bytes));
        state += bytes;
      }
  }
}

static void fill(char *to, int64_t bytes, float number) {
  for (float *element = reinterpret_cast<float *>(to); bytes > 0; bytes -= int64_t(sizeof(float)))
    *element++ = number;
}

void GradientTask::summarise(const recur_summary_info &summary) {
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    recur_array arrays[2 * mostArguments];
    int32_t count = placeInputs(arrays, segment.begin, head);
    for (int32_t i = 0; i < arguments.params; ++i)
      arrays[count++] = placeParam(arguments.param[i], head);
    char *map = getMap(head, summary), *offset = getOffset(head, summary.state);
    beginSummary(call, summary, map, offset);
    for (bool isFinal : {false, true}) { // the states that it needs are not wanted afterwards
      for (int32_t i = 0; i < summary.need_count; ++i)
        arrays[count++] = {isFinal ? nullptr : getStateBefore(head, summary.needs[i]), 0};
      count += placeSummary(summary, map, offset, arrays + count);
    }
    summary.run(arrays, segment.tokens, kernels);
  }
}

void GradientTask::apply(const recur_summary_info &summary, GradientTask &next) {
  for (int64_t head = 0; head < layout.headsPerTask; ++head)
    applySummary(summary, getStateBefore(head, summary.state), getMap(head, summary), getOffset(head, summary.state),
                 next.getStateBefore(head, summary.state), kernels);
}

void GradientTask::chain(const bool *isSought, const bool *isKnown) {
  char *chained = getChained(call, layout, kernels);
  // Sets what is carried: to what is known, or else to `one` for one state.
  auto set = [&](int64_t head, int32_t one) {
    char *state = chained;
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (int32_t what = gradient.carried[i]; what >= 0) {
        int64_t bytes = countFloatBytes(*arguments.initial[what].info);
        if (one < 0 && isKnown[what])
          memcpy(state, getCarriedState(head, what), size_t(bytes));
        else
          fill(state, bytes, what == one ? 1 : 0);
        state += bytes;
      }
  };
  auto take = [&](int32_t wanted, char *to) {
    char *state = chained;
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (int32_t what = gradient.carried[i]; what >= 0) {
        int64_t bytes = countFloatBytes(*arguments.initial[what].info);
        if (what == wanted)
          memcpy(to, state, size_t(bytes));
        state += bytes;
      }
  };
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    set(head, -1);
    runChain(head, chained, /*hasCotangents=*/true);
    for (int32_t i = 0; i < call.segmented->summary_count; ++i)
      if (int32_t state = call.segmented->summaries[i].state; isSought[state])
        take(state, getBackOffset(head, state));
    for (int32_t i = 0; i < call.segmented->summary_count; ++i) {
      const recur_summary_info &summary = call.segmented->summaries[i];
      if (!isSought[summary.state] || !isExtremum(summary))
        continue;
      set(head, summary.state);
      runChain(head, chained, /*hasCotangents=*/false);
      take(summary.state, getMap(head, summary));
    }
  }
}

void GradientTask::summariseBack(const recur_summary_info &summary, float *map, int64_t mapStride, float *offset,
                                 int64_t offsetStride) {
  // The kernel of all gradients is the chain's where it does no more; what it carries has params too.
  bool hasChain = gradient.chain != nullptr;
  bool isKnown[mostArguments] = {};
  const recur_summary_info *end = call.segmented->summaries + call.segmented->summary_count;
  for (const recur_summary_info *later = &summary + 1; later < end; ++later)
    isKnown[later->state] = true;
  int64_t size = arguments.initial[summary.state].elements;
  auto forEachCarried = [&](int64_t head, auto visit) {
    char *place = getCarried(head);
    for (int32_t i = 0; i < gradient.carried_count; ++i)
      if (int32_t what = gradient.carried[i]; what >= 0 || !hasChain) {
        visit(what, place);
        place += countFloatBytes(getCarriedInfo(call.recurrence, what));
      }
  };
  auto run = [&](int64_t head, bool hasCotangents) {
    if (hasChain)
      return runChain(head, getCarried(head), hasCotangents);
    if (needsStates(call))
      runStarts(head);
    for (int64_t part = parts; part-- > 0;) {
      if (gradient.kept_count)
        runStates(head, part, /*keeps=*/true, nullptr);
      runGradient(head, part, hasCotangents);
    }
  };
  auto take = [&](int64_t head, float *to) {
    memset(to, 0, size_t(size) * sizeof(float)); // a state that no result depends on is not carried
    forEachCarried(head, [&](int32_t what, char *place) {
      if (what == summary.state)
        memcpy(to, place, size_t(size) * sizeof(float));
    });
  };
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    if (needsStates(call))
      readStates(head);
    forEachCarried(head, [&](int32_t what, char *place) {
      if (what >= 0 && isKnown[what])
        readState(arguments.finalCotangent[what], number, firstHead + head, place);
      else
        memset(place, 0, size_t(countFloatBytes(getCarriedInfo(call.recurrence, what))));
    });
    run(head, /*hasCotangents=*/true);
    take(head, offset + head * offsetStride);
    if (!map)
      continue;
    forEachCarried(head, [&](int32_t what, char *place) {
      fill(place, countFloatBytes(getCarriedInfo(call.recurrence, what)), what == summary.state ? 1 : 0);
    });
    run(head, /*hasCotangents=*/false);
    take(head, map + head * mapStride);
  }
}

void GradientTask::applyBack(const recur_summary_info &summary, GradientTask &before) {
  for (int64_t head = 0; head < layout.headsPerTask; ++head) {
    char *behind = getCarriedState(head, summary.state), *ahead = before.getCarriedState(head, summary.state);
    char *mapBytes = getMap(head, summary), *offset = getBackOffset(head, summary.state);
    float *map = reinterpret_cast<float *>(mapBytes);
    if (isExtremum(summary)) {
      const float *from = reinterpret_cast<float *>(behind), *rest = reinterpret_cast<float *>(offset);
      for (int64_t i = 0; i < arguments.initial[summary.state].elements; ++i)
        reinterpret_cast<float *>(ahead)[i] = map[i] == 0 ? rest[i] : map[i] * from[i] + rest[i];
      continue;
    }
    for (int64_t row = 0; row < summary.map_side; ++row)
      for (int64_t column = 0; column < row; ++column) {
        float &lower = map[row * summary.map_side + column], &upper = map[column * summary.map_side + row];
        float other = lower;
        lower = upper;
        upper = other;
      }
    applySummary(summary, behind, mapBytes, offset, ahead, kernels);
  }
}
