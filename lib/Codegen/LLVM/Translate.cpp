#include "Codegen/LLVM/Translate.h"
#include "Target/CodeAttributes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

/// Threads meet at a barrier together: a piece of assembly with one may not move under a condition, nor be made twice,
/// which MLIR has no attribute for.
static void keepBarriersWhole(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && call->isInlineAsm())
        if (cast<InlineAsm>(call->getCalledOperand())->getAsmString().contains("bar.sync"))
          call->setConvergent();
}

/// What loops say of themselves, where the translation finds it.
static void annotateLoops(mlir::ModuleOp lowered) {
  lowered.walk([](mlir::LLVM::BrOp branch) {
    if (mlir::Attribute annotation = branch->removeDiscardableAttr(recur::loopAnnotationAttribute))
      branch.setLoopAnnotationAttr(mlir::cast<mlir::LLVM::LoopAnnotationAttr>(annotation));
  });
}

Expected<std::unique_ptr<Module>> recur::translateToLLVMIR(mlir::ModuleOp lowered, LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  lowered.getContext()->appendDialectRegistry(registry);
  annotateLoops(lowered);
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(lowered, context);
  if (!module)
    return createStringError("the kernel cannot be translated");
  keepBarriersWhole(*module);
  return std::move(module);
}
