// Kernels for a CPU: compiled, and described to their caller.
#pragma once
#include "Codegen/Embed/Combine.h"
#include "Codegen/Embed/KernelInterface.h"
#include "Pipelines/Stages.h"
#include "dialects/DGPS/DGPS.h"

namespace recur::compile {

struct HostKernels {
  std::vector<codegen::KernelInterface> interfaces; // one for each recurrence
  std::vector<codegen::ObjectFile> objects;         // the descriptors are in the first
  std::string assembly, llvmIR;                     // to look at, where asked for
  std::vector<std::string> notes;                   // which plans a recurrence does not get, and why
};

struct HostKernelOptions {
  std::string prefix;     // before every symbol
  std::string sourceName; // for comments
  bool wantsAssembly = false, wantsLLVM = false;
  std::string variant; // ends every symbol, of a target that is not the first
};

/// An error for the targets that this version makes no kernels for: GPUs.
llvm::Error checkIsProcessor(const Target &target);

/// For every target of the options; the interfaces are those of the first.
llvm::Expected<HostKernels> compileHostKernels(llvm::ArrayRef<dgps::RecurrenceOp> recurrences,
                                               const PipelineOptions &pipeline, const HostKernelOptions &options);

} // namespace recur::compile
