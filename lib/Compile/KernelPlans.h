// The plans that a recurrence can be computed by on a target, and why it cannot by the others.
//
// Every recurrence has a kernel of plan `step`, and one that takes a chunk of tokens at a time. The latter is named
// after the state that is hardest to take so: `token-loop` where a state goes token by token (all that does not depend
// on it is still computed a chunk at a time), `chunk` where products with keys carry a state on, and `scan` where every
// element of every state goes by itself. A recurrence without a state has `chunk`. The plan `segment` runs that kernel
// on several segments of a sequence at once; each state must have a summary of what a segment does to it.
#pragma once
#include "Compile/SegmentPrograms.h"
#include "Pipelines/Stages.h"
#include "Plan/Chunks.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "recur/Runtime.h"
#include "llvm/Support/Error.h"

namespace recur::compile {

/// More tokens than a sequence has: a plan from which on is never taken where it is not asked for.
inline constexpr int64_t noTokens = int64_t(1) << 40;

struct KernelPlan {
  recur_plan plan;
  std::string whyNot;             // empty where there is a kernel
  bool isRefusedByTarget = false; // the recurrence has the plan, and the target no kernel of it
  int64_t chunk = 0;              // tokens in a chunk; 0 for plans without
  int64_t workspaceBytes = 0;     // for each head that is worked on at the same time
  int64_t segmentBytes = 0;       // besides, for each segment of a sequence; of the plan `segment`
  int64_t tokensFrom = 0;         // the least with which a call left alone may take it
  bool isAvailable() const { return whyNot.empty(); }
};

/// What is decided about a recurrence once, for everything that explains, builds, checks or measures its kernels.
struct RecurrencePlans {
  std::vector<KernelPlan> plans;                 // every plan but `auto`, in the order of recur_plan
  PipelineOptions pipeline;                      // with what was left to the target
  mlir::OwningOpRef<mlir::ModuleOp> stepModule;  // with the recurrence that the kernel of plan `step` is made from
  mlir::OwningOpRef<mlir::ModuleOp> chunkModule; // with the program of those that take a chunk at a time
  SegmentPrograms segments;                      // where there is the plan `segment`
  dgps::RecurrenceOp getRecurrence();
  chunk::ProgramOp getProgram();
};

/// Decides which plans the recurrence gets for the options' target.
llvm::Expected<RecurrencePlans> decidePlans(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

/// The plans alone.
llvm::Expected<std::vector<KernelPlan>> listKernelPlans(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);

/// The plan that the kernel of a chunk program is named after: `chunk`, `scan` or `token-loop`.
recur_plan getMainPlan(chunk::ProgramOp program);

/// Why the program has no kernel of the plan, as `state 'S' is …; take chunk`; none where it has.
std::optional<std::string> explainNoPlan(chunk::ProgramOp program, recur_plan plan);

/// The plan as the runtime knows it.
recur_plan getRuntimePlan(Plan plan);

/// The recurrence's program with chunks of so many tokens.
llvm::Expected<plan::ChunkProgram> makeChunkProgram(dgps::RecurrenceOp recurrence, PipelineOptions pipeline,
                                                    int64_t chunk);

/// A copy of the recurrence, by itself in a module, that went down to the stage of this name.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> copyTo(llvm::StringRef stage, dgps::RecurrenceOp recurrence,
                                                         const PipelineOptions &pipeline);

} // namespace recur::compile
