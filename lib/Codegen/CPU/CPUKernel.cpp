#include "Codegen/CPU/CPUKernel.h"
#include "Codegen/CPU/MachineCode.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/TileToLLVM/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace recur;

static StringRef nameOf(ElementType type) {
  switch (type) {
  case ElementType::f32:
    return "f32";
  case ElementType::bf16:
    return "bf16";
  case ElementType::f16:
    return "f16";
  }
  llvm_unreachable("an element type");
}

static void addTilePasses(mlir::OpPassManager &passes, const CPUKernelOptions &options) {
  tile::ConvertChunkToTilePassOptions chunkOptions;
  chunkOptions.dtype = nameOf(options.dtype).str();
  chunkOptions.symbol = options.symbol;
  passes.addPass(tile::createConvertChunkToTilePass(chunkOptions));
}

static void addLoweringPasses(mlir::OpPassManager &passes, const CPUTarget &target) {
  tile::ConvertTileToLLVMPassOptions tileOptions;
  tileOptions.lanes = target.lanes;
  tileOptions.registers = target.registers;
  tileOptions.roundsToBF16 = target.roundsToBF16;
  passes.addPass(tile::createConvertTileToLLVMPass(tileOptions));
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
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
    mlir::DialectRegistry registry;
    mlir::registerBuiltinDialectTranslation(registry);
    mlir::registerLLVMDialectTranslation(registry);
    context->appendDialectRegistry(registry);
    mlir::OpBuilder::atBlockEnd(module->getBody()).clone(*program);
  }

  Error run(function_ref<void(mlir::OpPassManager &)> addPasses) {
    mlir::PassManager passes(context);
    addPasses(passes);
    if (failed(passes.run(*module)))
      return createStringError(message.empty() ? "the kernel cannot be compiled" : message);
    return Error::success();
  }

  Expected<std::unique_ptr<llvm::Module>> translate(LLVMContext &llvmContext) {
    std::unique_ptr<llvm::Module> translated = mlir::translateModuleToLLVMIR(*module, llvmContext);
    if (!translated)
      return createStringError(message.empty() ? "the kernel cannot be translated" : message);
    return std::move(translated);
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
  Lowering lowering(program);
  if (Error error = lowering.run([&](mlir::OpPassManager &passes) { addTilePasses(passes, options); }))
    return std::move(error);
  auto kernel = *lowering.getModule().getOps<tile::KernelOp>().begin();
  KernelObject result{"", kernel.getSymName().str(), int64_t(kernel.getWorkspace())};
  if (Error error = lowering.run([&](mlir::OpPassManager &passes) { addLoweringPasses(passes, target); }))
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

Expected<int64_t> recur::countWorkspaceBytes(chunk::ProgramOp program, const CPUKernelOptions &options) {
  Lowering lowering(program);
  if (Error error = lowering.run([&](mlir::OpPassManager &passes) { addTilePasses(passes, options); }))
    return std::move(error);
  return int64_t((*lowering.getModule().getOps<tile::KernelOp>().begin()).getWorkspace());
}

Expected<std::string> recur::printCPUKernel(chunk::ProgramOp program, const CPUTarget &target,
                                            const CPUKernelOptions &options, CPUStage stage) {
  Lowering lowering(program);
  if (Error error = lowering.run([&](mlir::OpPassManager &passes) {
        addTilePasses(passes, options);
        if (stage != CPUStage::tile)
          addLoweringPasses(passes, target);
      }))
    return std::move(error);
  if (stage == CPUStage::tile || stage == CPUStage::lowered)
    return lowering.print();
  LLVMContext context;
  auto module = lowering.translate(context);
  if (!module)
    return module.takeError();
  return emitMachineCode(**module, target, stage == CPUStage::llvm ? MachineCode::optimisedIR : MachineCode::assembly);
}
