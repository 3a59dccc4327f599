// From recurrences to kernels of every target that is asked for, and their description to a caller.
#pragma once
#include "Compile/Backend.h"

namespace recur::compile {

struct Kernels {
  std::vector<codegen::KernelInterface> interfaces; // one for each recurrence; of several targets, those of the first
  std::vector<codegen::ObjectFile> objects;         // the descriptors are in the first
  std::vector<std::string> notes;                   // which plans a recurrence does not get, and why
};

struct KernelNames {
  std::string prefix;     // before every symbol
  std::string sourceName; // for comments
};

/// For every target of the options. Listings are of all of them, one after another.
llvm::Expected<Kernels> compileKernels(llvm::ArrayRef<dgps::RecurrenceOp> recurrences, const PipelineOptions &pipeline,
                                       const KernelNames &names, Listings &listings);

} // namespace recur::compile
