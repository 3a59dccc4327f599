#include "Compile/CUDAKernel.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Compile/KernelPlans.h"
#include "dialects/Tile/Tile.h"
#include "llvm/IR/LLVMContext.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

static constexpr int64_t chunks[] = {64, 32, 16};

static tile::KernelOp getKernel(mlir::ModuleOp module) { return *module.getOps<tile::KernelOp>().begin(); }

/// The plan with the largest chunk that fits.
static Expected<mlir::OwningOpRef<mlir::ModuleOp>> makePlan(dgps::RecurrenceOp recurrence, PipelineOptions &pipeline) {
  if (pipeline.chunk)
    return copyTo("tile", recurrence, pipeline);
  for (int64_t chunk : chunks) {
    pipeline.chunk = chunk;
    auto plan = copyTo("tile", recurrence, pipeline);
    if (!plan || getKernel(**plan).getWorkspace() == 0 || chunk == std::end(chunks)[-1])
      return plan;
  }
  llvm_unreachable("there are chunks");
}

Expected<CUDAKernel> compile::compileCUDAKernel(dgps::RecurrenceOp recurrence, PipelineOptions pipeline) {
  auto plan = makePlan(recurrence, pipeline);
  if (!plan)
    return plan.takeError();
  tile::KernelOp kernel = getKernel(**plan);
  CUDAKernel result{
      kernel.getSymName().str(),     {}, *pipeline.chunk, int64_t(*kernel.getThreads()), int64_t(*kernel.getShared()),
      int64_t(kernel.getWorkspace())};
  if (mlir::failed(runStages(**plan, findStage("tile"), *findStage("lowered"), pipeline)))
    return createStringError("the passes of stage 'lowered' failed");
  LLVMContext context;
  auto module = translateToLLVMIR(**plan, context);
  if (!module)
    return module.takeError();
  if (Error error = codegen::optimize(**module, pipeline.target, codegen::Vectors::Chosen, pipeline.effort))
    return std::move(error);
  auto ptx = codegen::emitCode(**module, pipeline.target, codegen::CodeForm::Assembly, pipeline.effort);
  if (!ptx)
    return ptx.takeError();
  result.ptx = std::move(*ptx);
  return result;
}
