#include "Codegen/Embed/MachineCode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace llvm;
using namespace recur::codegen;

static std::string joinFeatures(const Machine &machine) {
  std::string text;
  for (const std::string &feature : machine.features)
    text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

static Expected<std::unique_ptr<TargetMachine>> makeTargetMachine(const Machine &machine) {
  static const bool isInitialized = [] {
    InitializeAllTargetInfos();
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
    return true;
  }();
  (void)isInitialized;
  Triple triple(machine.triple);
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("this recurc has no code generator for '%s': %s", machine.triple.c_str(), error.c_str());
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(triple, machine.cpu, joinFeatures(machine),
                                                                    TargetOptions(), Reloc::PIC_, std::nullopt,
                                                                    CodeGenOptLevel::Aggressive));
}

Error recur::codegen::setMachine(Module &module, const Machine &machine) {
  Expected<std::unique_ptr<TargetMachine>> target = makeTargetMachine(machine);
  if (!target)
    return target.takeError();
  module.setTargetTriple(Triple(machine.triple));
  module.setDataLayout((*target)->createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  for (Function &function : module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine.cpu);
      function.addFnAttr("target-features", joinFeatures(machine));
      function.addFnAttr("prefer-vector-width", "512"); // or as wide as the machine has
    }
  return Error::success();
}

static void optimize(Module &module, TargetMachine &machine, bool unrolls) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = unrolls;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

Error recur::codegen::optimize(Module &module, const Machine &machine) {
  Expected<std::unique_ptr<TargetMachine>> target = makeTargetMachine(machine);
  if (!target)
    return target.takeError();
  // Short loops become vectors first: unrolled before, they would be as many numbers. Then the loops over vectors are.
  ::optimize(module, **target, /*unrolls=*/false);
  ::optimize(module, **target, /*unrolls=*/true);
  return Error::success();
}

Expected<std::string> recur::codegen::compileModule(Module &module, const Machine &machine, CodeForm form) {
  Expected<std::unique_ptr<TargetMachine>> target = makeTargetMachine(machine);
  if (!target)
    return target.takeError();
  SmallVector<char> bytes;
  raw_svector_ostream os(bytes);
  legacy::PassManager passes;
  CodeGenFileType type = form == CodeForm::Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if ((*target)->addPassesToEmitFile(passes, os, nullptr, type))
    return createStringError("this recurc writes no such file for '%s'", machine.triple.c_str());
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}
