#include "Codegen/LLVM/MachineCode.h"
#include "Target/CodeAttributes.h"
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
using namespace recur::codegen;

static Expected<std::unique_ptr<TargetMachine>> makeMachine(const recur::Target &target, recur::Effort effort) {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeAllTargetInfos();
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
  });
  Triple triple(target.triple);
  std::string message;
  const Target *found = TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return createStringError("this compiler has no code generator for '%s': %s", target.triple.c_str(),
                             message.c_str());
  auto level = effort == recur::Effort::Full ? CodeGenOptLevel::Aggressive : CodeGenOptLevel::None;
  return std::unique_ptr<TargetMachine>(found->createTargetMachine(triple, target.cpu, target.codeFeatures,
                                                                   TargetOptions(), Reloc::PIC_, std::nullopt, level));
}

static void setTarget(Module &module, const recur::Target &target, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.codeFeatures.empty())
      function.addFnAttr("target-features", target.codeFeatures);
    if (!target.tuning.empty())
      function.addFnAttr("tune-cpu", target.tuning);
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectors.lanes * 32)); // not halves
    function.addFnAttr(Attribute::NoUnwind);
  }
}

static void runPasses(Module &module, TargetMachine &machine, const PipelineTuningOptions &tuning) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
}

Error recur::codegen::optimize(Module &module, const recur::Target &target, Effort effort) {
  auto machine = makeMachine(target, effort);
  if (!machine)
    return machine.takeError();
  setTarget(module, target, **machine);
  if (effort == Effort::Quick)
    return Error::success();
  PipelineTuningOptions tuning;
  bool hasScalarLoops =
      any_of(module, [](const Function &function) { return function.hasFnAttribute(scalarLoopsAttribute); });
  if (!hasScalarLoops) {
    tuning.LoopVectorization = tuning.SLPVectorization = false;
    // A core's loops are unrolled in the code already, where that makes them faster. More of it takes two fifths of all
    // the time of a compilation, and the kernels are as fast without.
    tuning.LoopUnrolling = !target.isCPU();
  } else {
    // Short loops become vectors first: unrolled before, they would be as many numbers. Then the loops over vectors
    // are.
    tuning.LoopUnrolling = false;
    runPasses(module, **machine, tuning);
    tuning.LoopUnrolling = true;
  }
  runPasses(module, **machine, tuning);
  return Error::success();
}

Expected<std::string> recur::codegen::emitCode(Module &module, const recur::Target &target, CodeForm form,
                                               Effort effort) {
  auto machine = makeMachine(target, effort);
  if (!machine)
    return machine.takeError();
  SmallString<0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager passes;
  auto file = form == CodeForm::Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, file))
    return createStringError("this compiler writes no such file for '%s'", target.triple.c_str());
  passes.run(module);
  return code.str().str();
}

std::string recur::codegen::printIR(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}
