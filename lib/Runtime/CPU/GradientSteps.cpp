// A sequence that is cut has steps, each of which a thread takes when those are done that it needs.
//
// Forward, the first segment gives the states before the second, and summaries of those between the first and the last
// give them before the others. Backward, the last one gives the cotangents of the states before it, and what the others
// make of cotangents gives them before those: a segment's map of cotangents is its map of states transposed. With both
// at hand a segment's gradients are its own business. Two segments need no summaries.
//
// A state whose summary needs others sends cotangents to these too, so theirs come after its own: a state is of the
// level 0 where no other's summary needs it, and else of a higher one than those that do.
#include "Runtime/CPU/GradientSteps.h"
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/GradientTask.h"
#include "Runtime/CPU/ThreadPool.h"
#include <cstring>
#include <pthread.h>

using namespace recur::runtime;

namespace {

enum class Mark : char { open, taken, done };

struct Step {
  enum Kind { Ahead, Behind, Summary, Apply, Chain, ApplyBack, Gradient } kind;
  int32_t summary; // or the level of a chain
  int64_t segment;
};

/// What of a call is the same for all sequences.
struct Plan {
  const Call &call;
  GradientLayout layout;
  int32_t summaries = 0, levels = 0;
  int32_t level[mostArguments]; // by the summary
  bool isCarried[mostArguments];
  bool hasForward, hasBackward, chainTakesStates;

  explicit Plan(const Call &call);
  const recur_summary_info &getSummary(int32_t i) const { return call.segmented->summaries[i]; }
  bool needs(int32_t i, int32_t other) const;
};

/// A group's heads of one sequence.
class Unit {
public:
  Unit(const Plan &plan, int64_t sequence, int64_t group)
      : plan(plan), sequence(sequence), group(group),
        segments(countGradientSegments(plan.call, getSequence(plan.call, sequence).tokens)),
        firstTask(getTaskIndex(plan.call, sequence, group, 0)), marks(getArea(0) + plan.layout.marks),
        count(segments == 1 ? 1 : countGradientSteps(plan.call, segments)) {}

  int64_t getCount() const { return count; }
  Mark getMark(int64_t step) const { return Mark(marks[step]); }
  void setMark(int64_t step, Mark mark) { marks[step] = char(mark); }
  void begin();
  /// Whether all is done that the step needs.
  bool isReady(int64_t step) const;
  void run(int64_t step, char *kernels);

private:
  int64_t between() const { return segments > 2 ? segments - 2 : 0; }
  Step getStep(int64_t step) const;
  int64_t getPlace(Step step) const;
  bool isPresent(Step step) const;
  bool isDone(Step step) const { return getMark(getPlace(step)) == Mark::done; }
  bool isStateKnown(int32_t summary, int64_t segment) const;
  bool areStatesKnown(int64_t segment) const;
  bool isCotangentKnown(int32_t summary, int64_t segment) const;
  bool isCotangentUsed(int32_t summary, int64_t segment) const;
  bool areChainsDone(int64_t segment) const;
  char *getArea(int64_t segment) const {
    return static_cast<char *>(plan.call.call->workspace) + (firstTask + segment) * plan.call.slotBytes;
  }
  GradientTask getTask(int64_t segment, char *kernels) const {
    return {plan.call, sequence, group, segment, getArea(segment), kernels};
  }

  const Plan &plan;
  int64_t sequence, group, segments, firstTask;
  char *marks;
  int64_t count;
};

} // namespace

Plan::Plan(const Call &call)
    : call(call), layout(makeGradientLayout(call, call.keptChunks)),
      summaries(call.segmented ? call.segmented->summary_count : 0), hasForward(needsStates(call)),
      hasBackward(carriesStates(call.recurrence)),
      chainTakesStates(call.recurrence->gradient->chain_kept_count && !hasAllKept(call)) {
  const recur_gradient_info &gradient = *call.recurrence->gradient;
  for (int32_t i = summaries; i-- > 0;) { // those that need a state come behind it
    isCarried[i] = false;
    for (int32_t j = 0; j < gradient.carried_count; ++j)
      isCarried[i] |= gradient.carried[j] == getSummary(i).state;
    level[i] = 0;
    for (int32_t other = i + 1; other < summaries; ++other)
      if (needs(other, i) && isCarried[other] && level[other] >= level[i])
        level[i] = level[other] + 1;
    levels = level[i] >= levels ? level[i] + 1 : levels;
  }
}

bool Plan::needs(int32_t i, int32_t other) const {
  for (int32_t j = 0; j < getSummary(i).need_count; ++j)
    if (getSummary(i).needs[j] == getSummary(other).state)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// The steps of a sequence
//===----------------------------------------------------------------------===//

/// Those first that others wait for: ahead, behind, summaries and their applications, chains and theirs, gradients from
/// the last segment to the first.
Step Unit::getStep(int64_t step) const {
  if (step < 2)
    return {step == 0 ? Step::Ahead : Step::Behind, 0, step == 0 ? 0 : segments - 1};
  step -= 2;
  int64_t all = plan.summaries * between();
  for (Step::Kind kind : {Step::Summary, Step::Apply, Step::Chain, Step::ApplyBack}) {
    if (step < all)
      return {kind, int32_t(step / between()), 1 + step % between()};
    step -= all;
  }
  return {Step::Gradient, 0, segments - 1 - step};
}

int64_t Unit::getPlace(Step step) const {
  if (step.kind == Step::Ahead || step.kind == Step::Behind)
    return step.kind == Step::Ahead ? 0 : 1;
  int64_t all = plan.summaries * between();
  if (step.kind == Step::Gradient)
    return 2 + 4 * all + segments - 1 - step.segment;
  return 2 + (step.kind - Step::Summary) * all + step.summary * between() + step.segment - 1;
}

bool Unit::isPresent(Step step) const {
  switch (step.kind) {
  case Step::Ahead:
  case Step::Apply:
    return plan.hasForward;
  case Step::Behind:
    return plan.hasBackward;
  case Step::Summary:
    return plan.hasForward || (plan.hasBackward && plan.isCarried[step.summary]);
  case Step::Chain:
    return plan.hasBackward && step.summary < plan.levels;
  case Step::ApplyBack:
    return plan.hasBackward && plan.isCarried[step.summary];
  case Step::Gradient:
    return true;
  }
  __builtin_unreachable();
}

void Unit::begin() {
  memset(marks, int(Mark::open), size_t(count));
  for (int64_t step = 0; segments > 1 && step < count; ++step)
    if (!isPresent(getStep(step)))
      setMark(step, Mark::done);
}

/// Before the segment. Where no steps give them, they are the caller's.
bool Unit::isStateKnown(int32_t summary, int64_t segment) const {
  if (segment == 0)
    return true;
  return isDone(segment == 1 ? Step{Step::Ahead, 0, 0} : Step{Step::Apply, summary, segment - 1});
}
bool Unit::areStatesKnown(int64_t segment) const {
  bool areKnown = isDone({Step::Ahead, 0, 0}) || segment == 0;
  for (int32_t i = 0; i < plan.summaries && areKnown; ++i)
    areKnown = isStateKnown(i, segment);
  return areKnown;
}

/// Behind the segment.
bool Unit::isCotangentKnown(int32_t summary, int64_t segment) const {
  if (segment == segments - 1)
    return true;
  return isDone(segment == segments - 2 ? Step{Step::Behind, 0, 0} : Step{Step::ApplyBack, summary, segment + 1});
}

/// Known, and nothing but the segment's gradients needs it any more, for these write over it.
bool Unit::isCotangentUsed(int32_t summary, int64_t segment) const {
  return isCotangentKnown(summary, segment) &&
         (segment == 0 || segment == segments - 1 || isDone({Step::ApplyBack, summary, segment}));
}

bool Unit::areChainsDone(int64_t segment) const {
  if (segment == segments - 1)
    return isDone({Step::Behind, 0, 0});
  for (int32_t level = 0; segment > 0 && level < plan.levels; ++level)
    if (!isDone({Step::Chain, level, segment}))
      return false;
  return true;
}

bool Unit::isReady(int64_t number) const {
  if (segments == 1)
    return true;
  Step step = getStep(number);
  int32_t summary = step.summary;
  switch (step.kind) {
  case Step::Ahead:
    return true;
  case Step::Behind:
    return !plan.chainTakesStates || areStatesKnown(step.segment);
  case Step::Summary:
    for (int32_t other = 0; other < summary; ++other)
      if (plan.needs(summary, other) && !isStateKnown(other, step.segment))
        return false;
    return true;
  case Step::Apply:
    return isDone({Step::Summary, summary, step.segment}) && isStateKnown(summary, step.segment);
  case Step::Chain:
    if ((plan.chainTakesStates && !areStatesKnown(step.segment)) ||
        (summary > 0 && !isDone({Step::Chain, summary - 1, step.segment})))
      return false;
    for (int32_t i = 0; i < plan.summaries; ++i) {
      if (plan.isCarried[i] && plan.level[i] < summary && !isCotangentKnown(i, step.segment))
        return false;
      // What the segment makes of the state's cotangent takes the place of what it makes of the state.
      if (plan.level[i] == summary && isExtremum(plan.getSummary(i)) &&
          !(isDone({Step::Summary, i, step.segment}) && isDone({Step::Apply, i, step.segment})))
        return false;
    }
    return true;
  case Step::ApplyBack: // transposes the map in its place
    return isDone({Step::Chain, plan.level[summary], step.segment}) && isDone({Step::Summary, summary, step.segment}) &&
           isDone({Step::Apply, summary, step.segment}) && isCotangentKnown(summary, step.segment);
  case Step::Gradient:
    if (!areStatesKnown(step.segment) || (plan.hasForward && !isDone({Step::Ahead, 0, 0})) ||
        (plan.chainTakesStates && !areChainsDone(step.segment))) // with which it shares where states are kept
      return false;
    if (step.segment == segments - 2 && !isDone({Step::Behind, 0, 0}))
      return false;
    for (int32_t i = 0; i < plan.summaries; ++i)
      if (plan.isCarried[i] && !isCotangentUsed(i, step.segment))
        return false;
    return true;
  }
  __builtin_unreachable();
}

void Unit::run(int64_t number, char *kernels) {
  if (segments == 1)
    return getTask(0, kernels).runWhole();
  Step step = getStep(number);
  GradientTask task = getTask(step.segment, kernels);
  switch (step.kind) {
  case Step::Ahead: {
    GradientTask next = getTask(1, kernels);
    return task.runAhead(next);
  }
  case Step::Behind: {
    GradientTask before = getTask(step.segment - 1, kernels);
    return task.runBehind(before);
  }
  case Step::Summary:
    return task.summarise(plan.getSummary(step.summary));
  case Step::Apply: {
    GradientTask next = getTask(step.segment + 1, kernels);
    return task.apply(plan.getSummary(step.summary), next);
  }
  case Step::Chain: {
    bool isSought[mostArguments] = {}, isKnown[mostArguments] = {};
    for (int32_t i = 0; i < plan.summaries; ++i) {
      isSought[plan.getSummary(i).state] = plan.isCarried[i] && plan.level[i] == step.summary;
      isKnown[plan.getSummary(i).state] = plan.isCarried[i] && plan.level[i] < step.summary;
    }
    return task.chain(isSought, isKnown);
  }
  case Step::ApplyBack: {
    GradientTask before = getTask(step.segment - 1, kernels);
    return task.applyBack(plan.getSummary(step.summary), before);
  }
  case Step::Gradient:
    return task.runGradients();
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

namespace {

/// The steps of all sequences. What a step computes does not depend on when and where it is run.
struct Steps {
  const Plan &plan;
  int64_t groups; // of a sequence
  int64_t left;   // that nobody has taken
  int64_t running = 0;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t isChanged = PTHREAD_COND_INITIALIZER;

  bool runOne(char *kernels);
};

} // namespace

/// Runs the first step that can be. The mutex is held before and after.
bool Steps::runOne(char *kernels) {
  for (int64_t sequence = 0; sequence < plan.call.sequences; ++sequence)
    for (int64_t group = 0; group < groups; ++group) {
      Unit unit(plan, sequence, group);
      for (int64_t step = 0; step < unit.getCount(); ++step) {
        if (unit.getMark(step) != Mark::open || !unit.isReady(step))
          continue;
        unit.setMark(step, Mark::taken);
        --left;
        ++running;
        pthread_mutex_unlock(&mutex);
        unit.run(step, kernels);
        pthread_mutex_lock(&mutex);
        unit.setMark(step, Mark::done);
        --running;
        pthread_cond_broadcast(&isChanged);
        return true;
      }
    }
  return false;
}

/// A thread waits only while another one runs a step, so this ends also where the threads are one after another.
static void runWorker(void *context, int64_t worker) {
  KernelFloatMode mode;
  Steps &steps = *static_cast<Steps *>(context);
  const Call &call = steps.plan.call;
  char *kernels = static_cast<char *>(call.call->workspace) + call.slots * call.slotBytes +
                  call.records * call.recordBytes + worker * call.workerBytes;
  pthread_mutex_lock(&steps.mutex);
  while (steps.left)
    if (!steps.runOne(kernels) && steps.running)
      pthread_cond_wait(&steps.isChanged, &steps.mutex);
  pthread_mutex_unlock(&steps.mutex);
}

void recur::runtime::runGradientSteps(const Call &call) {
  Plan plan(call);
  Steps steps{plan, call.heads / plan.layout.headsPerTask, 0};
  for (int64_t sequence = 0; sequence < call.sequences; ++sequence)
    for (int64_t group = 0; group < steps.groups; ++group) {
      Unit unit(plan, sequence, group);
      unit.begin();
      for (int64_t step = 0; step < unit.getCount(); ++step)
        steps.left += unit.getMark(step) == Mark::open;
    }
  if (call.call->parallel_for)
    call.call->parallel_for(call.call->parallel_context, call.workers, runWorker, &steps);
  else
    runOnPool(call.workers, runWorker, &steps);
  pthread_cond_destroy(&steps.isChanged);
  pthread_mutex_destroy(&steps.mutex);
}
