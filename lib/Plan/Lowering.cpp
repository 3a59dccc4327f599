#include "Plan/Lowering.h"

using namespace llvm;
using namespace recur;
using namespace recur::plan;

Lowering::Lowering(mlir::OwningOpRef<mlir::ModuleOp> own)
    : module(std::move(own)), handler(module->getContext(), [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          (message.empty() ? message : message += "; ") += diagnostic.str();
        return mlir::success();
      }) {}

Lowering::Lowering(mlir::Operation *program)
    : Lowering(mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(program->getLoc()))) {
  mlir::OpBuilder::atBlockEnd(module->getBody()).clone(*program);
}

Lowering::Lowering(mlir::ModuleOp programs) : Lowering(mlir::OwningOpRef<mlir::ModuleOp>(programs.clone())) {}

Error Lowering::run(StringRef from, StringRef to, const PipelineOptions &pipeline) {
  if (failed(runStages(*module, findStage(from), *findStage(to), pipeline)))
    return createStringError(message.empty() ? "the kernel cannot be compiled" : message);
  return Error::success();
}

std::string Lowering::print() {
  std::string text;
  raw_string_ostream(text) << *module;
  return text;
}
