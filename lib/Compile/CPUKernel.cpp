#include "Compile/CPUKernel.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Compile/ProgramLowering.h"
#include "dialects/Tile/Tile.h"

using namespace llvm;
using namespace recur;
using compile::ProgramLowering;

Expected<std::unique_ptr<LoweredKernel>> recur::lowerCPUKernel(chunk::ProgramOp program,
                                                               const PipelineOptions &pipeline) {
  if (std::optional<std::string> reason = explainNoVectorKernels(pipeline.target))
    return createStringError(*reason);
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  auto result = std::make_unique<LoweredKernel>();
  result->symbol = kernel.getSymName().str();
  result->workspaceBytes = int64_t(kernel.getWorkspace());
  result->target = pipeline.target;
  result->effort = pipeline.effort;
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  auto module = lowering.translate(result->context);
  if (!module)
    return module.takeError();
  result->module = std::move(*module);
  return std::move(result);
}

Expected<std::string> LoweredKernel::makeObject() {
  if (Error error = codegen::optimize(*module, target, codegen::Vectors::Chosen, effort))
    return std::move(error);
  return codegen::emitCode(*module, target, codegen::CodeForm::Object, effort);
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
