#include "Compile/CPUKernel.h"
#include "Codegen/CPU/MachineCode.h"
#include "Codegen/CPU/Translate.h"
#include "dialects/Tile/Tile.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

static PipelineOptions getPipeline(const CPUKernelOptions &options) {
  PipelineOptions pipeline;
  pipeline.dataType = options.dtype == ElementType::f32    ? DataType::F32
                      : options.dtype == ElementType::bf16 ? DataType::BF16
                                                           : DataType::F16;
  pipeline.symbol = options.symbol;
  return pipeline;
}

static PipelineOptions getPipeline(const CPUKernelOptions &options, const CPUTarget &target) {
  PipelineOptions pipeline = getPipeline(options);
  pipeline.vectors = getVectorUnit(target);
  return pipeline;
}

VectorUnit compile::getVectorUnit(const CPUTarget &target) {
  return {target.lanes, target.registers, target.hasBF16, target.hasPairs};
}

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

  Expected<std::unique_ptr<llvm::Module>> translate(LLVMContext &llvmContext) {
    Expected<std::unique_ptr<llvm::Module>> translated = translateToLLVMIR(*module, llvmContext);
    if (!translated && !message.empty()) {
      consumeError(translated.takeError());
      return createStringError(message);
    }
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

Expected<KernelObject> recur::compileCPUKernel(chunk::ProgramOp program, const CPUTarget &target,
                                               const CPUKernelOptions &options) {
  if (std::optional<std::string> reason = explainNoVectorKernels(target))
    return createStringError(*reason);
  PipelineOptions pipeline = getPipeline(options, target);
  Lowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  KernelObject result{"", kernel.getSymName().str(), int64_t(kernel.getWorkspace())};
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  LLVMContext context;
  auto module = lowering.translate(context);
  if (!module)
    return module.takeError();
  auto object = emitMachineCode(**module, target, MachineCode::object);
  if (!object)
    return object.takeError();
  result.object = std::move(*object);
  return result;
}

Expected<int64_t> recur::countWorkspaceBytes(chunk::ProgramOp program, const CPUTarget &target,
                                             const CPUKernelOptions &options) {
  Lowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", getPipeline(options, target)))
    return std::move(error);
  return int64_t((*lowering.getModule().getOps<tile::KernelOp>().begin()).getWorkspace());
}

Expected<std::string> recur::printCPUKernel(chunk::ProgramOp program, const CPUTarget &target,
                                            const CPUKernelOptions &options, CPUStage stage) {
  Lowering lowering(program);
  StringRef to = stage == CPUStage::tile ? "tile" : "lowered";
  if (Error error = lowering.run("chunk", to, getPipeline(options, target)))
    return std::move(error);
  if (stage == CPUStage::tile || stage == CPUStage::lowered)
    return lowering.print();
  LLVMContext context;
  auto module = lowering.translate(context);
  if (!module)
    return module.takeError();
  return emitMachineCode(**module, target, stage == CPUStage::llvm ? MachineCode::optimisedIR : MachineCode::assembly);
}
