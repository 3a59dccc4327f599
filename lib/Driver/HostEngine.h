// Runs compiled kernels in this process, on the same data as the interpreters.
#pragma once
#include "Driver/HostKernels.h"
#include "Interpreter/Data.h"

namespace recur::driver {

class HostEngine {
public:
  /// Compiles the recurrence and loads its code. An error where this machine cannot run the target's.
  static llvm::Expected<std::shared_ptr<HostEngine>> create(dgps::RecurrenceOp recurrence,
                                                            const PipelineOptions &pipeline);
  /// Rounds the data to the kernel's types, and runs the kernel.
  llvm::Expected<interpreter::Results> run(const interpreter::Data &data) const;
  ~HostEngine();

private:
  HostEngine();
  struct Code;
  std::unique_ptr<Code> code;
  codegen::KernelInterface interface;
  recur_plan plan = RECUR_PLAN_AUTO;
};

/// Rounds every number to what the kernels' memory can hold: inputs and params to the data's type, states to float32.
void roundData(interpreter::Data &data, DataType type);

} // namespace recur::driver
