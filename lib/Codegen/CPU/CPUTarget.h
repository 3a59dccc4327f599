// The CPUs that kernels are made for.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace recur {

struct CPUTarget {
  std::string name;          // as the user says it: x86-64-v3, x86-64-v4, host
  std::string cpu;           // as LLVM says it
  std::string features;      // a comma list of +feature and -feature; empty for those of the CPU
  int64_t lanes;             // f32 numbers in a vector register
  int64_t registers;         // vector registers
  bool roundsToBF16 = false; // by an instruction
};

/// The names that `lookUpCPUTarget` knows.
llvm::ArrayRef<llvm::StringRef> getCPUTargetNames();

/// The target of a name; `host` is the CPU that this runs on. An error names the targets that there are, or says what
/// the host lacks.
llvm::Expected<CPUTarget> lookUpCPUTarget(llvm::StringRef name);

} // namespace recur
