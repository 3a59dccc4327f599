#include "Codegen/CPU/MachineCode.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace llvm;
using namespace recur;

static Expected<std::unique_ptr<TargetMachine>> makeMachine(const CPUTarget &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const Target *found = TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return createStringError("no code for " + triple.str() + ": " + message);
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, TargetOptions(), Reloc::PIC_, std::nullopt, CodeGenOptLevel::Aggressive));
}

static void optimise(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false; // vectors have been chosen
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

Expected<std::string> recur::emitMachineCode(Module &module, const CPUTarget &target, MachineCode kind) {
  auto machine = makeMachine(target);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    if (!target.tuning.empty())
      function.addFnAttr("tune-cpu", target.tuning);
    function.addFnAttr("prefer-vector-width", std::to_string(target.lanes * 32)); // not halves
    function.addFnAttr(Attribute::NoUnwind);
  }
  optimise(module, **machine);
  if (kind == MachineCode::optimisedIR) {
    std::string text;
    raw_string_ostream(text) << module;
    return text;
  }
  SmallString<0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager passes;
  auto file = kind == MachineCode::object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, file))
    return createStringError("no such code for " + target.name);
  passes.run(module);
  return code.str().str();
}
