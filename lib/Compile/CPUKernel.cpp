#include "Compile/CPUKernel.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Compile/ProgramLowering.h"
#include "dialects/Tile/Tile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace recur;
using compile::ProgramLowering;

Expected<KernelObject> recur::compileCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  if (std::optional<std::string> reason = explainNoVectorKernels(pipeline.target))
    return createStringError(*reason);
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  KernelObject result{"", kernel.getSymName().str(), int64_t(kernel.getWorkspace())};
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  LLVMContext context;
  auto module = lowering.translate(context, pipeline.target, pipeline.effort);
  if (!module)
    return module.takeError();
  auto object = codegen::emitCode(**module, pipeline.target, codegen::CodeForm::Object, pipeline.effort);
  if (!object)
    return object.takeError();
  result.object = std::move(*object);
  return result;
}

Expected<int64_t> recur::countWorkspaceBytes(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  return int64_t((*lowering.getModule().getOps<tile::KernelOp>().begin()).getWorkspace());
}

Expected<std::string> recur::printCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline, CPUStage stage) {
  ProgramLowering lowering(program);
  StringRef to = stage == CPUStage::tile ? "tile" : "lowered";
  if (Error error = lowering.run("chunk", to, pipeline))
    return std::move(error);
  if (stage == CPUStage::tile || stage == CPUStage::lowered)
    return lowering.print();
  LLVMContext context;
  auto module = lowering.translate(context, pipeline.target, pipeline.effort);
  if (!module)
    return module.takeError();
  if (stage == CPUStage::llvm)
    return codegen::printIR(**module);
  return codegen::emitCode(**module, pipeline.target, codegen::CodeForm::Assembly, pipeline.effort);
}
