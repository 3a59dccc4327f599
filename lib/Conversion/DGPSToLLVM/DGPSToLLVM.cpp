// Recurrences to kernels of the plan `step`.
#include "ABI/KernelSignature.h"
#include "Conversion/DGPSToLLVM/Passes.h"
#include "Conversion/DGPSToLLVM/StepBuilder.h"
#include "Target/CodeAttributes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace recur::conversion {
#define GEN_PASS_DEF_CONVERTDGPSTOLLVMPASS
#include "Conversion/DGPSToLLVM/Passes.h.inc"
} // namespace recur::conversion

using namespace mlir;
using namespace recur;
using namespace recur::conversion;

static LLVM::LLVMFuncOp makeFunction(OpBuilder &builder, Location loc, StringRef symbol) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> parameters;
  for (bool isPointer : abi::pointerParameters)
    parameters.push_back(isPointer ? Type(LLVM::LLVMPointerType::get(context)) : builder.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, symbol, type);
  function.setArgAttr(abi::WorkspaceParameter, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  function.setArgAttr(abi::WorkspaceParameter, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(abi::workspaceAlignment));
  function.setPassthroughAttr(builder.getStrArrayAttr({scalarLoopsAttribute}));
  return function;
}

namespace {
struct ConvertDGPSToLLVMPass : conversion::impl::ConvertDGPSToLLVMPassBase<ConvertDGPSToLLVMPass> {
  using ConvertDGPSToLLVMPassBase::ConvertDGPSToLLVMPassBase;
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    for (dgps::RecurrenceOp recurrence : llvm::to_vector(getOperation().getOps<dgps::RecurrenceOp>())) {
      recurrence.dropStarts();
      builder.setInsertionPoint(recurrence);
      LLVM::LLVMFuncOp function =
          makeFunction(builder, recurrence.getLoc(), symbol.empty() ? recurrence.getSymName() : StringRef(symbol));
      StepBuilder step(recurrence, function, builder);
      if (failed(step.build()))
        return signalPassFailure();
      if (int64_t bytes = step.getWorkspaceBytes())
        function.setArgAttr(abi::WorkspaceParameter, LLVM::LLVMDialect::getDereferenceableAttrName(),
                            builder.getI64IntegerAttr(bytes));
      recurrence.erase();
    }
  }
};
} // namespace
