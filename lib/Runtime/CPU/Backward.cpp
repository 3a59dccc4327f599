// Gradients on processors. A task goes over a sequence in parts of whole chunks: forward once for the states at the
// start of each part, and then from the last part to the first, where the states at the start of each of its chunks are
// computed, and the gradient's kernel goes back over them. Where there are fewer tasks than processors, sequences are
// cut into segments.
#include "Runtime/CPU/Features.h"
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/GradientSteps.h"
#include "Runtime/CPU/GradientTask.h"
#include "Runtime/CPU/Numbers.h"
#include "Runtime/CPU/ThreadPool.h"
#include "Runtime/Common/Machine.h"

using namespace recur::runtime;

namespace {

/// Sequences and groups of heads, none of which is cut.
struct Tasks {
  const Call *call;
  int64_t perSequence;
  int64_t next = 0; // the first that no slot has taken
};

} // namespace

static void runSlot(void *context, int64_t slot) {
  KernelFloatMode mode;
  Tasks &tasks = *static_cast<Tasks *>(context);
  const Call &call = *tasks.call;
  char *workspace = static_cast<char *>(call.call->workspace) + slot * call.slotBytes;
  int64_t count = call.sequences * tasks.perSequence;
  for (int64_t task; (task = __atomic_fetch_add(&tasks.next, 1, __ATOMIC_RELAXED)) < count;)
    GradientTask(call, task / tasks.perSequence, task % tasks.perSequence, 0, workspace, workspace).runWhole();
}

static void runTasks(const Call &call) {
  Tasks tasks{&call, call.heads / makeGradientLayout(call, 1).headsPerTask};
  if (call.call->parallel_for)
    call.call->parallel_for(call.call->parallel_context, call.slots, runSlot, &tasks);
  else
    runOnPool(call.slots, runSlot, &tasks);
}

/// The gradients of params: over the sequences, and over the segments of each, in their order.
static void addParams(const Call &call) {
  KernelFloatMode mode;
  GradientArguments arguments(call);
  int64_t offset = 0;
  for (int32_t i = 0; i < arguments.params; ++i) {
    const Argument &argument = arguments.paramGradient[i];
    if (isLeftOut(call.recurrence, argument.info))
      continue;
    for (int64_t head = 0; argument.data && argument.spanBytes && head < call.heads; ++head)
      for (int64_t c = 0; c < argument.elements; ++c) {
        float sum = 0;
        for (int64_t sequence = 0; sequence < call.sequences; ++sequence) {
          int64_t segments = countGradientSegments(call, getSequence(call, sequence).tokens);
          for (int64_t segment = 0; segment < segments; ++segment)
            sum += reinterpret_cast<const float *>(getParamRecord(call, sequence, segment, head) + offset)[c];
        }
        writeNumber(argument.at(0, 0, head), c, argument.info->dtype, sum);
      }
    offset += countFloatBytes(*argument.info);
  }
}

static recur_status execute(const Call &resolved) {
  if (resolved.cut.rest)
    runGradientSteps(resolved);
  else if (resolved.heads && resolved.sequences)
    runTasks(resolved);
  addParams(resolved);
  return RECUR_OK;
}

static bool canRun(const recur_recurrence *recurrence) { return hasFeatures(recurrence->features); }
static recur_status refuse(const recur_recurrence *recurrence) { return processors.refuse(recurrence); }

static recur_status addTo(const Call &, const Argument &gradient, const char *more) {
  KernelFloatMode mode;
  int32_t type = gradient.info->dtype;
  for (int64_t head = 0; head < gradient.counts[2]; ++head)
    for (int64_t i = 0; i < gradient.elements; ++i) {
      char *at = gradient.at(0, 0, head);
      float sum = readNumber(at, i, type) + readNumber(more, head * gradient.elements + i, type);
      writeNumber(at, i, type, sum);
    }
  return RECUR_OK;
}

const Machine recur::runtime::processorsBackward = {canRun, refuse, planGradient, execute, addTo, nullptr};
