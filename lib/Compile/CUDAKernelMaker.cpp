#include "Compile/CUDAKernelMaker.h"
#include "Analysis/Crowd.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Codegen/NVPTX/Compositions.h"
#include "Codegen/NVPTX/GradientSums.h"
#include "Codegen/NVPTX/Image.h"
#include "Plan/Relief.h"
#include "Plan/StepPlan.h"
#include "Support/Errors.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;
using codegen::ObjectFile;

chunk::ProgramOp compile::getProgram(mlir::ModuleOp module) { return *module.getOps<chunk::ProgramOp>().begin(); }

KernelResources compile::toResources(plan::GPUPlan plan) {
  return {plan.isInPhases() ? 0 : plan.workspaceBytes,
          std::move(plan.launches),
          std::move(plan.left),
          std::move(plan.listing),
          std::move(plan.trees),
          plan.cycles};
}

bool compile::isCut(ArrayRef<codegen::InterfaceLaunch> launches) {
  return any_of(launches, [](const codegen::InterfaceLaunch &launch) { return launch.cuts; });
}

Error CUDAKernelMaker::lower(Made &kernel) {
  Expected<std::vector<codegen::KernelIR>> code = lowerCUDAKernels(*kernel.kernels.tiles, kernel.pipeline);
  if (!code)
    return code.takeError();
  kernel.code = std::move(*code);
  return Error::success();
}

Error CUDAKernelMaker::compile(Made &kernel) {
  while (true) {
    Expected<plan::GPUKernels> found = kernel.search->find();
    if (!found)
      return found.takeError();
    kernel.kernels = std::move(*found);
    if (kernel.isStep)
      plan::completeStep(kernel.kernels, *pipeline.target.gpu,
                         pipeline.trees && !getProgram(*kernel.source).getInputs().empty());
    Error error = lower(kernel);
    if (!error || !kernel.getPlan().isInPhases())
      return error;
    kernel.search->refuse(toString(std::move(error)));
  }
}

Expected<KernelResources> CUDAKernelMaker::add(mlir::OwningOpRef<mlir::ModuleOp> source, plan::Form from, Made kernel) {
  kernel.source = std::move(source);
  kernel.pipeline.symbol = kernel.symbol;
  kernel.search.emplace(getProgram(*kernel.source), kernel.pipeline, from, kernel.offered);
  if (Error error = compile(kernel))
    return std::move(error);
  made.push_back(std::move(kernel));
  return toResources(made.back().getPlan());
}

Expected<KernelResources> CUDAKernelMaker::addStep(dgps::RecurrenceOp recurrence, StringRef symbol) {
  PipelineOptions options = pipeline;
  auto module = makeStepProgram(recurrence, options);
  if (!module)
    return module.takeError();
  Made kernel;
  kernel.symbol = symbol.str();
  kernel.pipeline = options;
  kernel.isStep = true;
  return add(std::move(*module), plan::Form::Plain, std::move(kernel));
}

Expected<KernelResources> CUDAKernelMaker::addProgram(chunk::ProgramOp program, StringRef symbol) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
  module->push_back(program->clone());
  Made kernel;
  kernel.symbol = symbol.str();
  kernel.pipeline = pipeline;
  kernel.isOnly = program.getBackward() || program.getKeeps() || program.getSummaryOf();
  return add(std::move(module), plan::Form::AllInChain, std::move(kernel));
}

Expected<std::optional<KernelResources>> CUDAKernelMaker::addSpare(chunk::ProgramOp program, StringRef symbol,
                                                                   double cycles,
                                                                   ArrayRef<codegen::InterfaceLeft> offered) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
  module->push_back(program->clone());
  Made kernel;
  kernel.symbol = symbol.str();
  kernel.pipeline = pipeline;
  kernel.isSpare = true;
  kernel.isOnly = !offered.empty();
  kernel.offered = offered;
  Expected<KernelResources> resources = add(std::move(module), plan::Form::AllInChain, std::move(kernel));
  if (!resources)
    return resources.takeError();
  bool takes =
      offered.empty() || any_of(resources->left, [](const codegen::InterfaceLeft &left) { return left.isHanded; });
  if (takes && resources->cycles <= cycles)
    return std::optional(std::move(*resources));
  made.pop_back();
  return std::nullopt;
}

/// What a writer of one kernel in LLVM IR makes.
static codegen::KernelIR makeIR(std::unique_ptr<Module> (*write)(LLVMContext &, StringRef), StringRef symbol) {
  LLVMContext context;
  return codegen::splitKernels(*write(context, symbol)).front();
}

std::optional<codegen::InterfaceLaunch> CUDAKernelMaker::addSums(StringRef symbol) {
  if (!sums)
    sums = makeIR(codegen::makeGradientSums, symbol);
  return codegen::InterfaceLaunch{sums->symbol, codegen::sumThreads, 0};
}

std::optional<codegen::InterfaceLaunch> CUDAKernelMaker::addCompositions(StringRef symbol) {
  if (!compositions)
    compositions = makeIR(codegen::makeCompositions, symbol);
  return codegen::InterfaceLaunch{compositions->symbol, codegen::compositionThreads, 0};
}

Expected<CUDAKernelMaker::Code> CUDAKernelMaker::makeAll(bool assembles) {
  std::vector<const codegen::KernelIR *> kernels;
  for (const Made &kernel : made)
    for (const codegen::KernelIR &one : kernel.code)
      kernels.push_back(&one);
  for (const std::optional<codegen::KernelIR> *common : {&sums, &compositions})
    if (*common)
      kernels.push_back(&**common);
  Expected<std::vector<const codegen::MadeKernel *>> code = factory.make(kernels, assembles);
  if (!code)
    return code.takeError();
  Code all;
  for (auto [kernel, one] : zip(kernels, *code)) {
    all.kernels.push_back({kernel->symbol, one});
    all.registers = std::max(all.registers, one->cubin.registers);
    for (const Fault &fault : one->cubin.faults)
      all.faults.push_back({kernel->symbol, fault.text, fault.spilledBytes});
  }
  return all;
}

std::string CUDAKernelMaker::Code::joinPTX() const {
  std::vector<std::string> texts;
  for (const auto &[symbol, kernel] : kernels)
    texts.push_back(codegen::getPTX(*kernel, symbol));
  return codegen::joinPTX(texts);
}

std::string CUDAKernelMaker::Code::joinCubins() const {
  std::vector<codegen::KernelCubin> cubins;
  for (const auto &[symbol, kernel] : kernels)
    cubins.push_back({symbol, kernel->cubin.bytes, kernel->symbol});
  return codegen::joinCubins(cubins);
}

Expected<std::string> CUDAKernelMaker::Code::printLLVM() const {
  LLVMContext context;
  Module all("kernels", context);
  for (const auto &[symbol, kernel] : kernels) {
    Expected<std::unique_ptr<Module>> module = codegen::readKernel(*kernel, symbol, context);
    if (!module)
      return module.takeError();
    all.setTargetTriple((*module)->getTargetTriple());
    all.setDataLayout((*module)->getDataLayout());
    if (Linker::linkModules(all, std::move(*module)))
      return make_error<InternalError>("the kernels do not link");
  }
  return codegen::printIR(all);
}

static bool isOfTrees(const plan::GPUPlan &plan, const Fault &fault) {
  return plan.trees && fault.kernel == plan.trees->symbol;
}

/// Whether the faults are of the kernel that summarises segments, or of the one that begins with what it found.
static bool isOfSummaries(const plan::GPUPlan &plan, ArrayRef<Fault> faults) {
  return any_of(plan.launches, [&](const codegen::InterfaceLaunch &launch) {
    return launch.cuts && launch.workspaceBytes &&
           any_of(faults, [&](const Fault &fault) { return fault.kernel == launch.symbol; });
  });
}

/// Those of the plan's launches, and of kernels that take their place.
static std::vector<Fault> selectOwn(const plan::GPUKernels &kernels, ArrayRef<Fault> faults) {
  std::vector<Fault> own;
  for (const Fault &fault : faults)
    if (kernels.plan.findLaunch(fault.kernel) ||
        any_of(kernels.plan.launches, [&](const tile::Launch &launch) { return launch.listed == fault.kernel; }))
      own.push_back(fault);
  return own;
}

Expected<bool> CUDAKernelMaker::relieve(Made &kernel, ArrayRef<Fault> faults) {
  std::vector<Fault> own = selectOwn(kernel.kernels, faults);
  std::vector<plan::Complaint> complaints;
  for (const Fault &fault : own)
    complaints.push_back({fault.kernel, fault.spilledBytes > 0});
  std::vector<plan::Change> changes = plan::relieve(kernel.kernels, *pipeline.target.gpu, complaints);
  if (changes.empty())
    return false;
  std::string why = toString(refuseFaults(own));
  for (plan::Change &change : changes)
    if (!change.loss.empty())
      change.loss += ": " + why;
  kernel.search->change(why, changes);
  if (Error error = lower(kernel))
    return std::move(error);
  return true;
}

bool CUDAKernelMaker::allowSpills(Made &kernel, ArrayRef<Fault> faults) {
  bool any = false;
  for (const Fault &fault : faults)
    if (fault.spilledBytes && fault.spilledBytes <= pipeline.target.gpu->spilledBytes &&
        kernel.spilling.insert(fault.kernel).second) {
      listings.notes.push_back("'" + fault.kernel + "' keeps some numbers in memory: " + fault.text);
      any = true;
    }
  return any;
}

/// What the form does that takes the place of this one.
static StringRef nameNext(plan::Form form) {
  switch (form) {
  case plan::Form::AllInChain:
    return "makes its interactions in a phase of their own";
  case plan::Form::PreciseInChain:
    return "rounds inverses to the type of the data";
  case plan::Form::OutputsInChain:
    return "makes its outputs in a phase of their own";
  default:
    return "has the plain plan, and not the one in phases";
  }
}

/// All kernels at fault in one go: what takes time is to assemble them again.
Expected<bool> CUDAKernelMaker::avoid(ArrayRef<Fault> faults) {
  bool any = false;
  for (Made &kernel : made) {
    Expected<bool> isBetter = avoid(kernel, faults);
    if (!isBetter)
      return isBetter;
    any |= *isBetter;
  }
  erase_if(made, [](const Made &kernel) { return kernel.isLeftOut; });
  return any;
}

Expected<bool> CUDAKernelMaker::avoid(Made &kernel, ArrayRef<Fault> faults) {
  Expected<bool> isRelieved = relieve(kernel, faults);
  if (!isRelieved || *isRelieved)
    return isRelieved;
  std::vector<Fault> own;
  for (const Fault &fault : faults)
    if (kernel.getPlan().findLaunch(fault.kernel))
      own.push_back(fault);
  if (own.empty())
    return false;
  if (allowSpills(kernel, own))
    return true;
  if (all_of(own, [&](const Fault &fault) { return isOfTrees(kernel.getPlan(), fault); })) {
    listings.notes.push_back("'" + kernel.getPlan().trees->symbol +
                             "' has more numbers than registers: " + toString(refuseFaults(own)));
    kernel.hasSlowTrees = true;
    return true;
  }
  bool isInPhases = kernel.getPlan().isInPhases();
  bool isSpare =
      kernel.isSpare ||
      (kernel.isStep && any_of(made, [&](const Made &other) { return &other != &kernel && !other.isLeftOut; }));
  bool couldWait = !isInPhases && !isSpare && !kernel.search->getTaken().isInTurn;
  bool staysSlow = kernel.isOnly || (pipeline.target.gpu->spilledBytes && !isSpare);
  if (kernel.isSlow || (!isInPhases && !isSpare && !couldWait && !staysSlow))
    return false;
  std::string why = toString(refuseFaults(own));
  if (!isInPhases && !couldWait && staysSlow) {
    listings.notes.push_back("'" + kernel.symbol + "' has more numbers than registers: " + why);
    kernel.isSlow = true;
    return true;
  }
  if (isOfSummaries(kernel.getPlan(), own)) {
    if (pipeline.plan == Plan::Segment)
      listings.notes.push_back("'" + kernel.symbol + "' does not summarise segments: " + why);
    kernel.search->refuseSummaries(why);
  } else if (isSpare) {
    listings.notes.push_back("'" + kernel.symbol + "' is left out: " + why);
    kernel.isLeftOut = true;
    return true;
  } else if (couldWait) {
    listings.notes.push_back("'" + kernel.symbol + "' asks for a chunk only when it comes to it: " + why);
    kernel.search->refuseAhead(why);
  } else {
    listings.notes.push_back("'" + kernel.symbol + "' " + nameNext(kernel.getPlan().form).str() + ": " + why);
    kernel.search->refuse(why);
  }
  if (Error error = compile(kernel))
    return std::move(error);
  return true;
}

/// How many bytes of a thread a launch may keep in memory and its plan all the same. Every other plan of such a GPU
/// would spill as well. A few numbers cost a gradient less, among its thousands of instructions, than it would lose a
/// second CTA, or a plain plan the chunk that it asks for ahead.
int64_t CUDAKernelMaker::countAllowedSpills(const Made &kernel, StringRef symbol) const {
  constexpr int64_t few = 32;
  if (kernel.spilling.contains(symbol))
    return pipeline.target.gpu->spilledBytes;
  auto tiles = kernel.kernels.tiles.get().lookupSymbol<tile::KernelOp>(symbol);
  if (!tiles || !kernel.isOnly || tiles.getTeams())
    return 0;
  return analysis::getOccupancy(tiles) == 2 || !kernel.getPlan().isInPhases() ? few : 0;
}

bool CUDAKernelMaker::isKept(const Fault &fault) const {
  return any_of(made, [&](const Made &one) {
    if (!one.getPlan().findLaunch(fault.kernel))
      return false;
    return one.isSlow || (one.hasSlowTrees && isOfTrees(one.getPlan(), fault)) ||
           (fault.spilledBytes && fault.spilledBytes <= countAllowedSpills(one, fault.kernel));
  });
}

/// A table of cubins; or PTX, which the driver compiles, where there is no assembler or the target is portable.
Expected<std::string> CUDAKernelMaker::makeImage() {
  if (Error error = checkImageVariable())
    return std::move(error);
  Expected<std::string> assembler = findAssembler();
  if (!assembler && listings.wantsCubin)
    return assembler.takeError();
  while (true) {
    Expected<Code> code = makeAll(/*assembles=*/bool(assembler));
    if (!code)
      return code.takeError();
    int64_t spilled = 0;
    std::vector<Fault> faults;
    for (const Fault &fault : code->faults)
      if (isKept(fault))
        spilled = std::max(spilled, fault.spilledBytes);
      else
        faults.push_back(fault);
    if (faults.empty()) {
      if (Error error = list(*code, spilled))
        return std::move(error);
      for (const Made &kernel : made) // of the plans that are taken in the end
        for (const plan::Change &change : kernel.search->getTaken().changes)
          if (!change.loss.empty())
            listings.notes.push_back(change.loss);
      if (!assembler)
        listings.notes.push_back(
            "the kernels for '" + pipeline.target.name +
            "' are PTX, which the GPU's driver compiles when they are loaded: " + toString(assembler.takeError()));
      return keepsPTX(*pipeline.target.gpu) ? listings.ptx : code->joinCubins();
    }
    Expected<bool> isBetter = avoid(faults);
    if (!isBetter)
      return isBetter.takeError();
    if (!*isBetter) // no plan is left, so it is for the author to change something
      return makeError(toString(refuseFaults(faults)) +
                       "; smaller dims, and shorter windows of conv and delay, take fewer registers");
  }
}

Error CUDAKernelMaker::list(const Code &code, int64_t spilledBytes) {
  listings.ptx = code.joinPTX();
  listings.registers = code.registers;
  listings.spilledBytes = spilledBytes;
  if (listings.wantsLLVM) {
    Expected<std::string> text = code.printLLVM();
    if (!text)
      return text.takeError();
    listings.llvmIR = std::move(*text);
  }
  if (!listings.wantsCubin)
    return Error::success();
  // One that programs of other makers can load.
  Expected<Cubin> cubin = assemble(listings.ptx, pipeline.target.cpu);
  if (!cubin)
    return cubin.takeError();
  listings.cubin = std::move(cubin->bytes);
  return Error::success();
}

void CUDAKernelMaker::complete(codegen::KernelInterface &interface) {
  auto findMade = [&](const codegen::InterfaceKernel &kernel) {
    return find_if(made, [&](const Made &one) { return one.symbol == kernel.symbol; });
  };
  auto completeKernel = [&](codegen::InterfaceKernel &kernel) {
    KernelResources resources = toResources(findMade(kernel)->getPlan());
    kernel.workspaceBytes = resources.workspaceBytes;
    kernel.launches = std::move(resources.launches);
    kernel.left = std::move(resources.left);
    kernel.listing = std::move(resources.listing);
    kernel.trees = std::move(resources.trees);
  };
  erase_if(interface.kernels, [&](const codegen::InterfaceKernel &kernel) { return findMade(kernel) == made.end(); });
  for_each(interface.kernels, completeKernel);
  // The form that was made in the end may have nothing that is cut.
  erase_if(interface.kernels, [](const codegen::InterfaceKernel &kernel) {
    return kernel.plan == RECUR_PLAN_SEGMENT && !isCut(kernel.launches);
  });
  if (interface.parts)
    for_each(interface.parts->kernels, completeKernel);
  if (!interface.gradient)
    return;
  if (std::optional<codegen::InterfaceKernel> &handing = interface.gradient->handingLaunches;
      handing && findMade(*handing) == made.end())
    handing.reset();
  if (std::optional<codegen::InterfaceKernel> &taking = interface.gradient->takingLaunches;
      taking && (!interface.gradient->handingLaunches || findMade(*taking) == made.end()))
    taking.reset();
  for (std::optional<codegen::InterfaceKernel> *kernel :
       {&interface.gradient->statesLaunches, &interface.gradient->runLaunches, &interface.gradient->chainLaunches,
        &interface.gradient->handingLaunches, &interface.gradient->takingLaunches})
    if (*kernel)
      completeKernel(**kernel);
  codegen::linkHandedOver(*interface.gradient);
}

Expected<std::vector<ObjectFile>> CUDAKernelMaker::finish(MutableArrayRef<codegen::KernelInterface> interfaces) {
  Expected<std::string> image = makeImage();
  if (!image)
    return image.takeError();
  for (codegen::KernelInterface &interface : interfaces) {
    complete(interface);
    if (interface.kernels.empty())
      return make_error<RefusedPlanError>(
          "'" + interface.name + "' has no kernel of the plan that was asked for: " + join(listings.notes, "; "));
    for (codegen::KernelInterface &start : interface.start) {
      complete(start);
      if (start.kernels.empty())
        return makeError("'" + interface.name + "': what its states start as takes more registers than there are");
    }
  }
  // Data alone, for the processor that is beside the GPU.
  Target beside = *findTarget(pipeline.target.beside);
  LLVMContext context;
  Module descriptors(objectName, context);
  codegen::addDescriptors(descriptors, interfaces, *image);
  if (Error error = codegen::optimize(descriptors, beside, pipeline.effort))
    return std::move(error);
  Expected<std::string> object = codegen::emitCode(descriptors, beside, CodeForm::Object, pipeline.effort);
  if (!object)
    return object.takeError();
  std::vector<ObjectFile> objects;
  objects.push_back({objectName, std::move(*object)});
  return std::move(objects);
}

Expected<BuiltPlan> compile::planAsBuilt(chunk::ProgramOp program, StringRef symbol, const PipelineOptions &pipeline) {
  Listings listings;
  CUDAKernelMaker maker(pipeline, "", listings);
  if (Error error = maker.addProgram(program, symbol).takeError())
    return std::move(error);
  const plan::Candidate first = maker.getMade().front().search->getTaken();
  consumeError(maker.makeImage().takeError());
  CUDAKernelMaker::Made &made = maker.getMade().front();
  return BuiltPlan{std::move(made.kernels), made.search->getTaken() != first};
}
