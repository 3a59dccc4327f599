#include "Runtime/CUDA/GradientSpace.h"
#include "Runtime/CUDA/Phases.h"

using namespace recur::runtime;

static int64_t divideUp(int64_t a, int64_t b) { return a / b + (a % b != 0); }

const recur_kernel_info &recur::runtime::getRunLaunches(const Call &resolved) {
  const recur_gradient_info &gradient = *resolved.recurrence->gradient;
  return handsValues(resolved) ? *gradient.taking_launches : *gradient.run_launches;
}

bool recur::runtime::goOneByOne(const Call &resolved) {
  return isPacked(*resolved.call) && resolved.call->kept_interval && resolved.recurrence->gradient->kept_count;
}

bool recur::runtime::isRounded(const Call &resolved, int32_t place) {
  return !handsOver(resolved) && getKeptType(*resolved.recurrence->gradient, place) != RECUR_F32;
}

bool recur::runtime::isSummed(const Call &resolved, const recur_array_info &input) {
  return input.shared && resolved.heads > resolved.groups && !isLeftOut(resolved.recurrence, &input);
}

/// Whether packed sequences go together, all of them at once.
static bool areTogether(const Call &resolved) { return isPacked(*resolved.call) && !goOneByOne(resolved); }

int64_t recur::runtime::countPartChunks(const Call &resolved, int64_t partTokens) {
  int64_t chunk = resolved.recurrence->gradient->chunk;
  return areTogether(resolved) ? resolved.call->T / chunk + resolved.sequences : divideUp(partTokens, chunk);
}

namespace {

/// Gives one piece of workspace after another.
class Places {
public:
  int64_t take(__int128 numbers, int64_t bytesOfEach = sizeof(float)) {
    int64_t place = int64_t(bytes);
    __int128 end = bytes + (numbers * bytesOfEach + alignment - 1) / alignment * alignment;
    bytes = end < most ? end : most;
    return place;
  }
  int64_t getEnd() const { return bytes < most ? int64_t(bytes) : -1; }

private:
  static constexpr __int128 most = INT64_MAX / 2;
  __int128 bytes = 0;
};

} // namespace

/// What the launches of a kernel need for a part.
static int64_t countLaunchBytes(const Call &resolved, const recur_kernel_info *kernel, int64_t partTokens) {
  if (!kernel)
    return 0;
  recur_call call = *resolved.call;
  Call part;
  part.call = &call;
  part.heads = resolved.heads;
  part.sequences = goOneByOne(resolved) ? 1 : resolved.sequences;
  part.plan = resolved.plan;
  if (!areTogether(resolved)) {
    call.T = partTokens;
    call.sequence_offsets = call.device_offsets = nullptr;
  }
  __int128 bytes = __int128(part.sequences) * part.heads * roundUp(kernel->workspace_bytes);
  if (isInPhases(*kernel)) {
    int64_t phases = arrangePhases(part, *kernel).bytes;
    bytes = phases < 0 ? INT64_MAX / 2 : bytes + phases;
  }
  return bytes < INT64_MAX / 2 ? int64_t(bytes) : INT64_MAX / 2;
}

GradientSpace recur::runtime::arrangeGradient(const Call &resolved, int64_t keptChunks) {
  const recur_recurrence *recurrence = resolved.recurrence;
  const recur_gradient_info &gradient = *recurrence->gradient;
  const recur_call &call = *resolved.call;
  GradientSpace space;
  Places places;
  space.partTokens = areTogether(resolved) ? call.T : keptChunks * gradient.chunk;
  if (space.partTokens > call.T)
    space.partTokens = call.T;
  space.parts = space.partTokens ? divideUp(call.T, space.partTokens) : 1;
  int64_t together = goOneByOne(resolved) ? 1 : resolved.sequences;
  __int128 units = __int128(together) * resolved.heads;
  int64_t states = countLaunchBytes(resolved, gradient.states_launches, space.partTokens),
          run = countLaunchBytes(resolved, &getRunLaunches(resolved), space.partTokens),
          chain = countLaunchBytes(resolved, gradient.chain_launches, space.partTokens);
  run = chain > run ? chain : run;
  space.launches = places.take(states > run ? states : run, 1);
  __int128 chunks =
      __int128(countPartChunks(resolved, space.partTokens)) * (areTogether(resolved) ? 1 : together) * resolved.heads;
  for (int32_t i = 0; i < gradient.kept_count; ++i) {
    bool isCallers = hasAllKept(resolved) && !isRounded(resolved, i);
    space.kept[i] = places.take(isCallers ? 0 : chunks * countElements(getCarriedInfo(recurrence, gradient.kept[i])),
                                getTypeBytes(getKeptType(gradient, i)));
  }
  int32_t state = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (const recur_array_info &info = recurrence->arrays[i]; info.kind == RECUR_STATE)
      space.starts[state++] = places.take(needsStates(resolved) ? (space.parts - 1) * units * countElements(info) : 0);
  for (int32_t i = 0; i < gradient.carried_count; ++i) {
    __int128 elements = countElements(getCarriedInfo(recurrence, gradient.carried[i]));
    bool isParam = gradient.carried[i] < 0;
    space.carried[i] = places.take(isParam           ? elements * resolved.sequences * resolved.heads
                                   : space.parts > 1 ? elements * units
                                                     : 0);
  }
  int32_t input = 0;
  int64_t largest = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i) {
    const recur_array_info &info = recurrence->arrays[i];
    int64_t bytes = countElements(info) * getElementBytes(info);
    if (info.kind == RECUR_INPUT)
      space.perHead[input++] =
          places.take(isSummed(resolved, info) ? __int128(bytes) * call.B * space.partTokens * resolved.heads : 0, 1);
    if (info.kind == RECUR_OUTPUT && bytes > largest)
      largest = bytes;
  }
  space.zeros = places.take(largest, 1);
  space.bytes = places.getEnd();
  return space;
}

/// The fewest parts with which what is needed fits into the workspace that the caller gives, or else with the least.
/// Left to itself a call takes states of no more bytes than its arrays have, or of few.
static int64_t chooseParts(const Call &resolved, int64_t chunks) {
  const recur_call &call = *resolved.call;
  const recur_gradient_info &gradient = *resolved.recurrence->gradient;
  // Packed sequences end where the GPU alone may know.
  if (isPacked(call) || call.kept_interval || handsOver(resolved) || !gradient.kept_count)
    return 1;
  constexpr double always = 64 << 20;
  double states = 0, most = countGradientBytes(resolved), budget = double(call.workspace_bytes - resolved.startBytes);
  most = most < always ? always : most;
  for (int32_t i = 0; i < gradient.kept_count; ++i)
    states += double(countElements(getCarriedInfo(resolved.recurrence, gradient.kept[i]))) *
              double(getTypeBytes(getKeptType(gradient, i))) * double(chunks) * double(resolved.sequences) *
              double(resolved.heads);
  auto measure = [&](int64_t parts) { return double(arrangeGradient(resolved, divideUp(chunks, parts)).bytes); };
  int64_t least = 1;
  // Beyond about the root of their number, states at the start of parts are more than those that a part keeps.
  for (int64_t parts = 1; parts <= chunks && (parts - 1) * (parts - 1) <= 4 * chunks; ++parts) {
    double bytes = measure(parts);
    if (call.workspace_bytes ? bytes >= 0 && bytes <= budget : states <= most * double(parts))
      return parts;
    if (bytes < measure(least))
      least = parts;
  }
  return least;
}

void recur::runtime::planCUDAGradient(Call &resolved) {
  int64_t chunk = resolved.recurrence->gradient->chunk, chunks = divideUp(resolved.call->T, chunk);
  chunks = chunks < 1 ? 1 : chunks;
  resolved.keptChunks = divideUp(chunks, chooseParts(resolved, chunks));
  // Parts are what lies between the states that were kept.
  if (int64_t given = resolved.call->kept_interval / chunk; given > 1 && given < chunks)
    resolved.keptChunks = given;
  int64_t bytes = arrangeGradient(resolved, resolved.keptChunks).bytes;
  resolved.slots = bytes < 0 ? 2 : 1; // too much is refused
  resolved.slotBytes = bytes < 0 ? INT64_MAX : bytes;
}
