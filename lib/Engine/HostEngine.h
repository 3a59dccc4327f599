// Runs compiled kernels from this process, on its processor or a GPU, on the same data as the interpreters.
#pragma once
#include "Compile/Kernels.h"
#include "Data/Data.h"
#include "Engine/Memory.h"
#include "recur/Runtime.h"

namespace recur::engine {

/// How a call is made. The numbers that it computes do not depend on it, but for the offsets.
struct HostCall {
  int32_t threads = 0; // as in recur_call
  recur_parallel_for parallelFor = nullptr;
  void *parallelContext = nullptr;
  /// Sequences packed one after another: the data's batch is 1, and states are [offsets.size() - 1, H, ...].
  std::vector<int64_t> offsets = {};
};

class HostEngine {
public:
  /// Compiles the recurrence and loads its code. An error where this machine cannot run the target's.
  static llvm::Expected<std::shared_ptr<HostEngine>> create(dgps::RecurrenceOp recurrence,
                                                            const PipelineOptions &pipeline);
  /// Rounds the data to the kernel's types, and runs the kernel. What the kernel should write, and its workspace, are
  /// full of NaN before, so that no number is right by chance.
  llvm::Expected<interpreter::Results> run(const interpreter::Data &data, const HostCall &how = {}) const;
  /// Which plans the recurrence does not get, and why.
  llvm::ArrayRef<std::string> getNotes() const { return notes; }
  ~HostEngine();

private:
  HostEngine();
  struct Code;
  std::unique_ptr<Code> code;
  codegen::KernelInterface interface;
  Target target;
  recur_plan plan = RECUR_PLAN_AUTO;
  std::vector<std::string> notes;
};

/// Rounds every number to what the kernels' memory can hold: inputs and params to the data's type, states to float32.
void roundData(interpreter::Data &data, DataType type);

} // namespace recur::engine
