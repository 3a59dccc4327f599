// What makes kernels for one kind of machine. Verbs, plans and the interface of a library know a target by its backend
// alone, so that another kind of machine is another backend and nothing else.
#pragma once
#include "Codegen/Embed/Combine.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Pipelines/Stages.h"
#include "Plan/Candidate.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::compile {

/// Texts to look at, made along with the code where they are asked for.
struct Listings {
  bool wantsAssembly = false, wantsLLVM = false;
  bool wantsCubin = false; // an error where none can be made
  std::string assembly, llvmIR;
  std::string ptx, cubin;         // of GPUs, where there is one among the targets
  int64_t registers = 0;          // of a GPU's thread, at most; 0 where not known
  int64_t spilledBytes = 0;       // that a thread of a GPU keeps in memory for want of registers, at most
  std::vector<std::string> notes; // what the caller should know
  /// Adds the listings of another target behind those of this one.
  void append(Listings other);
};

/// What a kernel needs of its caller.
struct KernelResources {
  int64_t workspaceBytes = 0;                           // for each head that is worked on at the same time
  std::vector<codegen::InterfaceLaunch> launches = {};  // on a GPU
  std::vector<codegen::InterfaceLeft> left = {};        // by launches to later ones
  std::optional<codegen::InterfaceLaunch> listing = {}; // of the chunks of packed sequences
  std::optional<codegen::InterfaceLaunch> trees = {};   // of tokens that are tried as trees
  double cycles = 0;                                    // of a call on a GPU, as estimated for comparisons
};

/// A line of a report.
struct Remark {
  std::string about, text;
};

/// What a report says of kernels beside their plans.
struct KernelReport {
  struct Candidates {
    std::string kernel;
    std::vector<plan::Verdict> verdicts; // on those that have the chunk which is taken
  };
  std::vector<Candidates> candidates;
  std::vector<plan::Verdict> lostChunks; // candidates of the gradient with other chunks
  std::vector<Remark> remarks;
};

/// Makes the kernels of one target, one after another, and in the end the objects that hold them.
class KernelMaker {
public:
  virtual ~KernelMaker() = default;
  /// The kernel of plan `step`, from a recurrence of the stage `recurrence`.
  virtual llvm::Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, llvm::StringRef symbol) = 0;
  /// A kernel that takes a chunk of tokens at a time, from a program of the stage `chunk`.
  virtual llvm::Expected<KernelResources> addProgram(chunk::ProgramOp program, llvm::StringRef symbol) = 0;
  /// The same for one that calls can do without, and do where it would take more than so many cycles, or the assembler
  /// finds fault with it. Nothing where it is not made. If something is `offered` of what a call forward leaves, it is
  /// a gradient's and takes some of that.
  virtual llvm::Expected<std::optional<KernelResources>> addSpare(chunk::ProgramOp program, llvm::StringRef symbol,
                                                                  double cycles,
                                                                  llvm::ArrayRef<codegen::InterfaceLeft> offered = {}) {
    return std::nullopt;
  }
  /// The kernel that adds up what heads and sequences have of gradients, under this name if there is none yet. Nothing
  /// where the runtime adds them up itself.
  virtual std::optional<codegen::InterfaceLaunch> addSums(llvm::StringRef symbol) { return std::nullopt; }
  /// The kernel that puts summaries of parts of sequences together, under this name if there is none yet. Nothing where
  /// the summaries are those of the plan `segment`, and the runtime puts them together itself.
  virtual std::optional<codegen::InterfaceLaunch> addCompositions(llvm::StringRef symbol) { return std::nullopt; }
  /// The objects, with the descriptors of these interfaces, which name the kernels by their symbols. Where the code
  /// made in the end is that of another plan than was measured, the interfaces have its resources afterwards.
  virtual llvm::Expected<std::vector<codegen::ObjectFile>>
  finish(llvm::MutableArrayRef<codegen::KernelInterface> interfaces) = 0;
};

class Backend {
public:
  virtual ~Backend() = default;
  /// An error where the target has no kernels for what is asked for, such as a type of data.
  virtual llvm::Error check(const PipelineOptions &pipeline) const = 0;
  /// What calls of its kernels run on.
  virtual recur_device getDevice() const = 0;
  /// Why the target has no kernels of a plan, whatever the recurrence; none where it has. RECUR_PLAN_CHUNK stands for
  /// all that a chunk program becomes.
  virtual std::optional<std::string> explainNoPlan(const Target &target, recur_plan plan) const = 0;
  /// Why the target has no kernels that cut a sequence of this program into segments, where its main kernel has these
  /// resources; none where it has.
  virtual std::optional<std::string> explainNoSegments(chunk::ProgramOp program, const PipelineOptions &pipeline,
                                                       const KernelResources &resources) const = 0;
  /// When a call that is left alone takes the plan `segment`, where that needs so many tokens.
  virtual std::string explainSegmentChoice(int64_t tokensFrom) const = 0;
  /// Whether kernels of their own summarise what segments make of the states.
  virtual bool summarisesSegments() const = 0;
  /// The fewest tokens of a sequence with which a call that is left alone may take the plan, one of a chunk program.
  virtual int64_t getFirstTokens(chunk::ProgramOp program, recur_plan plan) const = 0;
  /// The options with what they leave to the target: how many tokens a chunk of the recurrence has. `lost`, if not
  /// null, gets the candidates with other numbers.
  virtual llvm::Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                                   std::vector<plan::Verdict> *lost) const = 0;
  llvm::Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const {
    return complete(recurrence, pipeline, nullptr);
  }
  /// The same for its gradient.
  virtual llvm::Expected<PipelineOptions> completeGradient(dgps::RecurrenceOp recurrence,
                                                           const PipelineOptions &pipeline,
                                                           std::vector<plan::Verdict> *lost) const {
    return complete(recurrence, pipeline, lost);
  }
  llvm::Expected<PipelineOptions> completeGradient(dgps::RecurrenceOp recurrence,
                                                   const PipelineOptions &pipeline) const {
    return completeGradient(recurrence, pipeline, nullptr);
  }
  /// The target when a program may choose among several, and run on another machine than this one.
  virtual Target makePortable(const Target &target) const = 0;
  /// The resources of kernels, without making them. An error says which op has no kernel.
  virtual llvm::Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence,
                                                      const PipelineOptions &pipeline) const = 0;
  virtual llvm::Expected<KernelResources> measureProgram(chunk::ProgramOp program,
                                                         const PipelineOptions &pipeline) const = 0;
  /// What a report says of the kernels beside their plans, where the options are complete.
  virtual llvm::Expected<KernelReport> explainKernels(dgps::RecurrenceOp recurrence,
                                                      const PipelineOptions &pipeline) const = 0;
  /// The same of the gradient's; nothing where there is nothing to say.
  virtual llvm::Expected<KernelReport> explainGradient(dgps::RecurrenceOp recurrence,
                                                       const PipelineOptions &pipeline) const {
    return KernelReport();
  }
  /// `objectName` is that of the object with the descriptors.
  virtual std::unique_ptr<KernelMaker> start(const PipelineOptions &pipeline, const std::string &objectName,
                                             Listings &listings) const = 0;
  /// The kernels of stage `tile` that a build makes of a program of the stage `chunk`, in a module of their own; null
  /// where they are what the passes of that stage make.
  virtual llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> planTiles(chunk::ProgramOp program,
                                                                      const PipelineOptions &pipeline) const {
    return mlir::OwningOpRef<mlir::ModuleOp>();
  }
  /// What generateCode makes, by the names of --emit, the usual first.
  virtual llvm::ArrayRef<llvm::StringRef> getCodeForms() const = 0;
  /// The code of a module of the last stage of modules, with `--stop-after=binary`.
  virtual llvm::Expected<std::string> generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                                   llvm::StringRef form) const = 0;
};

/// The backend of a target; an error where this version has none.
const Backend &getBackend(const Target &target);

/// Processors: an object of LLVM's for each kernel, and one for the descriptors.
const Backend &getCPUBackend();
/// NVIDIA GPUs: an image of all kernels.
const Backend &getCUDABackend();

/// The backend's completion for all recurrences of a module at once: the smallest chunk that one of them is given.
llvm::Expected<PipelineOptions> completeFor(mlir::ModuleOp module, const PipelineOptions &pipeline);

} // namespace recur::compile
