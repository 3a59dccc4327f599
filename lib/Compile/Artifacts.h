// What a library of kernels is written as: objects, headers and texts, as bytes.
#pragma once
#include "Compile/Kernels.h"

namespace recur::compile {

struct Artifact {
  std::string name; // one of getArtifactNames()
  std::string bytes;
};

/// Those that this version makes, by the names of --emit: obj, lib, so, header, manifest, asm, llvm, and
/// of GPUs ptx and cubin.
llvm::ArrayRef<llvm::StringRef> getArtifactNames();

struct Emission {
  std::vector<Artifact> artifacts; // in the order of getArtifactNames()
  std::vector<std::string> notes;  // of Kernels
};

/// Compiles the recurrences and makes what is wanted of them. Safe from several threads, each with a context.
llvm::Expected<Emission> emitArtifacts(llvm::ArrayRef<dgps::RecurrenceOp> recurrences, const PipelineOptions &pipeline,
                                       const KernelNames &names, llvm::ArrayRef<std::string> wanted);

} // namespace recur::compile
