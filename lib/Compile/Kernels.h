// From recurrences to kernels of every target that is asked for, and their description to a caller.
#pragma once
#include "Compile/Backend.h"

namespace recur::compile {

struct Kernels {
  std::vector<codegen::KernelInterface> interfaces; // one for each recurrence; of several targets, those of the first
  std::vector<std::vector<codegen::KernelInterface>> lower; // those of each of the others
  std::vector<codegen::ObjectFile> objects;                 // the descriptors are in the first
  std::vector<std::string> notes;                           // which plans a recurrence does not get, and why
};

struct KernelNames {
  std::string prefix;     // before every symbol
  std::string sourceName; // for comments
};

/// Makes kernels for every target of the options. The listings have those of all targets, one after another.
llvm::Expected<Kernels> compileKernels(llvm::ArrayRef<dgps::RecurrenceOp> recurrences, const PipelineOptions &pipeline,
                                       const KernelNames &names, Listings &listings);

} // namespace recur::compile
