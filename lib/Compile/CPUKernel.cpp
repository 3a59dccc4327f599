#include "Compile/CPUKernel.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "dialects/Tile/Tile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;

namespace {

/// A module with a copy of the program, and what is said when a pass fails.
class Lowering {
public:
  explicit Lowering(chunk::ProgramOp program)
      : context(program.getContext()), module(mlir::ModuleOp::create(program.getLoc())),
        handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            (message.empty() ? message : message += "; ") += diagnostic.str();
          return mlir::success();
        }) {
    mlir::OpBuilder::atBlockEnd(module->getBody()).clone(*program);
  }

  Error run(StringRef from, StringRef to, const PipelineOptions &pipeline) {
    if (failed(runStages(*module, findStage(from), *findStage(to), pipeline)))
      return createStringError(message.empty() ? "the kernel cannot be compiled" : message);
    return Error::success();
  }

  /// The module in LLVM IR, optimised.
  Expected<std::unique_ptr<llvm::Module>> translate(LLVMContext &llvmContext, const PipelineOptions &pipeline) {
    Expected<std::unique_ptr<llvm::Module>> translated = translateToLLVMIR(*module, llvmContext);
    if (!translated && !message.empty()) {
      consumeError(translated.takeError());
      return createStringError(message);
    }
    if (translated)
      if (Error error = codegen::optimize(**translated, pipeline.target, codegen::Vectors::Chosen, pipeline.effort))
        return std::move(error);
    return translated;
  }

  mlir::ModuleOp getModule() { return *module; }
  std::string print() {
    std::string text;
    raw_string_ostream(text) << *module;
    return text;
  }

private:
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace

Expected<KernelObject> recur::compileCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  if (std::optional<std::string> reason = explainNoVectorKernels(pipeline.target))
    return createStringError(*reason);
  Lowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  KernelObject result{"", kernel.getSymName().str(), int64_t(kernel.getWorkspace())};
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  LLVMContext context;
  auto module = lowering.translate(context, pipeline);
  if (!module)
    return module.takeError();
  auto object = codegen::emitCode(**module, pipeline.target, codegen::CodeForm::Object, pipeline.effort);
  if (!object)
    return object.takeError();
  result.object = std::move(*object);
  return result;
}

Expected<int64_t> recur::countWorkspaceBytes(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  Lowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  return int64_t((*lowering.getModule().getOps<tile::KernelOp>().begin()).getWorkspace());
}

Expected<std::string> recur::printCPUKernel(chunk::ProgramOp program, const PipelineOptions &pipeline, CPUStage stage) {
  Lowering lowering(program);
  StringRef to = stage == CPUStage::tile ? "tile" : "lowered";
  if (Error error = lowering.run("chunk", to, pipeline))
    return std::move(error);
  if (stage == CPUStage::tile || stage == CPUStage::lowered)
    return lowering.print();
  LLVMContext context;
  auto module = lowering.translate(context, pipeline);
  if (!module)
    return module.takeError();
  if (stage == CPUStage::llvm)
    return codegen::printIR(**module);
  return codegen::emitCode(**module, pipeline.target, codegen::CodeForm::Assembly, pipeline.effort);
}
