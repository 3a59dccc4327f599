// A copy of one chunk program, or of a recurrence whose tokens are lowered, on its way down.
#pragma once
#include "Pipelines/Stages.h"
#include "llvm/Support/Error.h"

namespace recur::plan {

class Lowering {
public:
  explicit Lowering(mlir::Operation *program);
  /// Of all programs of a module.
  explicit Lowering(mlir::ModuleOp programs);

  /// Runs the passes from one stage to another. The error is what they said.
  llvm::Error run(llvm::StringRef from, llvm::StringRef to, const PipelineOptions &pipeline);

  mlir::ModuleOp getModule() { return *module; }
  mlir::OwningOpRef<mlir::ModuleOp> takeModule() { return std::move(module); }
  /// What passes said of the program that could not be run on it; empty where none did.
  const std::string &getMessage() const { return message; }
  std::string print();

private:
  Lowering(mlir::OwningOpRef<mlir::ModuleOp> module);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message; // what passes said when one failed
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace recur::plan
