// The plan `step`: a kernel that goes token by token. It exists for every recurrence, whatever its class, and is the
// one for few tokens.
#pragma once
#include "Target/DataType.h"
#include "dialects/DGPS/DGPS.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace recur::conversion {

struct StepKernel {
  std::unique_ptr<llvm::Module> module; // holds the one function
  int64_t workspaceBytes;
};

/// Makes a recur_kernel of this name, with the arrays in the order that ABI/KernelSignature.h says. Inputs, params and
/// outputs have the type `storage` in memory; all arithmetic is float32. The error names the op that has no meaning
/// here.
llvm::Expected<StepKernel> makeStepKernel(dgps::RecurrenceOp recurrence, DataType storage, llvm::StringRef symbol,
                                          llvm::LLVMContext &context);

} // namespace recur::conversion
