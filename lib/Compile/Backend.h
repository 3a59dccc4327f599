// What makes kernels for one kind of machine. Verbs, plans and the interface of a library know a target by its backend
// alone, so that another kind of machine is another backend and nothing else.
#pragma once
#include "Codegen/Embed/Combine.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Pipelines/Stages.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::compile {

/// Texts to look at, made along with the code where they are asked for.
struct Listings {
  bool wantsAssembly = false, wantsLLVM = false;
  std::string assembly, llvmIR;
};

/// What a kernel needs of its caller.
struct KernelResources {
  int64_t workspaceBytes = 0; // for each head that is worked on at the same time
};

/// Makes the kernels of one target, one after another, and in the end the objects that hold them.
class KernelMaker {
public:
  virtual ~KernelMaker() = default;
  /// The kernel of plan `step`, from a recurrence of the stage `recurrence`.
  virtual llvm::Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, llvm::StringRef symbol) = 0;
  /// A kernel that takes a chunk of tokens at a time, from a program of the stage `chunk`.
  virtual llvm::Expected<KernelResources> addProgram(chunk::ProgramOp program, llvm::StringRef symbol) = 0;
  /// The objects, with the descriptors of these interfaces, which name the kernels by their symbols.
  virtual llvm::Expected<std::vector<codegen::ObjectFile>>
  finish(llvm::ArrayRef<codegen::KernelInterface> interfaces) = 0;
};

class Backend {
public:
  virtual ~Backend() = default;
  /// An error where the target has no kernels for what is asked for, such as a type of data.
  virtual llvm::Error check(const PipelineOptions &pipeline) const = 0;
  /// Why the target has no kernel that takes a chunk of tokens at a time; none where it has.
  virtual std::optional<std::string> explainNoPrograms(const Target &target) const = 0;
  /// The target when a program may choose among several, and run on another machine than this one.
  virtual Target makePortable(const Target &target) const = 0;
  /// The resources of kernels, without making them. An error says which op has no kernel.
  virtual llvm::Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence,
                                                      const PipelineOptions &pipeline) const = 0;
  virtual llvm::Expected<KernelResources> measureProgram(chunk::ProgramOp program,
                                                         const PipelineOptions &pipeline) const = 0;
  /// `objectName` is that of the object with the descriptors.
  virtual std::unique_ptr<KernelMaker> start(const PipelineOptions &pipeline, const std::string &objectName,
                                             Listings &listings) const = 0;
  /// The code of a module of the last stage of modules, with `--stop-after=binary`.
  virtual llvm::Expected<std::string> generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                                   llvm::StringRef form) const = 0;
};

/// The backend of a target; an error where this version has none.
llvm::Expected<const Backend *> findBackend(const Target &target);

/// Processors: an object of LLVM's for each kernel, and one for the descriptors and the kernels of plan `step`.
const Backend &getCPUBackend();

} // namespace recur::compile
