#include "Compile/KernelPlans.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Compile/Backend.h"
#include "Support/Errors.h"
#include "Transforms/Chunk/StatePath.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using chunk::StateForm;
using chunk::StatePath;

recur_plan compile::getRuntimePlan(Plan plan) {
  switch (plan) {
  case Plan::Auto:
    return RECUR_PLAN_AUTO;
  case Plan::Step:
    return RECUR_PLAN_STEP;
  case Plan::Chunk:
    return RECUR_PLAN_CHUNK;
  case Plan::Segment:
    return RECUR_PLAN_SEGMENT;
  case Plan::Scan:
    return RECUR_PLAN_SCAN;
  case Plan::TokenLoop:
    return RECUR_PLAN_TOKEN_LOOP;
  }
  llvm_unreachable("a plan");
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> compile::copyTo(StringRef stage, dgps::RecurrenceOp recurrence,
                                                            const PipelineOptions &pipeline) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(recurrence.getLoc());
  module->push_back(recurrence->clone());
  if (mlir::failed(runStages(*module, nullptr, *findStage(stage), pipeline)))
    return make_error<InternalError>("the passes down to stage '" + stage + "' failed");
  return std::move(module);
}

Expected<plan::ChunkProgram> compile::makeChunkProgram(dgps::RecurrenceOp recurrence, PipelineOptions pipeline,
                                                       int64_t chunk) {
  pipeline.chunk = chunk;
  auto module = copyTo("chunk", recurrence, pipeline);
  if (!module)
    return module.takeError();
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  return plan::ChunkProgram{std::move(*module), program};
}

static chunk::StateOp findState(chunk::ProgramOp program, StateForm form) {
  for (chunk::StateOp state : program.getStates())
    if (StatePath(state).getForm() == form)
      return state;
  return {};
}

recur_plan compile::getMainPlan(chunk::ProgramOp program) {
  if (findState(program, StateForm::TokenByToken))
    return RECUR_PLAN_TOKEN_LOOP;
  bool isScan = !program.getStates().empty() && !findState(program, StateForm::Products);
  return isScan ? RECUR_PLAN_SCAN : RECUR_PLAN_CHUNK;
}

std::optional<std::string> compile::explainNoPlan(chunk::ProgramOp program, recur_plan plan) {
  recur_plan main = getMainPlan(program);
  if (plan == main || plan == RECUR_PLAN_AUTO || plan == RECUR_PLAN_STEP)
    return std::nullopt;
  if (plan == RECUR_PLAN_SEGMENT)
    return chunk::findObstacle(program);
  std::string reason;
  if (main == RECUR_PLAN_SCAN)
    reason = "the elements of every state are independent of each other";
  else if (program.getStates().empty())
    reason = "it has no state";
  else if (main == RECUR_PLAN_TOKEN_LOOP)
    reason = ("state '" + findState(program, StateForm::TokenByToken).getName() + "' goes token by token").str();
  else
    reason =
        ("state '" + findState(program, StateForm::Products).getName() + "' is advanced by products with keys").str();
  return reason + "; take " + codegen::getPlanName(main).str();
}

dgps::RecurrenceOp RecurrencePlans::getRecurrence() { return *stepModule->getOps<dgps::RecurrenceOp>().begin(); }
chunk::ProgramOp RecurrencePlans::getProgram() { return *chunkModule->getOps<chunk::ProgramOp>().begin(); }

/// How many operations the summaries of all states may have. A summary has what its state is made of, the states before
/// it too: those of many states that feed one another grow with the square of their number.
static constexpr int64_t mostSummaryOperations = 600;

static int64_t countOperations(const SegmentPrograms &segments) {
  int64_t count = 0;
  for (const SegmentProgram &state : segments.states)
    for (chunk::ProgramOp program : {state.summary, state.apply})
      program->walk([&](mlir::Operation *) { ++count; });
  return count;
}

/// The workspace of the plan `segment`, which has kernels of its own beside the main one.
static Error addSegments(chunk::ProgramOp program, const Backend &backend, const PipelineOptions &pipeline,
                         KernelPlan &plan, SegmentPrograms &segments) {
  Expected<SegmentPrograms> programs = makeSegmentPrograms(program);
  if (!programs)
    return programs.takeError();
  if (int64_t count = countOperations(*programs); count > mostSummaryOperations) {
    plan = {RECUR_PLAN_SEGMENT,
            ("the summaries of its " + Twine(programs->states.size()) + " states have " + Twine(count) +
             " operations, and are compiled up to " + Twine(mostSummaryOperations) +
             "; fewer states that feed one another have shorter ones")
                .str(),
            /*isRefusedByTarget=*/true};
    return Error::success();
  }
  plan.segmentBytes = programs->segmentBytes;
  for (const SegmentProgram &state : programs->states)
    for (chunk::ProgramOp kernel : {state.summary, state.apply}) {
      Expected<KernelResources> resources = backend.measureProgram(kernel, pipeline);
      if (!resources) {
        plan = {RECUR_PLAN_SEGMENT, toString(resources.takeError()), /*isRefusedByTarget=*/true};
        return Error::success();
      }
      plan.workspaceBytes = std::max(plan.workspaceBytes, resources->workspaceBytes);
    }
  segments = std::move(*programs);
  return Error::success();
}

static Error addChunkPlans(RecurrencePlans &decided, const Backend &backend) {
  const PipelineOptions &pipeline = decided.pipeline;
  chunk::ProgramOp program = decided.getProgram();
  Expected<KernelResources> resources = backend.measureProgram(program, pipeline);
  std::string noKernel = resources ? backend.explainNoPlan(pipeline.target, RECUR_PLAN_CHUNK).value_or("")
                                   : toString(resources.takeError());
  for (recur_plan plan : {RECUR_PLAN_CHUNK, RECUR_PLAN_SEGMENT, RECUR_PLAN_SCAN, RECUR_PLAN_TOKEN_LOOP}) {
    bool isCut = plan == RECUR_PLAN_SEGMENT && noKernel.empty();
    std::optional<std::string> whyNot =
        isCut ? backend.explainNoSegments(program, pipeline, *resources) : explainNoPlan(program, plan);
    KernelPlan found{plan, whyNot.value_or("")};
    if (found.isAvailable()) {
      found.whyNot = noKernel;
      found.isRefusedByTarget = !noKernel.empty();
    }
    if (found.isAvailable()) {
      found.chunk = program.getChunk();
      found.tokensFrom = backend.getFirstTokens(program, plan);
      found.workspaceBytes = resources->workspaceBytes;
      if (isCut && backend.summarisesSegments())
        if (Error error = addSegments(program, backend, pipeline, found, decided.segments))
          return error;
    }
    decided.plans.push_back(std::move(found));
  }
  return Error::success();
}

Expected<RecurrencePlans> compile::decidePlans(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  const Backend &backend = getBackend(pipeline.target);
  Expected<PipelineOptions> completed = backend.complete(recurrence, pipeline);
  if (!completed)
    return completed.takeError();
  RecurrencePlans decided;
  decided.pipeline = std::move(*completed);
  for (auto [stage, module] : {std::pair("recurrence", &decided.stepModule), {"chunk", &decided.chunkModule}}) {
    auto copy = copyTo(stage, recurrence, decided.pipeline);
    if (!copy)
      return copy.takeError();
    *module = std::move(*copy);
  }
  KernelPlan step{RECUR_PLAN_STEP, backend.explainNoPlan(pipeline.target, RECUR_PLAN_STEP).value_or("")};
  if (step.isAvailable()) {
    Expected<KernelResources> resources = backend.measureStep(decided.getRecurrence(), decided.pipeline);
    if (!resources)
      return resources.takeError();
    step.workspaceBytes = resources->workspaceBytes;
  }
  decided.plans.push_back(std::move(step));
  if (Error error = addChunkPlans(decided, backend))
    return std::move(error);
  return std::move(decided);
}

Expected<std::vector<KernelPlan>> compile::listKernelPlans(dgps::RecurrenceOp recurrence,
                                                           const PipelineOptions &pipeline) {
  Expected<RecurrencePlans> decided = decidePlans(recurrence, pipeline);
  if (!decided)
    return decided.takeError();
  return std::move(decided->plans);
}
