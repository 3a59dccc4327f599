#include "Compile/ProgramLowering.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

ProgramLowering::ProgramLowering(mlir::OwningOpRef<mlir::ModuleOp> own)
    : module(std::move(own)), handler(module->getContext(), [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          (message.empty() ? message : message += "; ") += diagnostic.str();
        return mlir::success();
      }) {}

ProgramLowering::ProgramLowering(mlir::Operation *program)
    : ProgramLowering(mlir::OwningOpRef<mlir::ModuleOp>(mlir::ModuleOp::create(program->getLoc()))) {
  mlir::OpBuilder::atBlockEnd(module->getBody()).clone(*program);
}

ProgramLowering::ProgramLowering(mlir::ModuleOp programs)
    : ProgramLowering(mlir::OwningOpRef<mlir::ModuleOp>(programs.clone())) {}

Error ProgramLowering::run(StringRef from, StringRef to, const PipelineOptions &pipeline) {
  if (failed(runStages(*module, findStage(from), *findStage(to), pipeline)))
    return createStringError(message.empty() ? "the kernel cannot be compiled" : message);
  return Error::success();
}

Expected<std::unique_ptr<Module>> ProgramLowering::translate(LLVMContext &context) {
  Expected<std::unique_ptr<Module>> translated = translateToLLVMIR(*module, context);
  if (!translated && !message.empty()) {
    consumeError(translated.takeError());
    return createStringError(message);
  }
  return translated;
}

Expected<std::unique_ptr<Module>> ProgramLowering::translate(LLVMContext &context, const Target &target,
                                                             Effort effort) {
  Expected<std::unique_ptr<Module>> translated = translate(context);
  if (translated)
    if (Error error = codegen::optimize(**translated, target, effort))
      return std::move(error);
  return translated;
}

std::string ProgramLowering::print() {
  std::string text;
  raw_string_ostream(text) << *module;
  return text;
}
