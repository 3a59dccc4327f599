#include "Compile/Backend.h"

using namespace llvm;
using namespace recur;

const compile::Backend &compile::getBackend(const Target &target) {
  switch (target.kind) {
  case TargetKind::CPU:
    return getCPUBackend();
  case TargetKind::GPU:
    return getCUDABackend();
  }
  llvm_unreachable("a kind of target");
}

Expected<PipelineOptions> compile::completeFor(mlir::ModuleOp module, const PipelineOptions &pipeline) {
  PipelineOptions all = pipeline;
  for (dgps::RecurrenceOp recurrence : module.getOps<dgps::RecurrenceOp>()) {
    Expected<PipelineOptions> one = getBackend(pipeline.target).complete(recurrence, pipeline);
    if (!one)
      return one.takeError();
    if (one->chunk && (!all.chunk || *one->chunk < *all.chunk))
      all.chunk = one->chunk;
  }
  return all;
}

void compile::Listings::append(Listings other) {
  assembly += other.assembly;
  llvmIR += other.llvmIR;
  ptx += other.ptx;
  cubin += other.cubin;
  registers = std::max(registers, other.registers);
  append_range(notes, other.notes);
}
