#include "Codegen/LLVM/MachineCode.h"
#include "Target/CodeAttributes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
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

/// Some of LLVM's passes take a time that grows with the square of a function's size. The kernels of all examples,
/// forward and backward, are below these sizes; those of programs with hundreds of statements are above.
static bool isLarge(const Module &module, const recur::Target &target) {
  return module.getInstructionCount() > (target.isCPU() ? 8000U : 24000U);
}

/// For a large module: the passes that its code needs, each of which takes a time that grows with its size.
static void addFewPasses(ModulePassManager &passes, bool vectorizes) {
  FunctionPassManager functions;
  functions.addPass(SROAPass(SROAOptions::ModifyCFG));
  functions.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  functions.addPass(SimplifyCFGPass());
  functions.addPass(InstCombinePass());
  functions.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  if (vectorizes) {
    functions.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass()));
    functions.addPass(LoopVectorizePass());
    functions.addPass(InstCombinePass());
  }
  functions.addPass(GVNPass());
  functions.addPass(DCEPass());
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
}

/// Keeps passes of code generation from a large module: strength reduction of straight lines compares each of their
/// products with all before it.
class LargeModuleGate : public OptPassGate {
public:
  bool shouldRunPass(StringRef pass, StringRef) const override {
    return pass != "Straight line strength reduction" && pass != "StraightLineStrengthReducePass";
  }
  bool isEnabled() const override { return true; }
};

static void runPasses(Module &module, TargetMachine &machine, const PipelineTuningOptions &tuning, bool isLarge) {
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
  ModulePassManager passes;
  if (isLarge)
    addFewPasses(passes, tuning.LoopVectorization);
  else
    passes = builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3);
  passes.run(module, modules);
}

Error recur::codegen::optimize(Module &module, const recur::Target &target, Effort effort) {
  auto machine = makeMachine(target, effort);
  if (!machine)
    return machine.takeError();
  setTarget(module, target, **machine);
  if (effort == Effort::Quick)
    return Error::success();
  bool large = isLarge(module, target);
  PipelineTuningOptions tuning;
  bool hasScalarLoops =
      any_of(module, [](const Function &function) { return function.hasFnAttribute(scalarLoopsAttribute); });
  if (!hasScalarLoops) {
    tuning.LoopVectorization = tuning.SLPVectorization = false;
    // A core's loops are unrolled in the code already, where that makes them faster. More of it takes two fifths of all
    // the time of a compilation, and the kernels are as fast without.
    tuning.LoopUnrolling = !target.isCPU();
  } else if (!large) {
    // Short loops become vectors first: unrolled before, they would be as many numbers. Then the loops over vectors
    // are.
    tuning.LoopUnrolling = false;
    runPasses(module, **machine, tuning, large);
    tuning.LoopUnrolling = true;
  }
  runPasses(module, **machine, tuning, large);
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
  LLVMContext &context = module.getContext();
  OptPassGate &usual = context.getOptPassGate(); // the context's other modules go through it again
  LargeModuleGate gate;
  if (isLarge(module, target))
    context.setOptPassGate(gate);
  passes.run(module);
  context.setOptPassGate(usual);
  return code.str().str();
}

std::string recur::codegen::printIR(const Module &module) {
  std::string text;
  raw_string_ostream(text) << module;
  return text;
}
