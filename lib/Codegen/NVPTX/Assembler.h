// PTX to a cubin, by NVIDIA's assembler ptxas, which is a program of its own.
#pragma once
#include "Target/GPUProfile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace recur {

/// Why a kernel would be slow without anybody knowing: it keeps numbers in memory for want of
/// registers, or the assembler says that it puts its matrix products one after another.
struct Fault {
  std::string kernel; // empty where the assembler does not say which
  std::string text;
  int64_t spilledBytes = 0; // of a thread, where that is all
};

struct Cubin {
  std::string bytes;
  int64_t registers = 0; // of a thread; of several kernels the most
  std::vector<Fault> faults;
};

/// Where ptxas is: what RECUR_PTXAS names, or else on the PATH, in a CUDA toolkit, or where tools/setup put it. The
/// error says how to get one.
llvm::Expected<std::string> findAssembler();

/// An error where RECUR_GPU_IMAGE has a value that it cannot have.
llvm::Error checkImageVariable();

/// Whether kernels for the GPU stay PTX, which the driver compiles when they are loaded: those of a portable target;
/// with RECUR_GPU_IMAGE=ptx all, to run the plans of one GPU on a later one; and where there is no assembler.
bool keepsPTX(const GPUProfile &gpu);

/// Runs ptxas.
llvm::Expected<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef gpu);

/// The faults of kernels that the assembler's report tells of.
std::vector<Fault> findFaults(llvm::StringRef report);

/// An error where there are faults.
llvm::Error refuseFaults(llvm::ArrayRef<Fault> faults);

} // namespace recur
