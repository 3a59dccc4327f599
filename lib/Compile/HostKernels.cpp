#include "Compile/HostKernels.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Compile/CPUKernel.h"
#include "Compile/KernelPlans.h"
#include "Compile/SegmentPrograms.h"
#include "Conversion/DGPSToLLVM/StepKernel.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::InterfaceArray;
using codegen::KernelInterface;

Error compile::checkIsProcessor(const Target &target) {
  if (target.isCPU())
    return Error::success();
  return makeError("--target: this version makes no kernels for '" + target.name +
                   "'; it does for host, x86-64, x86-64-v3, x86-64-v4 and x86-64-v4-amx");
}

static KernelInterface describe(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                const HostKernelOptions &options) {
  const Target &target = pipeline.target;
  KernelInterface interface;
  interface.name = recurrence.getSymName().str();
  interface.prefix = options.prefix;
  interface.variant = options.variant;
  for (const Target &lower : pipeline.lowerTargets)
    interface.lowerTargets.push_back(lower.name);
  interface.source = options.sourceName;
  for (mlir::NamedAttribute dim : recurrence.getDims())
    if (auto size = dyn_cast<mlir::IntegerAttr>(dim.getValue()))
      interface.dims.push_back({dim.getName().str(), size.getInt()});
  interface.dataType = pipeline.dataType;
  auto add = [&](StringRef name, recur_kind kind, mlir::Type type, bool isShared = false) {
    ArrayRef<int64_t> shape = cast<dgps::RealType>(type).getShape();
    interface.arrays.push_back(InterfaceArray{name.str(), kind, isShared, {shape.begin(), shape.end()}});
  };
  for (dgps::InputOp op : recurrence.getInputs())
    add(op.getName(), RECUR_INPUT, op.getType(), op.getShared());
  for (dgps::ParamOp op : recurrence.getParams())
    add(op.getName(), RECUR_PARAM, op.getType());
  for (dgps::StateOp op : recurrence.getStates())
    add(op.getName(), RECUR_STATE, op.getType());
  for (dgps::OutputOp op : recurrence.getOutputs())
    add(op.getName(), RECUR_OUTPUT, op.getValue().getType());
  interface.target = target.name;
  interface.triple = target.triple;
  interface.cpu = target.cpu;
  interface.features = target.features;
  interface.compiler = RECUR_VERSION;
  return interface;
}

/// Code for f16 would call a compiler's library where the processor has no instructions for it.
static Error checkDataType(const PipelineOptions &pipeline) {
  const Target &target = pipeline.target;
  if (pipeline.dataType != DataType::F16 || is_contained(target.features, "f16c"))
    return Error::success();
  return makeError("--dtype: target '" + target.name + "' has no instructions for f16 (F16C); take bf16 or f32" +
                   (target.isHost() ? "" : ", or another --target"));
}

/// Kernels among which a program chooses may lie on another machine than this one, and be taken for what the runtime
/// asks of its processor: they use no more of this one.
static Target keepToChecked(const Target &target) {
  if (!target.isHost())
    return target;
  StringMap<bool> features;
  for (StringRef feature : target.features)
    if (codegen::getFeatureBit(feature))
      features[feature] = true;
  return makeHostTarget("x86-64", features, /*tuning=*/target.cpu);
}

static Error addStepKernel(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline, KernelInterface &interface,
                           Module &all) {
  auto copy = copyTo("recurrence", recurrence, pipeline);
  if (!copy)
    return copy.takeError();
  std::string symbol = interface.getSymbol() + "_step";
  Expected<StepKernel> step =
      makeStepKernel(*(**copy).getOps<dgps::RecurrenceOp>().begin(), pipeline.dataType, symbol, all.getContext());
  if (!step)
    return step.takeError();
  if (verifyModule(*step->module, &errs()))
    return make_error<InternalError>("the step kernel of '" + interface.name + "' is invalid LLVM IR");
  if (Linker::linkModules(all, std::move(step->module)))
    return make_error<InternalError>("the step kernels do not link");
  interface.kernels.push_back({symbol, RECUR_PLAN_STEP, 0, 0, step->workspaceBytes});
  return Error::success();
}

static Error makeNoPlanError(const KernelInterface &interface, recur_plan plan, const Twine &reason) {
  return makeError("--plan: '" + interface.name + "' has no kernel of plan '" + codegen::getPlanName(plan) +
                   "': " + reason);
}

namespace {
/// Compiles chunk programs into the objects of the kernels.
class ProgramCompiler {
public:
  ProgramCompiler(const PipelineOptions &pipeline, const HostKernelOptions &options, HostKernels &kernels)
      : pipeline(pipeline), options(options), kernels(kernels) {}

  /// The workspace of the kernel, which has this symbol.
  Expected<int64_t> compile(chunk::ProgramOp program, const std::string &symbol) {
    pipeline.symbol = symbol;
    Expected<KernelObject> kernel = compileCPUKernel(program, pipeline);
    if (!kernel)
      return kernel.takeError();
    kernels.objects.push_back({symbol + ".o", std::move(kernel->object)});
    for (auto [wanted, stage, text] : {std::tuple(options.wantsAssembly, CPUStage::assembly, &kernels.assembly),
                                       std::tuple(options.wantsLLVM, CPUStage::llvm, &kernels.llvmIR)})
      if (wanted) {
        Expected<std::string> printed = printCPUKernel(program, pipeline, stage);
        if (!printed)
          return printed.takeError();
        *text += *printed;
      }
    return kernel->workspaceBytes;
  }

private:
  PipelineOptions pipeline;
  const HostKernelOptions &options;
  HostKernels &kernels;
};
} // namespace

/// The kernels of the plan `segment` beside the main one, which is the last of the interface.
static Error addSegmentKernels(chunk::ProgramOp program, ProgramCompiler &compiler, KernelInterface &interface) {
  Expected<SegmentPrograms> programs = makeSegmentPrograms(program);
  if (!programs)
    return programs.takeError();
  codegen::InterfaceKernel segment = interface.kernels.back();
  segment.plan = RECUR_PLAN_SEGMENT;
  segment.tokensFrom = getFirstTokens(program, RECUR_PLAN_SEGMENT);
  segment.segmentBytes = programs->segmentBytes;
  for (SegmentProgram &state : programs->states) {
    std::string name = state.summary.getSummaryOf()->str();
    state.facts.symbol = interface.getSymbol() + "_summary_" + name;
    state.facts.applySymbol = interface.getSymbol() + "_apply_" + name;
    for (auto [kernel, symbol] :
         {std::pair(state.summary, &state.facts.symbol), {state.apply, &state.facts.applySymbol}}) {
      Expected<int64_t> bytes = compiler.compile(kernel, *symbol);
      if (!bytes)
        return bytes.takeError();
      segment.workspaceBytes = std::max(segment.workspaceBytes, *bytes);
    }
    segment.summaries.push_back(std::move(state.facts));
  }
  interface.kernels.push_back(std::move(segment));
  return Error::success();
}

/// The kernels that take a chunk of tokens at a time. Where none is asked for, a recurrence that they cannot be made
/// for has the plan `step` alone.
static Error addChunkKernels(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline, ProgramCompiler &compiler,
                             KernelInterface &interface, std::vector<std::string> &notes) {
  auto copy = copyTo("chunk", recurrence, pipeline);
  if (!copy)
    return copy.takeError();
  chunk::ProgramOp program = *(**copy).getOps<chunk::ProgramOp>().begin();
  recur_plan wanted = getRuntimePlan(pipeline.plan), main = getMainPlan(program);
  if (std::optional<std::string> reason = explainNoPlan(program, wanted))
    return makeNoPlanError(interface, wanted, *reason);
  std::string symbol = interface.getSymbol() + "_chunk";
  Expected<int64_t> bytes = compiler.compile(program, symbol);
  if (!bytes) {
    std::string reason = toString(bytes.takeError());
    if (wanted != RECUR_PLAN_AUTO)
      return makeNoPlanError(interface, wanted, reason);
    notes.push_back("'" + interface.name + "' gets the plan 'step' alone: " + reason);
    return Error::success();
  }
  interface.kernels.push_back({symbol, main, int64_t(program.getChunk()), getFirstTokens(program, main), *bytes});
  bool hasSegments = wanted == RECUR_PLAN_SEGMENT || wanted == RECUR_PLAN_AUTO;
  if (!hasSegments || explainNoPlan(program, RECUR_PLAN_SEGMENT))
    return Error::success();
  if (Error error = addSegmentKernels(program, compiler, interface)) {
    if (error.isA<InternalError>())
      return error;
    std::string reason = toString(std::move(error));
    if (wanted == RECUR_PLAN_SEGMENT)
      return makeNoPlanError(interface, wanted, reason);
    notes.push_back("'" + interface.name + "' does not get the plan 'segment': " + reason);
  } else if (wanted == RECUR_PLAN_SEGMENT) {
    interface.kernels.erase(interface.kernels.end() - 2); // the main plan by itself is not asked for
  }
  return Error::success();
}

static Expected<HostKernels> compileForTarget(ArrayRef<dgps::RecurrenceOp> recurrences, PipelineOptions pipeline,
                                              const HostKernelOptions &options) {
  if (Error error = checkIsProcessor(pipeline.target))
    return std::move(error);
  if (Error error = checkDataType(pipeline))
    return std::move(error);
  if (!pipeline.lowerTargets.empty() || !options.variant.empty())
    pipeline.target = keepToChecked(pipeline.target);
  const Target &target = pipeline.target;
  HostKernels kernels;
  LLVMContext context;
  Module all("recur_kernels", context);
  ProgramCompiler compiler(pipeline, options, kernels);
  for (dgps::RecurrenceOp recurrence : recurrences) {
    KernelInterface interface = describe(recurrence, pipeline, options);
    if (pipeline.plan == Plan::Auto || pipeline.plan == Plan::Step)
      if (Error error = addStepKernel(recurrence, pipeline, interface, all))
        return std::move(error);
    if (pipeline.plan != Plan::Step)
      if (Error error = addChunkKernels(recurrence, pipeline, compiler, interface, kernels.notes))
        return std::move(error);
    kernels.interfaces.push_back(std::move(interface));
  }
  codegen::addDescriptors(all, kernels.interfaces);
  // Only the descriptors are seen from outside.
  for (Function &function : all)
    if (!function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage);
  if (Error error = codegen::optimize(all, target, codegen::Vectors::Found))
    return std::move(error);
  if (options.wantsLLVM)
    kernels.llvmIR = codegen::printIR(all) + kernels.llvmIR;
  if (options.wantsAssembly) {
    std::unique_ptr<Module> copy = CloneModule(all);
    Expected<std::string> assembly = codegen::emitCode(*copy, target, codegen::CodeForm::Assembly);
    if (!assembly)
      return assembly.takeError();
    kernels.assembly = *assembly + kernels.assembly;
  }
  Expected<std::string> object = codegen::emitCode(all, target, codegen::CodeForm::Object);
  if (!object)
    return object.takeError();
  kernels.objects.insert(kernels.objects.begin(), {"recur_kernels" + options.variant + ".o", std::move(*object)});
  return std::move(kernels);
}

Expected<HostKernels> compile::compileHostKernels(ArrayRef<dgps::RecurrenceOp> recurrences,
                                                  const PipelineOptions &pipeline, const HostKernelOptions &options) {
  Expected<HostKernels> all = compileForTarget(recurrences, pipeline, options);
  PipelineOptions lower = pipeline;
  while (all && !lower.lowerTargets.empty()) {
    lower.target = Target(lower.lowerTargets.front());
    lower.lowerTargets.erase(lower.lowerTargets.begin());
    HostKernelOptions own = options;
    own.variant = codegen::getVariant(lower.target.name);
    Expected<HostKernels> kernels = compileForTarget(recurrences, lower, own);
    if (!kernels)
      return kernels.takeError();
    for (codegen::ObjectFile &object : kernels->objects)
      all->objects.push_back(std::move(object));
    append_range(all->notes, kernels->notes);
    all->assembly += kernels->assembly;
    all->llvmIR += kernels->llvmIR;
  }
  return all;
}
