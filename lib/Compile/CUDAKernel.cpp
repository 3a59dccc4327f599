#include "Compile/CUDAKernel.h"
#include "Compile/KernelPlans.h"
#include "Compile/ProgramLowering.h"
#include "dialects/Tile/Tile.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

static CUDAPlan describe(mlir::ModuleOp plans) {
  CUDAPlan plan;
  for (auto kernel : plans.getOps<tile::KernelOp>()) {
    plan.launches.push_back({kernel.getSymName().str(), int64_t(*kernel.getThreads()), int64_t(*kernel.getShared())});
    plan.workspaceBytes = std::max(plan.workspaceBytes, int64_t(kernel.getWorkspace()));
  }
  return plan;
}

Expected<CUDAPlan> compile::planCUDAKernel(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  return describe(lowering.getModule());
}

Expected<std::unique_ptr<Module>> compile::compileCUDAKernel(chunk::ProgramOp program, const PipelineOptions &pipeline,
                                                             LLVMContext &context, CUDAPlan &plan) {
  ProgramLowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  plan = describe(lowering.getModule());
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  return lowering.translate(context, pipeline.target, cudaEffort);
}

Expected<std::vector<TriedChunk>> compile::tryChunks(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  std::vector<int64_t> sizes = {64, 32, 16};
  if (pipeline.chunk)
    sizes = {*pipeline.chunk};
  std::vector<TriedChunk> tried;
  for (int64_t chunk : sizes) {
    PipelineOptions options = pipeline;
    options.chunk = chunk;
    auto module = copyTo("chunk", recurrence, options);
    if (!module)
      return module.takeError();
    Expected<CUDAPlan> plan = planCUDAKernel(*(**module).getOps<chunk::ProgramOp>().begin(), options);
    if (!plan)
      return plan.takeError();
    tried.push_back({chunk, std::move(*plan)});
    if (tried.back().plan.workspaceBytes == 0)
      break;
  }
  return tried;
}
