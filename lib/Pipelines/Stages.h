// The stages of the one way down: their names, the passes that lead to each, and how to run from one to another. recurc
// and recur-opt both go through here.
#pragma once
#include "Target/DataTypes.h"
#include "Target/Effort.h"
#include "Target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace recur {

/// How a kernel goes over the tokens; `Auto` leaves it to the emitted code.
enum class Plan { Auto, Step, Chunk, Segment, Scan, TokenLoop };

/// How a GPU multiplies factors that are made of f32 data.
enum class Precision { Exact, TF32 };

/// What is asked of a compilation as a whole. Each stage takes from it what concerns that stage.
struct PipelineOptions {
  Target target = getHostTarget();
  std::vector<Target> lowerTargets; // kernels are made for these too, for processors that lack what `target` has
  DataTypes dataTypes;              // of the caller's arrays, where a recurrence says nothing of its own
  Precision precision = Precision::Exact;
  Plan plan = Plan::Auto;
  std::optional<int64_t> chunk;       // the backend chooses when left out
  Effort effort = Effort::Full;       // of the compiler for the code
  bool backward = false;              // kernels of the gradient are made too
  bool summaries = false;             // of parts of sequences, also where no plan for a target takes them
  bool trees = false;                 // kernels of GPUs for tokens that are tried as trees are made too
  std::vector<std::string> gradients; // of these inputs, params and states alone; none named: of all
  std::string symbol;                 // of the kernel of a module with one program; the program's name if empty
};

struct Stage {
  llvm::StringRef name;
  llvm::StringRef gives; // what a module is made of after it
  llvm::StringRef op;    // and the op that it holds; empty where it is no module any more
  /// Adds the passes that lead here from the stage before; null where it is not passes that do, but code generation.
  void (*populate)(mlir::OpPassManager &passes, const PipelineOptions &options);
};

/// Every stage of the design, from the top down.
llvm::ArrayRef<Stage> getStages();
const Stage *findStage(llvm::StringRef name);
/// The lowest stage that passes lead to.
const Stage &getLastModuleStage();

/// Runs the passes of each stage below `from` (of all, when null) down to `to`, as far as passes lead, and calls
/// `after` when a stage is reached. Fails when a pass failed or left invalid IR; the context's diagnostics say how.
mlir::LogicalResult runStages(mlir::ModuleOp module, const Stage *from, const Stage &to, const PipelineOptions &options,
                              llvm::function_ref<void(const Stage &)> after = {});

/// Whether a recurrence goes from the stage `recurrence` to `lowered` at once, over the passes of the latter alone: so
/// does the plan `step` of a processor, which has nothing of chunks and tiles.
bool lowersTokens(const PipelineOptions &options);

/// How many threads the CTA has that takes one head of a sequence, or a chunk where others share its multiprocessor.
inline constexpr int64_t teamThreads = 256;

/// Adds the passes that give every program of chunks, of the stage `chunk`, the summaries of its states.
void populateSummaries(mlir::OpPassManager &passes);
/// What the phase does that goes from chunk to chunk: what states go through, the outputs too, these with inverses that
/// are not rounded to the type of the data, or all, interactions included.
enum class ChainWork { States, Outputs, PreciseOutputs, Interactions };
/// From a program of the stage `chunk` to the phases of a plan for a machine of many CTAs; a program that has none, or
/// whose chain cannot do this work, stays. With `cutShort` the last part of the channels of a state may have fewer than
/// others, which not every kernel can have; with `hasPrologue` rows that are made of rows of several tokens have a
/// phase of their own in front. `roundsFactors`: factors of the program's products may be rounded.
void populatePhases(mlir::OpPassManager &passes, bool roundsFactors, ChainWork work, bool cutShort, bool hasPrologue);

/// Adds the passes that give every program of chunks, of the stage `chunk`, the program of its gradient, and that
/// of the states which the gradient takes. It has the gradients that the options name.
void populateGradients(mlir::OpPassManager &passes, const PipelineOptions &options);

/// Adds the passes behind those of gradients that find what delays of inputs hold in arrays, and leave it unkept.
void populateHeldDelays(mlir::OpPassManager &passes);

/// Adds the passes of one program of a gradient that leave out all gradients but those of the named states.
void populateChain(mlir::OpPassManager &passes, llvm::ArrayRef<std::string> states);

/// Makes each stage known to recur-opt as the pipeline `to-STAGE`.
void registerStagePipelines();

} // namespace recur
