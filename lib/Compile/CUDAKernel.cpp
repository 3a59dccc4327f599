#include "Compile/CUDAKernel.h"
#include "ABI/LaunchWords.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "Compile/ProgramLowering.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

char RefusedPlanError::ID;

Expected<mlir::OwningOpRef<mlir::ModuleOp>> compile::makeStepProgram(dgps::RecurrenceOp recurrence,
                                                                     PipelineOptions &options) {
  options.chunk = 1;
  auto module = copyTo("chunk", recurrence, options);
  if (!module)
    return module.takeError();
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  size_t states = program.getStates().size(),
         arrays = program.getInputs().size() + program.getParams().size() + program.getOutputs().size() + 3 * states;
  program.setKeeps(states > 0 && arrays <= abi::mostLaunchArrays);
  return std::move(*module);
}

Expected<plan::ChunkChoice> compile::chooseChunk(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  auto make = [&](int64_t chunk) { return makeChunkProgram(recurrence, pipeline, chunk); };
  return plan::findChunk(make, pipeline);
}

Expected<plan::ChunkChoice> compile::chooseGradientChunk(dgps::RecurrenceOp recurrence,
                                                         const PipelineOptions &pipeline) {
  Expected<plan::ChunkChoice> forward = chooseChunk(recurrence, pipeline);
  if (!forward)
    return forward;
  auto make = [&](int64_t chunk) -> Expected<plan::ChunkProgram> {
    PipelineOptions options = pipeline;
    options.chunk = chunk;
    Expected<GradientPrograms> programs = makeKernelGradients(recurrence, options);
    if (!programs)
      return programs.takeError();
    return plan::ChunkProgram{std::move(programs->module), programs->gradient};
  };
  return plan::findGradientChunk(make, pipeline, forward->chunk);
}

Expected<std::vector<codegen::KernelIR>> compile::lowerCUDAKernels(mlir::ModuleOp tiles,
                                                                   const PipelineOptions &pipeline) {
  ProgramLowering lowering(tiles);
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = lowering.translate(context);
  if (!module)
    return module.takeError();
  return codegen::splitKernels(**module);
}
