#include "Runtime/CPU/Parts.h"
#include "Runtime/CPU/Numbers.h"
#include "Runtime/CPU/Segments.h"
#include <cstring>

using namespace recur::runtime;

char *recur::runtime::getData(const Call &call, const Part &part, const Argument &argument) {
  if (!argument.data)
    return nullptr;
  int64_t index = part.unit / call.heads, head = part.unit % call.heads;
  if (argument.isState())
    return argument.getState(index, head);
  if (argument.info->kind == RECUR_PARAM)
    return argument.at(0, 0, head);
  Sequence sequence = getSequence(call, index);
  int64_t ownHead = argument.info->shared ? head / (call.heads / call.groups) : head;
  int64_t before = argument.role == Role::Output && !isPacked(*call.call) ? call.call->replayed : 0;
  return argument.at(sequence.entry, sequence.begin + part.begin - before, ownHead);
}

/// Visits the elements of a state by the kernel's rows: with the place in the kernel's array and in the caller's.
template <typename Visit> static void forEachElement(const Argument &argument, Visit visit) {
  if (!argument.isTransposed) {
    for (int64_t i = 0; i < argument.elements; ++i)
      visit(i, i);
    return;
  }
  int64_t rows = argument.info->shape[0], columns = argument.info->shape[1];
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      visit(row * columns + column, column * rows + row);
}

/// Calls with the type as a constant, so that a loop over elements does not ask for it each time.
template <typename Body> static void forType(int32_t type, Body body) {
  type == RECUR_F32    ? body([] { return int32_t(RECUR_F32); })
  : type == RECUR_BF16 ? body([] { return int32_t(RECUR_BF16); })
                       : body([] { return int32_t(RECUR_F16); });
}

/// A state of the caller's as kernels have it: float32, by its rows.
static void takeState(const Argument &argument, const char *from, float *to) {
  if (!argument.isConverted()) {
    memcpy(to, from, size_t(argument.elements) * sizeof(float));
    return;
  }
  forType(argument.info->dtype, [&](auto type) {
    forEachElement(argument, [&](int64_t own, int64_t given) { to[own] = readNumber(from, given, type()); });
  });
}
void recur::runtime::giveState(const Argument &argument, const float *from, char *to) {
  if (!argument.isConverted()) {
    memcpy(to, from, size_t(argument.elements) * sizeof(float));
    return;
  }
  forType(argument.info->dtype, [&](auto type) {
    forEachElement(argument, [&](int64_t own, int64_t given) { writeNumber(to, given, type(), from[own]); });
  });
}

void recur::runtime::readState(const Argument &argument, int64_t sequence, int64_t head, char *to) {
  if (const char *from = argument.getState(sequence, head))
    takeState(argument, from, reinterpret_cast<float *>(to));
  else
    memset(to, 0, size_t(argument.elements) * sizeof(float));
}
void recur::runtime::writeState(const Argument &argument, int64_t sequence, int64_t head, const char *from) {
  char *to = argument.elements ? argument.getState(sequence, head) : nullptr;
  if (to)
    giveState(argument, reinterpret_cast<const float *>(from), to);
}

/// No tokens: nothing happens to the states, and final is initial.
static void copyStates(const Call &call, const recur_array *initial, const recur_array *final, int32_t states) {
  for (int32_t i = 0; i < states; ++i) {
    const Argument &argument = call.arguments[call.argumentCount - states + i];
    void *to = final[i].data;
    const void *from = initial[i].data;
    size_t bytes = size_t(argument.elements) * sizeof(float);
    if (to && from && to != from)
      memcpy(to, from, bytes);
    else if (to && !from)
      memset(to, 0, bytes);
  }
}

/// The part at once. The first of a sequence or segment that begins at a row leaves its states there.
static void runPiece(const Call &call, const Part &part, bool isFirst, const recur_kernel_info &kernel,
                     char *workspace) {
  recur_array arrays[mostArguments];
  char *free = workspace + call.slotBytes; // from its end: the caller's states where the kernel has them otherwise
  char *scratch[mostArguments];            // by the place of the state
  int32_t states = 0, firstInitial = 0, finals = 0;
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    char *data = getData(call, part, argument);
    if (argument.role == Role::Initial) {
      firstInitial = states ? firstInitial : i;
      if (argument.isConverted())
        scratch[states] = free -= countFloatBytes(*argument.info);
      if (part.before)
        data = getStateBefore(call, part.before, states);
      else if (argument.isConverted() && data) {
        takeState(argument, data, reinterpret_cast<float *>(scratch[states]));
        data = scratch[states];
      }
      if (part.rowBefore >= 0) {
        char *row = call.getKept(states, part.rowBefore, part.unit % call.heads);
        size_t bytes = size_t(argument.elements) * sizeof(float);
        if (isFirst && data)
          memcpy(row, data, bytes);
        else if (isFirst && bytes)
          memset(row, 0, bytes);
        data = row;
      }
      ++states;
    } else if (argument.role == Role::Final) {
      if (part.rowAfter >= 0)
        data = call.getKept(finals, part.rowAfter, part.unit % call.heads);
      else if (part.after)
        data = getStateBefore(call, part.after, finals);
      else if (!part.isLast)
        data = nullptr;
      else if (argument.isConverted() && data)
        data = scratch[finals];
      ++finals;
    }
    arrays[i] = {data, argument.strides[1]};
  }
  const recur_array *final = arrays + call.argumentCount - states;
  if (part.tokens > 0)
    kernel.run(arrays, part.tokens, workspace);
  else
    copyStates(call, arrays + firstInitial, final, states);
  for (int32_t i = 0; i < states && part.isLast && part.rowAfter < 0; ++i) {
    const Argument &argument = call.arguments[call.argumentCount - states + i];
    char *to = argument.isConverted() && argument.elements ? getData(call, part, argument) : nullptr;
    if (to)
      giveState(argument, static_cast<const float *>(final[i].data), to);
  }
}

/// The states in a record go to the rows of the call's pools that are those after so many tokens of a sequence.
static void keepAtMultiple(const Call &call, const Part &part, int64_t row, char *record) {
  int64_t sequence = part.unit / call.heads, head = part.unit % call.heads;
  int32_t index = call.call->interval_indices[sequence * call.call->interval_columns + row];
  for (int32_t i = 0, state = 0; index >= 0 && i < call.argumentCount; ++i)
    if (const Argument &argument = call.arguments[i]; argument.role == Role::Final) {
      const char *from = getStateBefore(call, record, state++);
      if (argument.data && argument.elements)
        giveState(argument, reinterpret_cast<const float *>(from), argument.at(index, 0, head));
    }
}

/// Pieces that end at multiples of the call's interval, with the states between them in the slot's workspace; what is
/// left behind the last of these, if only that it takes the states to where they are wanted.
static void runByIntervals(const Call &call, const Part &part, const recur_kernel_info &kernel, char *workspace) {
  int64_t interval = call.call->interval, sequence = part.unit / call.heads,
          position = call.call->positions ? call.call->positions[sequence] : 0;
  char *record = workspace + getKernelBytes(call.recurrence, call.plan, call.segmented);
  Part piece = part;
  for (int64_t end = part.begin + part.tokens;;) {
    int64_t multiple = (position + piece.begin) / interval + 1, next = multiple * interval - position;
    if (part.tokens == 0 || next > end) {
      piece.tokens = end - piece.begin;
      piece.after = part.after;
      piece.isLast = part.isLast;
      return runPiece(call, piece, /*isFirst=*/true, kernel, workspace);
    }
    piece.tokens = next - piece.begin;
    piece.after = record;
    piece.isLast = false;
    runPiece(call, piece, /*isFirst=*/true, kernel, workspace);
    keepAtMultiple(call, part, multiple - position / interval - 1, record);
    piece.begin = next;
    piece.before = record;
  }
}

void recur::runtime::runPart(const Call &call, const Part &part, const recur_kernel_info &kernel, char *workspace) {
  if (call.call->interval && !call.isBackward)
    return runByIntervals(call, part, kernel, workspace);
  int64_t interval = call.keptCount ? call.call->kept_interval : 0;
  if (!interval || part.tokens == 0)
    return runPiece(call, part, /*isFirst=*/true, kernel, workspace);
  int64_t firstRow = countKeptRows(call, part.unit / call.heads), end = part.begin + part.tokens;
  for (Part piece = part; piece.begin < end; piece.begin += piece.tokens) {
    int64_t row = piece.begin / interval, next = (row + 1) * interval;
    bool endsAtRow = next < end;
    piece.tokens = (endsAtRow ? next : end) - piece.begin;
    piece.rowBefore = piece.begin % interval == 0 ? firstRow + row : -1;
    piece.rowAfter = endsAtRow ? firstRow + row + 1 : -1;
    runPiece(call, piece, piece.begin == part.begin, kernel, workspace);
  }
}

static void fill(float *to, int64_t count, float number) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = number;
}

void recur::runtime::beginSummary(const Call &call, const recur_summary_info &summary, char *mapBytes, char *offset) {
  auto *map = reinterpret_cast<float *>(mapBytes);
  fill(map, countMapNumbers(call.recurrence, summary), summary.map_side ? 0 : summary.map_start);
  for (int64_t i = 0; i < summary.map_side; ++i)
    map[i * (summary.map_side + 1)] = 1;
  fill(getSummaryScales(summary, mapBytes), summary.map_side ? summary.scale_size : 0, 1);
  fill(reinterpret_cast<float *>(offset), countElements(getStateInfo(call.recurrence, summary.state)),
       summary.offset_start);
}

int32_t recur::runtime::placeSummary(const recur_summary_info &summary, char *map, char *offset, recur_array *arrays) {
  int32_t count = 0;
  if (summary.scale_size)
    arrays[count++] = {getSummaryScales(summary, map), 0};
  arrays[count++] = {map, 0};
  arrays[count++] = {offset, 0};
  return count;
}

void recur::runtime::runSummary(const Call &call, const Part &part, const recur_summary_info &summary, char *before,
                                char *map, char *offset, char *workspace) {
  recur_array arrays[2 * mostArguments];
  int32_t count = 0;
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    const Argument &argument = call.arguments[i];
    if (argument.role == Role::Input || argument.role == Role::Param)
      arrays[count++] = {getData(call, part, argument), argument.strides[1]};
  }
  beginSummary(call, summary, map, offset);
  for (int final = 0; final < 2; ++final) { // the states that it needs are not wanted afterwards
    for (int32_t i = 0; i < summary.need_count; ++i)
      arrays[count++] = {final ? nullptr : getStateBefore(call, before, summary.needs[i]), 0};
    count += placeSummary(summary, map, offset, arrays + count);
  }
  if (part.tokens > 0)
    summary.run(arrays, part.tokens, workspace);
}

void recur::runtime::runSummary(const Call &call, const Part &part, const recur_summary_info &summary, char *record,
                                char *workspace) {
  runSummary(call, part, summary, record, getSummaryMap(call, record), getSummaryOffset(call, record, summary),
             workspace);
}

void recur::runtime::applySummary(const recur_summary_info &summary, char *state, char *map, char *offset, char *next,
                                  char *workspace) {
  recur_array arrays[8] = {{state, 0}}; // the state, up to three parts, the state, and parts that nobody wants
  int32_t count = 1 + placeSummary(summary, map, offset, arrays + 1);
  arrays[count] = {next, 0};
  summary.apply(arrays, 1, workspace);
}

void recur::runtime::applySummary(const Call &call, const recur_summary_info &summary, char *record, char *nextRecord,
                                  char *workspace) {
  applySummary(summary, getStateBefore(call, record, summary.state), getSummaryMap(call, record),
               getSummaryOffset(call, record, summary), getStateBefore(call, nextRecord, summary.state), workspace);
}
