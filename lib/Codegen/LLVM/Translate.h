// From the LLVM dialect to LLVM IR.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace recur {

/// The functions of a module of the LLVM dialect as LLVM IR. What is wrong with the module goes to its context's
/// diagnostics.
llvm::Expected<std::unique_ptr<llvm::Module>> translateToLLVMIR(mlir::ModuleOp lowered, llvm::LLVMContext &context);

} // namespace recur
