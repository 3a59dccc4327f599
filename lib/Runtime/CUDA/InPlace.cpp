#include "Runtime/CUDA/InPlace.h"
#include "Runtime/CUDA/Phases.h"

using namespace recur::runtime;

static const recur_launch_array *findArray(const recur_launch_info &launch, int32_t number) {
  for (int32_t i = 0; i < launch.array_count; ++i)
    if (launch.arrays[i].number == number)
      return &launch.arrays[i];
  return nullptr;
}

/// A launch that comes later finds what was written. In the same one another CTA may, unless each reads what it writes:
/// a part of the channels, and not a chunk.
bool recur::runtime::mayOverwrite(const recur_kernel_info &kernel, int32_t initial, int32_t final) {
  for (int32_t writer = 0; isInPhases(kernel) && writer < kernel.launch_count; ++writer) {
    if (!findArray(kernel.launches[writer], final))
      continue;
    for (int32_t reader = writer; reader < kernel.launch_count; ++reader) {
      const recur_launch_info &launch = kernel.launches[reader];
      const recur_launch_array *read = findArray(launch, initial);
      if (read && (reader > writer || launch.chunks_are_apart || (launch.parts > 1 && read->part_dim < 0)))
        return true;
    }
  }
  return false;
}

namespace {
/// The place of a state among the arguments, before and after.
struct State {
  int32_t initial, final;
  const recur_array_info *info;
};
} // namespace

/// Visits the states of a call forward.
template <typename Visit> static void forEachState(const recur_recurrence *recurrence, Visit visit) {
  int32_t counts[4] = {}, place = 0;
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    ++counts[recurrence->arrays[i].kind];
  int32_t given = counts[RECUR_INPUT] + counts[RECUR_PARAM],
          results = given + counts[RECUR_STATE] + counts[RECUR_OUTPUT];
  for (int32_t i = 0; i < recurrence->array_count; ++i)
    if (recurrence->arrays[i].kind == RECUR_STATE) {
      visit(State{given + place, results + place, &recurrence->arrays[i]});
      ++place;
    }
}

static int64_t countBytes(const Call &resolved, const recur_array_info &info) {
  int64_t bytes = countElements(info) * getElementBytes(info), units;
  if (__builtin_mul_overflow(resolved.sequences, resolved.heads, &units) ||
      __builtin_mul_overflow(bytes, units, &bytes) || bytes > INT64_MAX / 4)
    return -1;
  return roundUp(bytes);
}

/// Whether any kernel may overwrite it, so that there is room for it.
static bool hasRoom(const recur_recurrence *recurrence, State state) {
  for (int32_t i = 0; i < recurrence->kernel_count; ++i)
    if (mayOverwrite(recurrence->kernels[i], state.initial, state.final))
      return true;
  return false;
}

int64_t recur::runtime::countStagedBytes(const Call &resolved) {
  int64_t all = 0;
  forEachState(resolved.recurrence, [&](State state) {
    int64_t own = hasRoom(resolved.recurrence, state) ? countBytes(resolved, *state.info) : 0;
    if (all >= 0 && (own < 0 || __builtin_add_overflow(all, own, &all)))
      all = -1;
  });
  return all;
}

static bool isInPlace(const Call &resolved, State state) {
  const Argument &initial = resolved.arguments[state.initial], &final = resolved.arguments[state.final];
  return final.spanBytes && initial.spanBytes && initial.data == final.data;
}

bool Staged::isNeeded(const recur_kernel_info &kernel) const {
  bool found = false;
  forEachState(staged.recurrence, [&](State state) {
    found |= isInPlace(staged, state) && mayOverwrite(kernel, state.initial, state.final);
  });
  return found;
}

const Call &Staged::getCopies() {
  call.T = 0;
  call.B = staged.sequences;
  call.sequence_offsets = call.device_offsets = nullptr;
  call.sequence_count = 0;
  copies.call = &call;
  copies.plan = RECUR_PLAN_AUTO;
  char *place =
      static_cast<char *>(call.workspace) + countWorkspaceBytes(staged) - staged.startBytes - countStagedBytes(staged);
  forEachState(staged.recurrence, [&](State state) {
    Argument &initial = staged.arguments[state.initial], &final = copies.arguments[state.final];
    bool isStaged = isInPlace(staged, state);
    final.data = nullptr;
    final.spanBytes = 0;
    final.rows = final.accepted = nullptr;
    if (!hasRoom(staged.recurrence, state))
      return;
    if (isStaged) {
      final.data = place;
      final.strides[2] = final.elements;
      final.strides[1] = final.strides[0] = final.elements * final.counts[2];
      final.spanBytes = countBytes(staged, *state.info);
      initial.data = place;
      initial.rows = initial.accepted = nullptr;
      for (int i = 0; i < 3; ++i)
        initial.strides[i] = final.strides[i];
    }
    place += countBytes(staged, *state.info);
  });
  return copies;
}
