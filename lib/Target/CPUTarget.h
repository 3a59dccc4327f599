// The CPUs that kernels are made for.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace recur {

struct CPUTarget {
  std::string name;        // as the user says it: x86-64, x86-64-v3, x86-64-v4, host
  std::string cpu;         // as LLVM says it
  std::string features;    // a comma list of +feature and -feature; empty for those of the CPU
  int64_t lanes;           // f32 numbers in a vector register
  int64_t registers;       // vector registers
  bool hasBF16 = false;    // rounds to it by an instruction
  bool hasPairs = false;   // multiplies pairs of bf16 faster than f32
  std::string tuning = {}; // the CPU that code is arranged for, where it is not `cpu`
};

/// The names that `lookUpCPUTarget` knows.
llvm::ArrayRef<llvm::StringRef> getCPUTargetNames();

/// The target of a name; `host` is the CPU that this runs on. An error names the targets that there are.
llvm::Expected<CPUTarget> lookUpCPUTarget(llvm::StringRef name);

/// The target `host` of a machine with this CPU and these features, both by LLVM's names. Code that uses less of the
/// machine than it has is arranged for the CPU `tuning` all the same.
CPUTarget makeHostTarget(llvm::StringRef cpu, const llvm::StringMap<bool> &features, llvm::StringRef tuning = {});

/// Why no kernel can be made for the target that takes a chunk of tokens at a time; none where it can. Kernels that go
/// token by token can be made for every target.
std::optional<std::string> explainNoVectorKernels(const CPUTarget &target);

} // namespace recur
