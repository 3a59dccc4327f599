// Gradients on processors. A task is a sequence and the heads of a group that share inputs. It goes over the sequence
// in parts of whole chunks: forward once for the states at the start of each part, and then from the last part to the
// first, where the states at the start of each of its chunks are computed, and the gradient's kernel goes back over
// them.
#include "Runtime/CPU/Features.h"
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/Parts.h"
#include "Runtime/CPU/ThreadPool.h"
#include "Runtime/Common/Machine.h"
#include <cstring>

using namespace recur::runtime;

namespace {

/// The arguments of a call backward by what they are.
struct Arguments {
  int32_t inputs = 0, params = 0, states = 0, outputs = 0;
  const Argument *input, *param, *initial, *outputCotangent, *finalCotangent, *inputGradient, *paramGradient,
      *initialGradient;

  explicit Arguments(const Call &call) {
    for (int32_t i = 0; i < call.recurrence->array_count; ++i)
      switch (call.recurrence->arrays[i].kind) {
      case RECUR_INPUT:
        ++inputs;
        break;
      case RECUR_PARAM:
        ++params;
        break;
      case RECUR_STATE:
        ++states;
        break;
      default: // an output
        ++outputs;
      }
    input = call.arguments;
    param = input + inputs;
    initial = param + params;
    outputCotangent = initial + states;
    finalCotangent = outputCotangent + outputs;
    inputGradient = finalCotangent + states;
    paramGradient = inputGradient + inputs;
    initialGradient = paramGradient + params;
  }
};

/// Where the parts of a slot's workspace lie, in bytes.
struct Layout {
  int64_t chunk, chunks;                              // of the longest sequence
  int64_t keptChunks;                                 // of a part
  int64_t parts;                                      // of the longest sequence
  int64_t headsPerTask;                               // that share inputs, or one
  int64_t stateBytes;                                 // of all states of a head
  int64_t carriedBytes;                               // of what the gradient's kernel carries of a head
  int64_t kept, starts, carried, headSums, sums, end; // where they begin; the kernels' workspace comes first
};

} // namespace

static int64_t countElements(const recur_array_info &info) {
  int64_t elements = 1;
  for (int32_t i = 0; i < info.rank; ++i)
    elements *= info.shape[i];
  return elements;
}
static int64_t countFloatBytes(const recur_array_info &info) {
  return roundUp(countElements(info) * int64_t(sizeof(float)));
}
/// So many bytes at most, which no workspace has: sums of them do not overflow.
static int64_t multiply(int64_t a, int64_t b) {
  constexpr int64_t most = INT64_MAX / 16;
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}
static int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// The declaration of this kind at the place among its like.
static const recur_array_info &getInfo(const recur_recurrence *recurrence, int32_t kind, int32_t place) {
  const recur_array_info *info = recurrence->arrays;
  for (;; ++info)
    if (info->kind == kind && place-- == 0)
      return *info;
}
/// Whether there is no gradient of it, for it was left out of the build.
static bool isLeftOut(const recur_recurrence *recurrence, const recur_array_info *info) {
  for (int32_t i = 0; i < recurrence->gradient->without_count; ++i)
    if (&recurrence->arrays[recurrence->gradient->without[i]] == info)
      return true;
  return false;
}
static const recur_array_info &getCarriedInfo(const recur_recurrence *recurrence, int32_t carried) {
  return carried >= 0 ? getInfo(recurrence, RECUR_STATE, carried) : getInfo(recurrence, RECUR_PARAM, -1 - carried);
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

static Layout makeLayout(const Call &call, int64_t keptChunks) {
  const recur_recurrence *recurrence = call.recurrence;
  const recur_gradient_info &gradient = *recurrence->gradient;
  Layout layout = {};
  layout.chunk = gradient.chunk;
  layout.chunks = divideUp(call.call->T, layout.chunk);
  layout.keptChunks = keptChunks;
  layout.parts = divideUp(layout.chunks, keptChunks);
  layout.headsPerTask = 1;
  int64_t sharedElements = 0, sharedBytes = 0, sharedInputs = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &info = recurrence->arrays[i];
    if (info.kind == RECUR_STATE)
      layout.stateBytes += countFloatBytes(info);
    if (info.kind != RECUR_INPUT || !info.shared || call.groups == 0 || isLeftOut(recurrence, &info))
      continue;
    layout.headsPerTask = call.heads / call.groups;
    sharedElements += countElements(info);
    sharedBytes += countElements(info) * (info.dtype == RECUR_F32 ? 4 : 2);
    ++sharedInputs;
  }
  for (int32_t i = 0; i < gradient.carried_count; ++i)
    layout.carriedBytes += countFloatBytes(getCarriedInfo(recurrence, gradient.carried[i]));
  // What the call forward kept lies in the caller's arrays.
  bool takesStates = gradient.kept_count, isGiven = call.call->kept_interval || !takesStates;
  bool hasAll = call.call->kept_interval == layout.chunk || !takesStates;
  int64_t tokens = multiply(keptChunks, layout.chunk), room = sharedInputs * alignment;
  bool sums = layout.headsPerTask > 1;
  layout.kept = roundUp(gradient.workspace_bytes);
  layout.starts = layout.kept + (hasAll ? 0 : multiply(keptChunks, layout.stateBytes));
  int64_t starts = isGiven ? 0 : multiply(layout.headsPerTask, layout.parts + 1);
  layout.carried = layout.starts + multiply(starts, layout.stateBytes);
  layout.headSums = layout.carried + multiply(layout.headsPerTask, layout.carriedBytes);
  layout.sums = layout.headSums + (sums ? roundUp(multiply(tokens, sharedBytes) + room) : 0);
  layout.end = layout.sums + (sums ? roundUp(multiply(tokens, sharedElements * int64_t(sizeof(float))) + room) : 0);
  return layout;
}

/// The bytes of inputs, outputs and states, their cotangents and their gradients; about that many, where it is too many
/// to count.
static double countArrayBytes(const Call &call) {
  double bytes = 0;
  for (int32_t i = 0; i < call.recurrence->array_count; ++i) {
    const recur_array_info &info = call.recurrence->arrays[i];
    double each = double(countElements(info)) * (info.dtype == RECUR_F32 ? 4 : 2);
    double heads = double(info.shared ? call.groups : call.heads);
    bool hasTokens = info.kind == RECUR_INPUT || info.kind == RECUR_OUTPUT;
    bytes += 2 * each * heads * (hasTokens ? double(call.call->B) * double(call.call->T) : double(call.sequences));
  }
  return bytes;
}

/// The longest part whose states fit into the workspace: what the caller gives, or else a tenth of what the arrays
/// take, with which a long sequence trains in less than one and a half times its inputs and their gradients.
static void plan(Call &resolved) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const recur_call *call = resolved.call;
  const recur_gradient_info &gradient = *recurrence->gradient;
  int64_t threads = call->threads ? call->threads : recur_thread_count();
  int64_t tasks = resolved.sequences * resolved.heads / makeLayout(resolved, 1).headsPerTask;
  resolved.slots = tasks < threads ? tasks : threads;
  int64_t params = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == RECUR_PARAM && !isLeftOut(recurrence, &recurrence->arrays[i]))
      params += countFloatBytes(recurrence->arrays[i]);
  resolved.records = params ? resolved.sequences * resolved.heads : 0;
  resolved.recordBytes = params;
  constexpr double always = 64 << 20;
  double budget = double(call->workspace_bytes);
  if (!call->workspace_bytes) {
    budget = countArrayBytes(resolved) / 10;
    budget = budget < always ? always : budget;
  }
  int64_t chunks = divideUp(call->T, gradient.chunk);
  if (chunks < 1)
    chunks = 1;
  if (call->kept_interval > gradient.chunk) { // parts are what lies between what was kept
    int64_t given = call->kept_interval / gradient.chunk;
    resolved.keptChunks = given < chunks ? given : chunks;
    resolved.slotBytes = makeLayout(resolved, resolved.keptChunks).end;
    return;
  }
  auto measure = [&](int64_t parts) { return makeLayout(resolved, divideUp(chunks, parts)).end; };
  auto fits = [&](int64_t parts) {
    double records = double(resolved.records) * double(resolved.recordBytes);
    return double(measure(parts)) * double(resolved.slots) + records <= budget;
  };
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

//===----------------------------------------------------------------------===//
// A task
//===----------------------------------------------------------------------===//

/// A state of the caller's, or zeros, as kernels have it.
static void readState(const Argument &argument, int64_t sequence, int64_t head, char *to) {
  if (!argument.data)
    memset(to, 0, size_t(argument.elements) * sizeof(float));
  else if (argument.isTransposed)
    transpose(reinterpret_cast<const float *>(argument.at(sequence, 0, head)), reinterpret_cast<float *>(to),
              argument.info->shape[1], argument.info->shape[0]);
  else
    memcpy(to, argument.at(sequence, 0, head), size_t(argument.elements) * sizeof(float));
}
static void writeState(const Argument &argument, int64_t sequence, int64_t head, const char *from) {
  if (!argument.data || argument.elements == 0)
    return;
  if (argument.isTransposed)
    transpose(reinterpret_cast<const float *>(from), reinterpret_cast<float *>(argument.at(sequence, 0, head)),
              argument.info->shape[0], argument.info->shape[1]);
  else
    memcpy(argument.at(sequence, 0, head), from, size_t(argument.elements) * sizeof(float));
}

/// Numbers of 2 bytes, as their bits.
static float widen(uint16_t bits, int32_t type) {
  uint32_t wide;
  if (type == RECUR_BF16) {
    wide = uint32_t(bits) << 16;
  } else {
    uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent == 0) {
      float small = float(fraction) * 0x1p-24f;
      return sign ? -small : small;
    }
    wide = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | fraction << 13;
  }
  float number;
  memcpy(&number, &wide, sizeof number);
  return number;
}
/// Rounded to nearest, ties to even, and to infinity beyond the range.
static uint16_t narrow(float number, int32_t type) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000)
    return uint16_t(type == RECUR_BF16 ? bits >> 16 | 0x40 : sign | 0x7E00);
  if (type == RECUR_BF16)
    return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  if (size >= 0x477FF000) // 65520
    return uint16_t(sign | 0x7C00);
  if (size < 0x38800000) { // 2^-14: adding 1/2 leaves the bits of a multiple of 2^-24
    float magnitude;
    memcpy(&magnitude, &size, sizeof magnitude);
    magnitude += 0.5f;
    memcpy(&size, &magnitude, sizeof size);
    return uint16_t(sign | (size - 0x3F000000));
  }
  size += 0xFFF + (size >> 13 & 1);
  return uint16_t(sign | (size - 0x38000000) >> 13);
}

static float readNumber(const char *from, int64_t index, int32_t type) {
  if (type == RECUR_F32)
    return reinterpret_cast<const float *>(from)[index];
  return widen(reinterpret_cast<const uint16_t *>(from)[index], type);
}
static void writeNumber(char *to, int64_t index, int32_t type, float number) {
  if (type == RECUR_F32)
    reinterpret_cast<float *>(to)[index] = number;
  else
    reinterpret_cast<uint16_t *>(to)[index] = narrow(number, type);
}

namespace {

/// A group's heads of one sequence, in the workspace of a slot.
class Task {
public:
  Task(const Call &call, int64_t index, char *workspace)
      : call(call), gradient(*call.recurrence->gradient), arguments(call), layout(makeLayout(call, call.keptChunks)),
        workspace(workspace) {
    int64_t perSequence = call.heads / layout.headsPerTask;
    number = index / perSequence;
    firstHead = index % perSequence * layout.headsPerTask;
    sequence = getSequence(call, number);
    firstRow = countKeptRows(call, number);
  }

  void run() {
    for (int64_t head = 0; head < layout.headsPerTask; ++head)
      begin(head);
    int64_t partTokens = layout.keptChunks * layout.chunk, parts = divideUp(sequence.tokens, partTokens);
    auto tokensOf = [&](int64_t part) {
      int64_t left = sequence.tokens - part * partTokens;
      return left < partTokens ? left : partTokens;
    };
    for (int64_t head = 0; head < layout.headsPerTask && needsStates(); ++head)
      for (int64_t part = 0; part + 1 < parts; ++part)
        runStates(head, part, tokensOf(part), /*keeps=*/false);
    for (int64_t part = parts; part-- > 0;)
      for (int64_t head = 0; head < layout.headsPerTask; ++head) {
        if (gradient.kept_count && !hasAllKept())
          runStates(head, part, tokensOf(part), /*keeps=*/true);
        runGradient(head, part, tokensOf(part));
        if (layout.headsPerTask > 1)
          addShared(head, part * partTokens, tokensOf(part));
      }
    for (int64_t head = 0; head < layout.headsPerTask; ++head)
      finish(head);
  }

private:
  /// Whether the call forward kept the states of each chunk.
  bool hasAllKept() const { return call.keptCount && call.call->kept_interval == layout.chunk; }
  /// Whether states are computed again from the initial ones.
  bool needsStates() const { return gradient.kept_count && !call.keptCount; }
  char *getStart(int64_t head, int64_t part) const {
    return workspace + layout.starts + (head * (layout.parts + 1) + part) * layout.stateBytes;
  }
  char *getCarried(int64_t head) const { return workspace + layout.carried + head * layout.carriedBytes; }
  /// The token's place in an array of tokens, of the head.
  recur_array place(const Argument &argument, int64_t token, int64_t head) const {
    if (!argument.data || argument.spanBytes == 0)
      return {nullptr, 0};
    int64_t own = firstHead + head;
    if (argument.info->shared)
      own /= call.heads / call.groups;
    return {argument.at(sequence.entry, sequence.begin + token, own), argument.strides[1]};
  }
  recur_array placeParam(const Argument &argument, int64_t head) const {
    return {argument.spanBytes ? argument.at(0, 0, firstHead + head) : nullptr, 0};
  }

  /// The states before the first token, and what matters of those behind the last.
  void begin(int64_t head) {
    char *state = getStart(head, 0), *carried = getCarried(head);
    for (int32_t i = 0; i < arguments.states && needsStates(); ++i) {
      readState(arguments.initial[i], number, firstHead + head, state);
      state += countFloatBytes(*arguments.initial[i].info);
    }
    for (int32_t i = 0; i < gradient.carried_count; ++i) {
      int32_t what = gradient.carried[i];
      int64_t bytes = countFloatBytes(getCarriedInfo(call.recurrence, what));
      if (what >= 0)
        readState(arguments.finalCotangent[what], number, firstHead + head, carried);
      else
        memset(carried, 0, size_t(bytes));
      carried += bytes;
    }
  }

  /// Goes forward over the part: for the states at the start of its chunks, or for those at the start of the next part.
  void runStates(int64_t head, int64_t part, int64_t tokens, bool keeps) {
    recur_array arrays[mostGradientArguments];
    int32_t count = 0;
    int64_t first = part * layout.keptChunks * layout.chunk;
    for (int32_t i = 0; i < arguments.inputs; ++i)
      arrays[count++] = place(arguments.input[i], first, head);
    for (int32_t i = 0; i < arguments.params; ++i)
      arrays[count++] = placeParam(arguments.param[i], head);
    for (bool isFinal : {false, true}) {
      char *state = getStart(head, part + isFinal);
      for (int32_t i = 0; i < arguments.states; ++i) {
        arrays[count++] = {isFinal && keeps ? nullptr
                           : call.keptCount ? call.getKept(i, firstRow + part, firstHead + head)
                                            : state,
                           0};
        state += countFloatBytes(*arguments.initial[i].info);
      }
    }
    for (int32_t i = 0; i < arguments.states; ++i)
      arrays[count++] = keeps ? placeKept(i, head, part) : recur_array{nullptr, 0};
    gradient.states(arrays, tokens, workspace);
  }

  /// A state at the start of each chunk of the part, one after another.
  recur_array placeKept(int32_t state, int64_t head, int64_t part) const {
    if (hasAllKept())
      return {call.getKept(state, firstRow + part * layout.keptChunks, firstHead + head),
              call.arguments[call.argumentCount + state].strides[0]};
    int64_t offset = 0;
    for (int32_t i = 0; i < state; ++i)
      offset += countFloatBytes(*arguments.initial[i].info);
    return {workspace + layout.kept + layout.keptChunks * offset, arguments.initial[state].elements};
  }

  void runGradient(int64_t head, int64_t part, int64_t tokens) {
    recur_array arrays[2 * mostGradientArguments];
    int32_t count = 0;
    int64_t first = part * layout.keptChunks * layout.chunk;
    for (int32_t i = 0; i < arguments.inputs; ++i)
      arrays[count++] = place(arguments.input[i], first, head);
    for (int32_t i = 0; i < arguments.outputs; ++i)
      arrays[count++] = place(arguments.outputCotangent[i], first, head);
    for (int32_t i = 0; i < arguments.params; ++i)
      arrays[count++] = placeParam(arguments.param[i], head);
    int32_t firstCarried = count;
    char *carried = getCarried(head);
    for (int32_t i = 0; i < gradient.carried_count; ++i) {
      arrays[count++] = {carried, 0};
      carried += countFloatBytes(getCarriedInfo(call.recurrence, gradient.carried[i]));
    }
    char *shared = workspace + layout.headSums;
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
    gradient.run(arrays, tokens, workspace);
  }

  /// Adds a head's gradients of shared inputs to those of the heads before it, and gives the caller the sum of all.
  void addShared(int64_t head, int64_t first, int64_t tokens) {
    char *from = workspace + layout.headSums, *sum = workspace + layout.sums;
    int64_t most = layout.keptChunks * layout.chunk;
    bool isLast = head + 1 == layout.headsPerTask;
    for (int32_t i = 0; i < arguments.inputs; ++i) {
      const Argument &argument = arguments.inputGradient[i];
      if (!argument.info->shared || isLeftOut(call.recurrence, argument.info))
        continue;
      int32_t type = argument.info->dtype;
      float *sums = reinterpret_cast<float *>(sum);
      for (int64_t token = 0; argument.data && argument.spanBytes && token < tokens; ++token) {
        char *to = isLast ? static_cast<char *>(place(argument, first + token, head).data) : nullptr;
        for (int64_t c = 0; c < argument.elements; ++c) {
          int64_t index = token * argument.elements + c;
          float number = readNumber(from, index, type);
          if (head)
            number = sums[index] + number;
          if (to)
            writeNumber(to, c, type, number);
          else
            sums[index] = number;
        }
      }
      from += roundUp(argument.elements * argument.elementBytes * most);
      sum += roundUp(argument.elements * int64_t(sizeof(float)) * most);
    }
  }

  /// Gives the caller the gradients of the initial states, and leaves those of the params to be added up.
  void finish(int64_t head) {
    char *carried = getCarried(head);
    char *record = static_cast<char *>(call.call->workspace) + call.slots * call.slotBytes +
                   (number * call.heads + firstHead + head) * call.recordBytes;
    for (int32_t i = 0; i < gradient.carried_count; ++i) {
      int32_t what = gradient.carried[i];
      int64_t bytes = countFloatBytes(getCarriedInfo(call.recurrence, what));
      if (what >= 0) {
        writeState(arguments.initialGradient[what], number, firstHead + head, carried);
      } else {
        char *to = record;
        for (int32_t param = 0; param < -1 - what; ++param)
          if (!isLeftOut(call.recurrence, arguments.param[param].info))
            to += countFloatBytes(*arguments.param[param].info);
        memcpy(to, carried, size_t(bytes));
      }
      carried += bytes;
    }
  }

  const Call &call;
  const recur_gradient_info &gradient;
  Arguments arguments;
  Layout layout;
  char *workspace;
  int64_t number, firstHead;
  int64_t firstRow; // of the sequence, in what the call forward kept
  Sequence sequence;
};

struct Tasks {
  const Call *call;
  int64_t count;
  int64_t next = 0; // the first that no slot has taken
};

} // namespace

static void runSlot(void *context, int64_t slot) {
  KernelFloatMode mode;
  Tasks &tasks = *static_cast<Tasks *>(context);
  char *workspace = static_cast<char *>(tasks.call->call->workspace) + slot * tasks.call->slotBytes;
  for (int64_t task; (task = __atomic_fetch_add(&tasks.next, 1, __ATOMIC_RELAXED)) < tasks.count;)
    Task(*tasks.call, task, workspace).run();
}

/// The gradients of params: over the sequences in their order.
static void addParams(const Call &call) {
  KernelFloatMode mode;
  Arguments arguments(call);
  int64_t offset = 0;
  for (int32_t i = 0; i < arguments.params; ++i) {
    const Argument &argument = arguments.paramGradient[i];
    if (isLeftOut(call.recurrence, argument.info))
      continue;
    for (int64_t head = 0; argument.data && argument.spanBytes && head < call.heads; ++head)
      for (int64_t c = 0; c < argument.elements; ++c) {
        float sum = 0;
        for (int64_t sequence = 0; sequence < call.sequences; ++sequence) {
          const char *record = static_cast<char *>(call.call->workspace) + call.slots * call.slotBytes +
                               (sequence * call.heads + head) * call.recordBytes + offset;
          sum += reinterpret_cast<const float *>(record)[c];
        }
        writeNumber(argument.at(0, 0, head), c, argument.info->dtype, sum);
      }
    offset += countFloatBytes(*argument.info);
  }
}

static recur_status execute(const Call &resolved) {
  const recur_call *call = resolved.call;
  if (resolved.heads && resolved.sequences) {
    Tasks tasks{&resolved, resolved.sequences * resolved.heads / makeLayout(resolved, 1).headsPerTask};
    if (call->parallel_for)
      call->parallel_for(call->parallel_context, resolved.slots, runSlot, &tasks);
    else
      runOnPool(resolved.slots, runSlot, &tasks);
  }
  addParams(resolved);
  return RECUR_OK;
}

static bool canRun(const recur_recurrence *recurrence) { return hasFeatures(recurrence->features); }
static recur_status refuse(const recur_recurrence *recurrence) { return processors.refuse(recurrence); }

const Machine recur::runtime::processorsBackward = {canRun, refuse, plan, execute};
