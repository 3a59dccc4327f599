// PTX to a cubin, by NVIDIA's assembler ptxas, which is a program of its own.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace recur {

struct Cubin {
  std::string bytes;
  int64_t registers = 0; // of a thread; of several kernels the most
};

/// Where ptxas is: what RECUR_PTXAS names, or else on the PATH, in a CUDA toolkit, or where tools/setup put it. The
/// error says how to get one.
llvm::Expected<std::string> findAssembler();

/// Runs ptxas. Kernels that would be slow without anybody knowing are refused: those that keep numbers in memory for
/// want of registers, and those whose matrix products the assembler says that it puts one after another.
llvm::Expected<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef gpu);

/// What of the assembler's report is against a kernel; empty where nothing is.
std::vector<std::string> findFaults(llvm::StringRef report);

} // namespace recur
