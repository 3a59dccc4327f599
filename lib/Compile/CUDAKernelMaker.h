// Makes kernels for NVIDIA GPUs, and of all of them one image, which travels in an object of this machine's with the
// descriptors.
#pragma once
#include "Codegen/NVPTX/Kernels.h"
#include "Compile/Backend.h"
#include "Compile/CUDAKernel.h"
#include "Plan/Search.h"
#include "llvm/ADT/StringSet.h"

namespace recur::compile {

chunk::ProgramOp getProgram(mlir::ModuleOp module);

/// Launches that leave something say themselves what their CTAs need.
KernelResources toResources(plan::GPUPlan plan);

/// Whether one of them goes over segments.
bool isCut(llvm::ArrayRef<codegen::InterfaceLaunch> launches);

class CUDAKernelMaker : public KernelMaker {
public:
  CUDAKernelMaker(const PipelineOptions &pipeline, const std::string &objectName, Listings &listings)
      : pipeline(pipeline), objectName(objectName), listings(listings), factory(this->pipeline.target, cudaEffort) {}
  llvm::Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, llvm::StringRef symbol) override;
  llvm::Expected<KernelResources> addProgram(chunk::ProgramOp program, llvm::StringRef symbol) override;
  llvm::Expected<std::optional<KernelResources>> addSpare(chunk::ProgramOp program, llvm::StringRef symbol,
                                                          double cycles,
                                                          llvm::ArrayRef<codegen::InterfaceLeft> offered = {}) override;
  std::optional<codegen::InterfaceLaunch> addSums(llvm::StringRef symbol) override;
  std::optional<codegen::InterfaceLaunch> addCompositions(llvm::StringRef symbol) override;
  llvm::Expected<std::vector<codegen::ObjectFile>>
  finish(llvm::MutableArrayRef<codegen::KernelInterface> interfaces) override;

  /// The image of all kernels. Where the assembler finds fault with a chain that takes summaries of segments, it does
  /// without. What it finds at fault in phases makes the plain plan take their place, then one whose registers hold
  /// nothing of the next chunk; a kernel of plan `step` is left out for it, and one of a gradient stays slow. Notes say
  /// so.
  llvm::Expected<std::string> makeImage();

  /// Of all kernels, which the factory keeps.
  struct Code {
    std::vector<std::pair<llvm::StringRef, const codegen::MadeKernel *>> kernels; // by their symbols
    std::vector<Fault> faults;
    int64_t registers = 0;

    std::string joinPTX() const;
    std::string joinCubins() const;
    llvm::Expected<std::string> printLLVM() const; // after its passes
  };
  struct Made {
    std::string symbol;
    mlir::OwningOpRef<mlir::ModuleOp> source; // with the program
    PipelineOptions pipeline;
    std::optional<plan::Search> search; // of the program
    plan::GPUKernels kernels;           // that it found, from which the code is made
    std::vector<codegen::KernelIR> code;
    bool isStep = false;
    bool isSpare = false;            // calls do without it where the assembler finds it at fault
    bool isOnly = false;             // of a gradient or a summary, which has no other kernel: a slow one is kept
    bool isLeftOut = false;          // one that calls do without, for its faults
    bool isSlow = false;             // the assembler finds it at fault in its last plan
    bool hasSlowTrees = false;       // the same of its launch for trees
    llvm::StringSet<> spilling = {}; // launches that keep a few numbers in memory
    std::vector<codegen::InterfaceLeft> offered = {}; // by the call forward

    plan::GPUPlan &getPlan() { return kernels.plan; }
    const plan::GPUPlan &getPlan() const { return kernels.plan; }
  };
  const PipelineOptions &getOptions() const { return pipeline; }
  llvm::ArrayRef<Made> getMade() const { return made; }
  llvm::MutableArrayRef<Made> getMade() { return made; }

private:
  llvm::Expected<KernelResources> add(mlir::OwningOpRef<mlir::ModuleOp> source, plan::Form from, Made kernel);
  /// Plans the kernel by its search, in the first candidate that can be lowered.
  llvm::Error compile(Made &kernel);
  /// Makes the code anew of the kernel's tiles.
  llvm::Error lower(Made &kernel);
  /// Changes the kernels that the faults are of so that they need fewer registers. Whether it did.
  llvm::Expected<bool> relieve(Made &kernel, llvm::ArrayRef<Fault> faults);
  /// The code of all kernels, cubins too if it `assembles` them. Those that have not changed are not made again.
  llvm::Expected<Code> makeAll(bool assembles);
  /// Writes the listings that were asked for.
  llvm::Error list(const Code &code, int64_t spilledBytes);
  /// Takes other plans for kernels at fault. False: there are none, and the faults stay.
  llvm::Expected<bool> avoid(llvm::ArrayRef<Fault> faults);
  /// The same of one kernel, if it has some of the faults.
  llvm::Expected<bool> avoid(Made &kernel, llvm::ArrayRef<Fault> faults);
  /// Keeps launches as they are that spill no more than the GPU's profile allows. Returns whether it kept any.
  bool allowSpills(Made &kernel, llvm::ArrayRef<Fault> faults);
  int64_t countAllowedSpills(const Made &kernel, llvm::StringRef symbol) const;
  /// Whether it is of a kernel that is kept all the same.
  bool isKept(const Fault &fault) const;
  /// Gives the kernels of the interface what their code in the end needs; those that were left out are not there.
  void complete(codegen::KernelInterface &interface);

  PipelineOptions pipeline;
  std::string objectName;
  Listings &listings;
  codegen::KernelFactory factory;
  std::vector<Made> made;
  std::optional<codegen::KernelIR> sums;         // of gradients
  std::optional<codegen::KernelIR> compositions; // of summaries
};

/// A plan as kernels are built from it, after what the assembler found at fault.
struct BuiltPlan {
  plan::GPUKernels kernels;
  bool isAnother = false; // than the search's first
};
/// Of a program of the stage `chunk`, whose kernels have this symbol. Where the assembler refuses the last plan too, it
/// is that one; whoever makes code of it is told.
llvm::Expected<BuiltPlan> planAsBuilt(chunk::ProgramOp program, llvm::StringRef symbol,
                                      const PipelineOptions &pipeline);

} // namespace recur::compile
