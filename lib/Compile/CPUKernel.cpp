#include "Compile/CPUKernel.h"
#include "ABI/KernelSignature.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Compile/ProgramLowering.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace recur;
using compile::ProgramLowering;

/// From the module, which is at stage `lowered`, to LLVM IR.
static Expected<std::unique_ptr<LoweredKernel>> translate(ProgramLowering &lowering, StringRef symbol,
                                                          int64_t workspaceBytes, const PipelineOptions &pipeline) {
  auto result = std::make_unique<LoweredKernel>();
  result->symbol = symbol.str();
  result->workspaceBytes = workspaceBytes;
  result->target = pipeline.target;
  result->effort = pipeline.effort;
  auto module = lowering.translate(result->context);
  if (!module)
    return module.takeError();
  result->module = std::move(*module);
  return std::move(result);
}

Expected<std::unique_ptr<LoweredKernel>> recur::lowerCPUKernel(chunk::ProgramOp program,
                                                               const PipelineOptions &pipeline) {
  if (std::optional<std::string> reason = explainNoVectorKernels(pipeline.target))
    return createStringError(*reason);
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  std::string symbol = kernel.getSymName().str();
  auto workspaceBytes = int64_t(kernel.getWorkspace());
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  return translate(lowering, symbol, workspaceBytes, pipeline);
}

/// The stages of chunks and tiles are none of a token's.
static Expected<mlir::LLVM::LLVMFuncOp> lowerToken(ProgramLowering &lowering, const PipelineOptions &pipeline) {
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  return *lowering.getModule().getOps<mlir::LLVM::LLVMFuncOp>().begin();
}

static int64_t getWorkspaceBytes(mlir::LLVM::LLVMFuncOp function) {
  auto bytes = function.getArgAttrOfType<mlir::IntegerAttr>(abi::WorkspaceParameter,
                                                            mlir::LLVM::LLVMDialect::getDereferenceableAttrName());
  return bytes ? bytes.getInt() : 0;
}

Expected<std::unique_ptr<LoweredKernel>> recur::lowerStepKernel(dgps::RecurrenceOp recurrence,
                                                                const PipelineOptions &pipeline) {
  ProgramLowering lowering(recurrence);
  Expected<mlir::LLVM::LLVMFuncOp> function = lowerToken(lowering, pipeline);
  if (!function)
    return function.takeError();
  return translate(lowering, function->getSymName(), getWorkspaceBytes(*function), pipeline);
}

Expected<int64_t> recur::countStepWorkspaceBytes(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  ProgramLowering lowering(recurrence);
  Expected<mlir::LLVM::LLVMFuncOp> function = lowerToken(lowering, pipeline);
  if (!function)
    return function.takeError();
  return getWorkspaceBytes(*function);
}

Expected<std::string> LoweredKernel::makeObject() {
  if (Error error = codegen::optimize(*module, target, effort))
    return std::move(error);
  return codegen::emitCode(*module, target, codegen::CodeForm::Object, effort);
}

Expected<LoweredKernel::Texts> LoweredKernel::print() const {
  std::unique_ptr<Module> copy = CloneModule(*module);
  if (Error error = codegen::optimize(*copy, target, effort))
    return std::move(error);
  Texts texts{codegen::printIR(*copy), {}};
  Expected<std::string> assembly = codegen::emitCode(*copy, target, codegen::CodeForm::Assembly, effort);
  if (!assembly)
    return assembly.takeError();
  texts.assembly = std::move(*assembly);
  return texts;
}

Expected<KernelObject> recur::compileCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  Expected<std::unique_ptr<LoweredKernel>> lowered = lowerCPUKernel(program, pipeline);
  if (!lowered)
    return lowered.takeError();
  Expected<std::string> object = (*lowered)->makeObject();
  if (!object)
    return object.takeError();
  return KernelObject{std::move(*object), (*lowered)->symbol, (*lowered)->workspaceBytes};
}

Expected<int64_t> recur::countWorkspaceBytes(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  return int64_t((*lowering.getModule().getOps<tile::KernelOp>().begin()).getWorkspace());
}
