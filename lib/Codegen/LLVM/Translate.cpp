#include "Codegen/LLVM/Translate.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace llvm;

Expected<std::unique_ptr<Module>> recur::translateToLLVMIR(mlir::ModuleOp lowered, LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  lowered.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(lowered, context);
  if (!module)
    return createStringError("the kernel cannot be translated");
  return std::move(module);
}
