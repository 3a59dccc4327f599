// Kernels of an Arm processor, run on this machine under an emulator: on the same data as those of the host.
#pragma once
#include "Compile/Kernels.h"
#include "Data/Data.h"
#include "recur/Runtime.h"
#include <optional>
#include <string>

namespace recur::test {

/// A call of the kernels. Cotangents make it one backward.
struct EmulatedCall {
  const data::Data *data = nullptr;
  const data::Results *cotangents = nullptr;
  recur_plan plan = RECUR_PLAN_AUTO;
  int32_t threads = 0;
};

/// What it wrote, of which there is nothing where it failed.
struct EmulatedReply {
  std::string error;
  data::Results results;
  data::Data gradient;
};

/// A shared object of kernels.
class EmulatedKernels {
public:
  static llvm::Expected<EmulatedKernels> compile(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline);
  EmulatedKernels(EmulatedKernels &&) = default;

  /// Runs the calls, one after another, in one process on a processor that the emulator knows by this name.
  llvm::Expected<std::vector<EmulatedReply>> run(llvm::ArrayRef<EmulatedCall> calls, llvm::StringRef cpu = "max") const;
  /// The target whose kernels a program takes that runs there; empty where it can take none.
  llvm::Expected<std::string> select(llvm::StringRef cpu) const;
  /// The plans that there are kernels of.
  std::vector<recur_plan> listPlans() const;

private:
  EmulatedKernels() = default;
  struct Reading;
  std::string write(const EmulatedCall &call) const;
  EmulatedReply read(const EmulatedCall &call, Reading &reading) const;
  std::vector<codegen::ArgumentField> getFields(const EmulatedCall &call) const;
  /// Gives what the process wrote.
  llvm::Expected<std::string> start(llvm::StringRef input, llvm::StringRef cpu) const;

  codegen::KernelInterface interface;
  std::string object;
};

} // namespace recur::test
