#include "Compile/Kernels.h"
#include "Analysis/StoredTypes.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "Compile/Starts.h"
#include "Support/Errors.h"
#include "Transforms/Chunk/StatePath.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::InterfaceArray;
using codegen::KernelInterface;

/// Tells recurrences of one name apart that take or compute something else, for consts given on the command line too.
static uint32_t digest(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  std::string text;
  raw_string_ostream os(text);
  recurrence->print(os);
  os << pipeline.dataTypes.print();
  if (pipeline.precision == Precision::TF32)
    os << " tf32";
  return uint32_t(xxh3_64bits(text));
}

static KernelInterface describe(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                const KernelNames &names, StringRef variant) {
  KernelInterface interface;
  interface.name = recurrence.getSymName().str();
  interface.prefix = names.prefix;
  interface.variant = variant.str();
  for (const Target &lower : pipeline.lowerTargets)
    interface.lowerTargets.push_back(lower.name);
  interface.source = names.sourceName;
  for (mlir::NamedAttribute dim : recurrence.getDims())
    if (auto size = dyn_cast<mlir::IntegerAttr>(dim.getValue()))
      interface.dims.push_back({dim.getName().str(), size.getInt()});
  interface.dataTypes = pipeline.dataTypes;
  interface.digest = digest(recurrence, pipeline);
  interface.tf32 = pipeline.precision == Precision::TF32;
  auto add = [&](auto op, recur_kind kind, mlir::Type type, bool isShared = false) {
    ArrayRef<int64_t> shape = cast<dgps::RealType>(type).getShape();
    DataType stored = op.getStored() ? analysis::getStoredDataType(op.getStored())
                                     : pipeline.dataTypes.of(op.getName(), kind == RECUR_STATE);
    interface.arrays.push_back(
        InterfaceArray{op.getName().str(), kind, isShared, {shape.begin(), shape.end()}, stored});
  };
  for (dgps::InputOp op : recurrence.getInputs())
    add(op, RECUR_INPUT, op.getType(), op.getShared());
  for (dgps::ParamOp op : recurrence.getParams())
    add(op, RECUR_PARAM, op.getType());
  for (dgps::StateOp op : recurrence.getStates())
    add(op, RECUR_STATE, op.getType());
  for (dgps::OutputOp op : recurrence.getOutputs())
    add(op, RECUR_OUTPUT, op.getValue().getType());
  const Target &target = pipeline.target;
  interface.target = target.name;
  interface.triple = target.triple;
  interface.cpu = target.cpu;
  interface.features = target.features;
  interface.device = getBackend(target).getDevice();
  if (target.gpu)
    interface.capability = target.gpu->getFeatures();
  interface.compiler = RECUR_VERSION;
  return interface;
}

/// An error where the plan that is asked for has no kernel.
static Error checkHasPlan(const KernelInterface &interface, ArrayRef<KernelPlan> plans, recur_plan wanted) {
  const KernelPlan *plan = find_if(plans, [&](const KernelPlan &plan) { return plan.plan == wanted; });
  if (wanted == RECUR_PLAN_AUTO || plan->isAvailable())
    return Error::success();
  return makeError("--plan: '" + interface.name + "' has no kernel of plan '" + codegen::getPlanName(wanted) +
                   "': " + plan->whyNot);
}

/// What a caller who left the plan open should know of those that the target has no kernels for.
static void addNotes(const KernelInterface &interface, ArrayRef<KernelPlan> plans, std::vector<std::string> &notes) {
  bool lacksMain = false;
  for (const KernelPlan &plan : plans) {
    if (!plan.isRefusedByTarget)
      continue;
    if (plan.plan != RECUR_PLAN_SEGMENT) {
      notes.push_back("'" + interface.name + "' gets the plan 'step' alone: " + plan.whyNot);
      lacksMain = true;
    }
  }
  for (const KernelPlan &plan : plans)
    if (plan.isRefusedByTarget && plan.plan == RECUR_PLAN_SEGMENT && !lacksMain)
      notes.push_back("'" + interface.name + "' does not get the plan 'segment': " + plan.whyNot);
}

/// The kernels of the plan `segment` beside the main one.
static Error addSummaries(SegmentPrograms &segments, const KernelInterface &interface, KernelMaker &maker,
                          codegen::InterfaceKernel &kernel) {
  for (SegmentProgram &state : segments.states) {
    std::string name = state.summary.getSummaryOf()->str();
    state.facts.symbol = interface.getSymbol() + "_summary_" + name;
    state.facts.applySymbol = interface.getSymbol() + "_apply_" + name;
    for (auto [program, symbol] :
         {std::pair(state.summary, &state.facts.symbol), {state.apply, &state.facts.applySymbol}})
      if (Error error = maker.addProgram(program, *symbol).takeError())
        return error;
    kernel.summaries.push_back(state.facts);
  }
  return Error::success();
}

/// Makes the kernels of the decided plans: of the one that is asked for, or of all, each for more tokens than the last.
static Error addKernels(RecurrencePlans &decided, recur_plan wanted, KernelMaker &maker, KernelInterface &interface) {
  std::string symbol = interface.getSymbol() + "_chunk";
  std::optional<std::vector<codegen::InterfaceLaunch>> launches; // of the main kernel, once it is made
  std::vector<codegen::InterfaceLeft> left;
  double cycles = 0;
  std::vector<KernelPlan> plans = decided.plans;
  auto segment = find_if(plans, [](const KernelPlan &plan) { return plan.plan == RECUR_PLAN_SEGMENT; });
  std::rotate(segment, segment + 1, plans.end());
  for (const KernelPlan &plan : plans) {
    if (!plan.isAvailable() || (wanted != RECUR_PLAN_AUTO && wanted != plan.plan))
      continue;
    codegen::InterfaceKernel kernel{symbol, plan.plan, plan.chunk, plan.tokensFrom, plan.workspaceBytes};
    kernel.segmentBytes = plan.segmentBytes;
    if (plan.plan == RECUR_PLAN_STEP) {
      kernel.symbol = interface.getSymbol() + "_step";
      Expected<KernelResources> step = maker.addStep(decided.getRecurrence(), kernel.symbol);
      if (!step)
        return step.takeError();
      kernel.launches = std::move(step->launches);
      interface.kernels.push_back(std::move(kernel));
      continue;
    }
    if (!launches) {
      Expected<KernelResources> main = maker.addProgram(decided.getProgram(), symbol);
      if (!main)
        return main.takeError();
      launches = std::move(main->launches);
      left = std::move(main->left);
      cycles = main->cycles;
    }
    kernel.launches = *launches;
    kernel.left = left;
    kernel.cycles = cycles;
    if (plan.plan == RECUR_PLAN_SEGMENT)
      if (Error error = addSummaries(decided.segments, interface, maker, kernel))
        return error;
    interface.kernels.push_back(std::move(kernel));
  }
  return Error::success();
}

/// What launches a GPU needs for one of the gradient's programs.
static codegen::InterfaceKernel toLaunches(StringRef symbol, int64_t chunk, KernelResources resources) {
  codegen::InterfaceKernel kernel{symbol.str(), RECUR_PLAN_CHUNK, chunk, 0, resources.workspaceBytes};
  kernel.launches = std::move(resources.launches);
  kernel.left = std::move(resources.left);
  kernel.listing = std::move(resources.listing);
  return kernel;
}

/// What the call forward on a GPU hands over to the gradient, where that saves time: it takes less than the call does
/// without and the states made again do. That is so of the same chunks alone. What its launches leave to each other it
/// hands over where the gradient takes less time with it than without.
static Error addHandOver(GradientPrograms &programs, const KernelInterface &interface, KernelMaker &maker,
                         double statesCycles, double runCycles, codegen::InterfaceGradient &gradient) {
  auto chunked = find_if(interface.kernels, [&](const codegen::InterfaceKernel &kernel) {
    return kernel.plan == RECUR_PLAN_CHUNK && kernel.chunk == gradient.chunk;
  });
  if (chunked == interface.kernels.end())
    return Error::success();
  std::string symbol = interface.getSymbol() + "_handing";
  Expected<std::optional<KernelResources>> resources =
      maker.addSpare(makeHandingProgram(programs), symbol, chunked->cycles + statesCycles);
  if (!resources)
    return resources.takeError();
  if (!*resources)
    return Error::success();
  std::vector<codegen::InterfaceLeft> offered = (*resources)->left;
  gradient.handingLaunches = toLaunches(symbol, gradient.chunk, std::move(**resources));
  symbol = interface.getSymbol() + "_taking";
  resources = maker.addSpare(programs.gradient, symbol, runCycles, offered);
  if (!resources)
    return resources.takeError();
  if (*resources)
    gradient.takingLaunches = toLaunches(symbol, gradient.chunk, std::move(**resources));
  return Error::success();
}

/// The kernels of the gradient on a GPU, which sums what heads and sequences have by a kernel of its own. That of the
/// cotangents of states alone is for summaries.
static Error addLaunches(GradientPrograms &programs, chunk::ProgramOp chain, const KernelInterface &interface,
                         KernelMaker &maker, codegen::InterfaceGradient &gradient) {
  std::string run = interface.getSymbol() + "_gradient", states = interface.getSymbol() + "_states";
  Expected<KernelResources> resources = maker.addProgram(programs.gradient, run);
  if (!resources)
    return resources.takeError();
  double runCycles = resources->cycles;
  gradient.runLaunches = toLaunches(run, gradient.chunk, std::move(*resources));
  if (!programs.gradient.getKept().empty()) {
    resources = maker.addProgram(programs.states, states);
    if (!resources)
      return resources.takeError();
    double cycles = resources->cycles;
    gradient.statesLaunches = toLaunches(states, gradient.chunk, std::move(*resources));
    if (Error error = addHandOver(programs, interface, maker, cycles, runCycles, gradient))
      return error;
    for (chunk::KeptOp kept : programs.gradient.getKept())
      gradient.keptTypes.push_back(codegen::getRuntimeType(analysis::getStoredDataType(kept.getStored())));
  }
  if (chain) {
    std::string symbol = interface.getSymbol() + "_chain";
    resources = maker.addProgram(chain, symbol);
    if (!resources)
      return resources.takeError();
    gradient.chainLaunches = toLaunches(symbol, gradient.chunk, std::move(*resources));
  }
  gradient.sum = maker.addSums(interface.getSymbol() + "_sums");
  return Error::success();
}

/// The kernels of the gradient on a processor, and that of the cotangents of states alone.
static Error addFunctions(GradientPrograms &programs, chunk::ProgramOp chain, const KernelInterface &interface,
                          KernelMaker &maker, codegen::InterfaceGradient &gradient) {
  gradient.states = interface.getSymbol() + "_states";
  gradient.run = interface.getSymbol() + "_gradient";
  gradient.chain = chain ? interface.getSymbol() + "_chain" : "";
  for (const auto &[program, symbol] :
       {std::pair(programs.gradient, gradient.run), {programs.states, gradient.states}, {chain, gradient.chain}}) {
    if (!program)
      continue;
    Expected<KernelResources> resources = maker.addProgram(program, symbol);
    if (!resources)
      return resources.takeError();
    gradient.workspaceBytes = std::max(gradient.workspaceBytes, resources->workspaceBytes);
  }
  return Error::success();
}

/// The kernels of the gradient.
static Error addGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline, KernelMaker &maker,
                         KernelInterface &interface) {
  Expected<PipelineOptions> completed = getBackend(pipeline.target).completeGradient(recurrence, pipeline);
  if (!completed)
    return completed.takeError();
  Expected<GradientPrograms> programs = makeKernelGradients(recurrence, *completed);
  if (!programs)
    return programs.takeError();
  bool wantsChain = pipeline.target.isCPU() || pipeline.summaries;
  Expected<chunk::ProgramOp> chain = wantsChain ? makeChainProgram(*programs) : chunk::ProgramOp();
  if (!chain)
    return chain.takeError();
  codegen::InterfaceGradient gradient;
  gradient.chunk = int64_t(programs->gradient.getChunk());
  double cost = estimateCost(programs->gradient);
  gradient.statesCost = float(estimateCost(programs->states) / cost);
  gradient.chainCost = *chain ? float(estimateCost(*chain) / cost) : 0;
  gradient.forwardCost = float(estimateCost(programs->program) / cost);
  Error error = pipeline.target.isCPU() ? addFunctions(*programs, *chain, interface, maker, gradient)
                                        : addLaunches(*programs, *chain, interface, maker, gradient);
  if (error)
    return error;
  SmallVector<StringRef> states, params;
  for (dgps::StateOp state : recurrence.getStates())
    states.push_back(state.getName());
  for (dgps::ParamOp param : recurrence.getParams())
    params.push_back(param.getName());
  auto placeOf = [](ArrayRef<StringRef> names, StringRef name) { return int32_t(find(names, name) - names.begin()); };
  for (chunk::StateOp carried : programs->gradient.getStates()) {
    StringRef name = carried.getName().drop_front(StringRef("gradient.").size());
    bool isState = is_contained(states, name);
    gradient.carried.push_back(isState ? placeOf(states, name) : -1 - placeOf(params, name));
  }
  for (chunk::KeptOp kept : programs->gradient.getKept())
    gradient.kept.push_back(placeOf(states, kept.getName()));
  for (chunk::InitialOp initial : programs->gradient.getInitials())
    gradient.starts.push_back(placeOf(states, initial.getName()));
  if (*chain) {
    for (chunk::KeptOp kept : chain->getKept())
      gradient.chainKept.push_back(placeOf(states, kept.getName()));
    for (chunk::InitialOp initial : chain->getInitials())
      gradient.chainStarts.push_back(placeOf(states, initial.getName()));
  }
  for (auto [place, array] : enumerate(interface.arrays))
    if (array.type == DataType::I32 || (array.kind != RECUR_OUTPUT && !wantsGradient(pipeline, array.name)))
      gradient.without.push_back(int32_t(place));
  interface.gradient = std::move(gradient);
  return Error::success();
}

/// Summaries of parts of sequences, where the target's plans have none of their own. A note says so if there are none.
static Error addParts(RecurrencePlans &decided, KernelMaker &maker, KernelInterface &interface,
                      std::vector<std::string> &notes) {
  std::optional<codegen::InterfaceLaunch> compose = maker.addCompositions(interface.getSymbol() + "_compose");
  if (!compose)
    return Error::success();
  chunk::ProgramOp program = decided.getProgram();
  std::optional<std::string> obstacle = program.getStates().empty() ? "it has no state" : chunk::findObstacle(program);
  if (obstacle) {
    notes.push_back("'" + interface.name + "' has no summaries of parts of a sequence: " + *obstacle);
    return Error::success();
  }
  Expected<SegmentPrograms> programs = makeSegmentPrograms(program);
  if (!programs)
    return programs.takeError();
  for (SegmentProgram &state : programs->states)
    if (state.facts.mapSide && state.facts.mapIsLeft) {
      notes.push_back("'" + interface.name + "' has no summaries of parts of a sequence: what a part makes of state '" +
                      state.summary.getSummaryOf()->str() +
                      "' multiplies it from the left, for which there are none on a GPU yet");
      return Error::success();
    }
  codegen::InterfaceParts parts;
  parts.compose = *compose;
  for (SegmentProgram &state : programs->states) {
    std::string symbol = interface.getSymbol() + "_summary_" + state.summary.getSummaryOf()->str();
    Expected<KernelResources> resources = maker.addProgram(state.summary, symbol);
    if (!resources)
      return resources.takeError();
    parts.kernels.push_back(toLaunches(symbol, int64_t(program.getChunk()), std::move(*resources)));
    parts.summaries.push_back(state.facts);
  }
  interface.parts = std::move(parts);
  return Error::success();
}

/// The kernels that make what states start as. They need not be fast: there is one token of each sequence.
static Error addStarts(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline, KernelMaker &maker,
                       KernelInterface &interface, const KernelNames &names) {
  mlir::OwningOpRef<mlir::ModuleOp> declared = makeStarts(recurrence);
  if (!declared)
    return Error::success();
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = copyTo("recurrence", getStarts(*declared), pipeline);
  if (!module)
    return module.takeError();
  dgps::RecurrenceOp starts = getStarts(**module);
  KernelInterface own = describe(starts, pipeline, names, interface.variant);
  own.lowerTargets.clear(); // each target's recurrence has its own
  codegen::InterfaceKernel kernel{own.getSymbol() + "_step", RECUR_PLAN_STEP};
  Expected<KernelResources> step = maker.addStep(starts, kernel.symbol);
  if (!step)
    return step.takeError();
  kernel.workspaceBytes = step->workspaceBytes;
  kernel.launches = std::move(step->launches);
  own.kernels.push_back(std::move(kernel));
  bool isTrained = pipeline.gradients.empty() || !restrictGradients(starts, pipeline).gradients.empty();
  PipelineOptions options = restrictGradients(starts, pipeline);
  options.summaries = false; // they are of one token
  if (pipeline.backward && isTrained && !starts.getParams().empty())
    if (Error error = addGradient(starts, options, maker, own))
      return error;
  interface.start.push_back(std::move(own));
  return Error::success();
}

static Expected<Kernels> compileForTarget(ArrayRef<dgps::RecurrenceOp> recurrences, PipelineOptions pipeline,
                                          const KernelNames &names, StringRef variant, Listings &listings) {
  const Backend &backend = getBackend(pipeline.target);
  if (Error error = backend.check(pipeline))
    return std::move(error);
  if (!pipeline.lowerTargets.empty() || !variant.empty())
    pipeline.target = backend.makePortable(pipeline.target);
  recur_plan wanted = getRuntimePlan(pipeline.plan);
  Kernels kernels;
  std::unique_ptr<KernelMaker> maker = backend.start(pipeline, ("recur_kernels" + variant + ".o").str(), listings);
  for (dgps::RecurrenceOp recurrence : recurrences) {
    KernelInterface interface = describe(recurrence, pipeline, names, variant);
    Expected<RecurrencePlans> decided = decidePlans(recurrence, pipeline);
    if (!decided)
      return decided.takeError();
    if (Error error = checkHasPlan(interface, decided->plans, wanted))
      return std::move(error);
    if (wanted == RECUR_PLAN_AUTO)
      addNotes(interface, decided->plans, kernels.notes);
    if (Error error = addKernels(*decided, wanted, *maker, interface))
      return std::move(error);
    if (pipeline.backward)
      if (Error error = addGradient(recurrence, completeGradients(recurrence, pipeline), *maker, interface))
        return std::move(error);
    if (pipeline.summaries)
      if (Error error = addParts(*decided, *maker, interface, kernels.notes))
        return std::move(error);
    if (Error error = addStarts(recurrence, pipeline, *maker, interface, names))
      return std::move(error);
    kernels.interfaces.push_back(std::move(interface));
  }
  Expected<std::vector<codegen::ObjectFile>> objects = maker->finish(kernels.interfaces);
  if (!objects)
    return objects.takeError();
  kernels.objects = std::move(*objects);
  append_range(kernels.notes, listings.notes);
  return std::move(kernels);
}

Expected<Kernels> compile::compileKernels(ArrayRef<dgps::RecurrenceOp> recurrences, const PipelineOptions &pipeline,
                                          const KernelNames &names, Listings &listings) {
  Expected<Kernels> all = compileForTarget(recurrences, pipeline, names, "", listings);
  PipelineOptions lower = pipeline;
  while (all && !lower.lowerTargets.empty()) {
    lower.target = lower.lowerTargets.front();
    lower.lowerTargets.erase(lower.lowerTargets.begin());
    Listings own;
    own.wantsAssembly = listings.wantsAssembly;
    own.wantsLLVM = listings.wantsLLVM;
    own.wantsCubin = listings.wantsCubin;
    Expected<Kernels> kernels =
        compileForTarget(recurrences, lower, names, codegen::getVariant(lower.target.name), own);
    if (!kernels)
      return kernels.takeError();
    for (codegen::ObjectFile &object : kernels->objects)
      all->objects.push_back(std::move(object));
    all->lower.push_back(std::move(kernels->interfaces));
    append_range(all->notes, kernels->notes);
    listings.append(std::move(own));
  }
  return all;
}
