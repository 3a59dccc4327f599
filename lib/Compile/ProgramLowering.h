// A program's way down to LLVM IR, for backends.
#pragma once
#include "Plan/Lowering.h"
#include "llvm/IR/Module.h"

namespace recur::compile {

class ProgramLowering : public plan::Lowering {
public:
  using Lowering::Lowering;
  /// Translates the module, which is at stage `lowered`, to LLVM IR.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate(llvm::LLVMContext &context);
  /// Translates it, and optimises that.
  llvm::Expected<std::unique_ptr<llvm::Module>> translate(llvm::LLVMContext &context, const Target &target,
                                                          Effort effort);
};

} // namespace recur::compile
