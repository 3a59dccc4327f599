#include "Compile/CUDAKernelMaker.h"
#include "Analysis/Crowd.h"
#include "Analysis/HeldStates.h"
#include "Analysis/StateParts.h"
#include "Analysis/Trees.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Codegen/NVPTX/Compositions.h"
#include "Codegen/NVPTX/GradientSums.h"
#include "Codegen/NVPTX/Image.h"
#include "Support/Errors.h"
#include "dialects/Tile/Halves.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;
using codegen::ObjectFile;

chunk::ProgramOp compile::getProgram(mlir::ModuleOp module) { return *module.getOps<chunk::ProgramOp>().begin(); }

KernelResources compile::toResources(CUDAPlan plan) {
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

/// How many CTAs of a kernel that waits for memory a multiprocessor may have, which is worth a few registers.
static int64_t findOccupancy(const GPUProfile &gpu, const codegen::InterfaceLaunch &launch, int64_t heldNumbers) {
  constexpr int64_t fewRegisters = 80, besideStates = 64;
  int64_t registers = heldNumbers ? std::max(fewRegisters, heldNumbers + besideStates) : fewRegisters;
  return std::max<int64_t>(1, analysis::countCTAs(gpu, launch.sharedBytes, launch.threads, registers));
}

/// What a kernel of one token after another needs; states that threads hold need no shared memory.
static void fitStep(const GPUProfile &gpu, tile::KernelOp tiles, codegen::InterfaceLaunch &launch) {
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(tiles);
  if (held)
    launch.sharedBytes = held->countShared(launch.sharedBytes);
  tiles.setOccupancy(findOccupancy(gpu, launch, held ? held->countNumbers() : 0));
}

static void setParts(tile::KernelOp tiles, codegen::InterfaceLaunch &launch, int64_t parts) {
  launch.threads = launch.threads * analysis::getStateParts(tiles) / parts;
  launch.stateParts = parts == 1 ? 0 : parts;
  tiles.setThreads(uint64_t(launch.threads));
  tiles->setAttr(analysis::statePartsAttribute,
                 mlir::IntegerAttr::get(mlir::IntegerType::get(tiles.getContext(), 64), parts));
}

/// Two CTAs for a head, where neither needs anything of the other: while one waits for memory or for its warps, others
/// compute.
static void partStates(tile::KernelOp tiles, codegen::InterfaceLaunch &launch) {
  constexpr int64_t parts = 2, fewestThreads = 128;
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(tiles);
  if (held && launch.threads >= parts * fewestThreads && analysis::haveParts(tiles, *held))
    setParts(tiles, launch, parts);
}

/// Where threads hold states beside too few registers, rows first come token by token. One CTA alone that holds states,
/// which computes while memory rests, is slower than more of them that hold none; but of CTAs that have parts of heads
/// one fewer does little. A kernel for trees holds states where the one for chains does: sums of held states have
/// another order, and a token that is tried has the bits of one that is taken.
static bool holdLess(const GPUProfile &gpu, mlir::ModuleOp tiles, tile::KernelOp kernel, CUDAPlan &plan) {
  constexpr int64_t fewest = 2;
  std::optional<analysis::HeldStates> held = analysis::findHeldStates(kernel);
  int64_t occupancy = analysis::getOccupancy(kernel);
  if (!held || occupancy > fewest * analysis::getStateParts(kernel) || (!held->rows.tokens && occupancy > fewest))
    return false;
  auto unit = mlir::UnitAttr::get(kernel.getContext());
  if (held->rows.tokens) {
    kernel->setAttr(analysis::tokenByTokenAttribute, unit);
    if (codegen::InterfaceLaunch *launch = plan.findLaunch(kernel.getSymName()))
      launch->sharedBytes = held->moveDown(int64_t(*kernel.getShared()));
    return true;
  }
  SmallVector<StringRef> symbols{kernel.getSymName()};
  if (plan.trees)
    symbols = {plan.launches.front().symbol, plan.trees->symbol};
  for (StringRef symbol : symbols) {
    auto one = tiles.lookupSymbol<tile::KernelOp>(symbol);
    one->setAttr(analysis::placesStatesAttribute, unit);
    if (codegen::InterfaceLaunch *launch = plan.findLaunch(symbol)) {
      setParts(one, *launch, 1);
      launch->sharedBytes = int64_t(*one.getShared());
      fitStep(gpu, one, *launch);
    }
  }
  return true;
}

/// Lowers the occupancy by one, in CTAs or in teams of a CTA, or halves the threads of a CTA that has a multiprocessor
/// alone, for each kernel that ptxas found fault with, so that it gets more registers. Returns whether any changed.
static bool thinOut(const GPUProfile &gpu, mlir::ModuleOp tiles, CUDAPlan &plan, ArrayRef<Fault> faults) {
  bool any = false;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    if (none_of(faults, [&](const Fault &fault) { return fault.kernel == kernel.getSymName(); }))
      continue;
    codegen::InterfaceLaunch *launch = plan.findLaunch(kernel.getSymName());
    int64_t occupancy = analysis::getOccupancy(kernel);
    if (holdLess(gpu, tiles, kernel, plan))
      return true; // a plan that holds states has no other kernels
    if (occupancy > 1) {
      kernel.setOccupancy(uint64_t(occupancy) - 1);
      if (launch && launch->teams)
        launch->teams = occupancy - 1;
    } else if (launch && launch->chunksAreApart && launch->threads > teamThreads) {
      launch->threads /= 2;
      kernel.setThreads(uint64_t(launch->threads));
    } else {
      continue;
    }
    any = true;
  }
  return any;
}

/// Lets each chain that spills read what passes over sums take besides only when these sums are there. Returns whether
/// any did otherwise before.
static bool readLate(mlir::ModuleOp tiles, ArrayRef<Fault> faults) {
  bool any = false;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    bool spills =
        any_of(faults, [&](const Fault &fault) { return fault.spilledBytes && fault.kernel == kernel.getSymName(); });
    std::optional<analysis::StateChain> chain = spills ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || !chain->readsAhead)
      continue;
    kernel->setAttr(analysis::readsLateAttribute, mlir::UnitAttr::get(kernel.getContext()));
    any = true;
  }
  return any;
}

/// Lets each chain with faults make bf16 of rows of f16 that it multiplied as they are, which takes registers. Returns
/// whether any did so before.
static bool convertHalves(mlir::ModuleOp tiles, ArrayRef<Fault> faults) {
  bool any = false;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    bool isAtFault = any_of(faults, [&](const Fault &fault) { return fault.kernel == kernel.getSymName(); });
    std::optional<analysis::StateChain> chain = isAtFault ? analysis::findStateChain(kernel) : std::nullopt;
    if (!chain || none_of(chain->loads, [](const analysis::StateChain::Load &load) { return load.staysHalf; }))
      continue;
    kernel->setAttr(tile::convertsHalvesAttribute, mlir::UnitAttr::get(kernel.getContext()));
    for (analysis::StateChain::Load &load : chain->loads)
      if (load.op)
        load.op->removeAttr(tile::keepsHalvesAttribute);
    any = true;
  }
  return any;
}

/// Leaves out kernels with faults that go from sequence to sequence: calls of packed sequences do without them. Returns
/// whether any was left out.
static bool leaveOutListed(mlir::ModuleOp tiles, CUDAPlan &plan, ArrayRef<Fault> faults) {
  bool any = false;
  for (codegen::InterfaceLaunch &launch : plan.launches) {
    bool isOther = !launch.listed.empty() && launch.listed != launch.symbol;
    if (!isOther || none_of(faults, [&](const Fault &fault) { return fault.kernel == launch.listed; }))
      continue;
    tiles.lookupSymbol<tile::KernelOp>(launch.symbol).setUnlisted(true);
    launch.listed.clear();
    any = true;
  }
  return any;
}

Error CUDAKernelMaker::lower(Made &kernel) {
  Expected<std::vector<codegen::KernelIR>> code = lowerCUDAKernels(*kernel.tiles, kernel.pipeline);
  if (!code)
    return code.takeError();
  kernel.code = std::move(*code);
  return Error::success();
}

/// A kernel that can keep its states gets another one beside it for tokens that are tried as trees: what these need
/// more would take registers of the one for chains.
static void addTrees(mlir::ModuleOp tiles, CUDAPlan &plan) {
  codegen::InterfaceLaunch &launch = plan.launches.front();
  if (launch.arrays.empty())
    return;
  auto kernel = tiles.lookupSymbol<tile::KernelOp>(launch.symbol);
  tile::KernelOp trees = kernel.clone();
  plan.trees = launch;
  plan.trees->symbol += analysis::treesSuffix;
  trees.setSymName(plan.trees->symbol);
  trees->setAttr(analysis::treesAttribute, mlir::UnitAttr::get(kernel.getContext()));
  tiles.push_back(trees);
}

Error CUDAKernelMaker::compile(Made &kernel, CUDAForm form) {
  std::string whyPlain;
  while (true) {
    chunk::ProgramOp program = getProgram(*kernel.source);
    // What a part makes of a state is not cut into segments.
    bool summarises = kernel.whyNoSummaries.empty() && !program.getSummaryOf();
    Expected<CUDAKernels> kernels = planCUDAKernels(program, kernel.pipeline, form, summarises);
    if (!kernels)
      return kernels.takeError();
    kernel.plan = std::move(kernels->plan);
    kernel.tiles = kernels->lowering->takeModule();
    kernels->lowering.reset(); // which takes what lowering says for itself
    for (auto [tiles, launch] : zip(kernel.tiles->getOps<tile::KernelOp>(), kernel.plan.launches)) {
      tiles.setInTurn(kernel.isInTurn);
      if (kernel.isStep)
        partStates(tiles, launch);
      if (kernel.isStep)
        fitStep(*pipeline.target.gpu, tiles, launch);
    }
    if (kernel.isStep && pipeline.trees && !program.getInputs().empty())
      addTrees(*kernel.tiles, kernel.plan);
    Error error = lower(kernel);
    bool isPlain = kernel.plan.form == CUDAForm::Plain;
    if (isPlain && !whyPlain.empty())
      kernel.plan.whyPlain = whyPlain;
    if (!error || isPlain)
      return error;
    std::string why = toString(std::move(error));
    if (whyPlain.empty())
      whyPlain = std::move(why);
    form = getNext(kernel.plan.form);
  }
}

Expected<KernelResources> CUDAKernelMaker::add(mlir::OwningOpRef<mlir::ModuleOp> source, CUDAForm form, Made kernel) {
  kernel.source = std::move(source);
  kernel.pipeline.symbol = kernel.symbol;
  if (Error error = compile(kernel, form))
    return std::move(error);
  made.push_back(std::move(kernel));
  return toResources(made.back().plan);
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
  return add(std::move(*module), CUDAForm::Plain, std::move(kernel));
}

Expected<KernelResources> CUDAKernelMaker::addProgram(chunk::ProgramOp program, StringRef symbol) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
  module->push_back(program->clone());
  Made kernel;
  kernel.symbol = symbol.str();
  kernel.pipeline = pipeline;
  kernel.isOnly = program.getBackward() || program.getKeeps() || program.getSummaryOf();
  return add(std::move(module), CUDAForm::AllInChain, std::move(kernel));
}

Expected<std::optional<KernelResources>> CUDAKernelMaker::addSpare(chunk::ProgramOp program, StringRef symbol,
                                                                   double cycles) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(program.getLoc());
  module->push_back(program->clone());
  Made kernel;
  kernel.symbol = symbol.str();
  kernel.pipeline = pipeline;
  kernel.isSpare = true;
  Expected<KernelResources> resources = add(std::move(module), CUDAForm::AllInChain, std::move(kernel));
  if (!resources)
    return resources.takeError();
  if (resources->cycles <= cycles)
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

static bool isOfTrees(const CUDAPlan &plan, const Fault &fault) {
  return plan.trees && fault.kernel == plan.trees->symbol;
}

/// Whether the faults are of the kernel that summarises segments, or of the one that begins with what it found.
static bool isOfSummaries(const CUDAPlan &plan, ArrayRef<Fault> faults) {
  return any_of(plan.launches, [&](const codegen::InterfaceLaunch &launch) {
    return launch.cuts && launch.workspaceBytes &&
           any_of(faults, [&](const Fault &fault) { return fault.kernel == launch.symbol; });
  });
}

Expected<bool> CUDAKernelMaker::relieve(Made &kernel, ArrayRef<Fault> faults) {
  if (!readLate(*kernel.tiles, faults) && !convertHalves(*kernel.tiles, faults) &&
      !leaveOutListed(*kernel.tiles, kernel.plan, faults) &&
      !thinOut(*pipeline.target.gpu, *kernel.tiles, kernel.plan, faults))
    return false;
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
    if (kernel.plan.findLaunch(fault.kernel))
      own.push_back(fault);
  if (own.empty())
    return false;
  if (allowSpills(kernel, own))
    return true;
  if (all_of(own, [&](const Fault &fault) { return isOfTrees(kernel.plan, fault); })) {
    listings.notes.push_back("'" + kernel.plan.trees->symbol +
                             "' has more numbers than registers: " + toString(refuseFaults(own)));
    kernel.hasSlowTrees = true;
    return true;
  }
  bool isInPhases = kernel.plan.isInPhases();
  bool isSpare =
      kernel.isSpare ||
      (kernel.isStep && any_of(made, [&](const Made &other) { return &other != &kernel && !other.isLeftOut; }));
  bool couldWait = !isInPhases && !isSpare && !kernel.isInTurn;
  bool staysSlow = kernel.isOnly || (pipeline.target.gpu->spilledBytes && !isSpare);
  if (kernel.isSlow || (!isInPhases && !isSpare && !couldWait && !staysSlow))
    return false;
  std::string why = toString(refuseFaults(own));
  if (!isInPhases && !couldWait && staysSlow) {
    listings.notes.push_back("'" + kernel.symbol + "' has more numbers than registers: " + why);
    kernel.isSlow = true;
    return true;
  }
  if (isOfSummaries(kernel.plan, own)) {
    if (pipeline.plan == Plan::Segment)
      listings.notes.push_back("'" + kernel.symbol + "' does not summarise segments: " + why);
    kernel.whyNoSummaries = std::move(why);
    if (Error error = compile(kernel, kernel.plan.form))
      return std::move(error);
    return true;
  }
  if (isSpare) {
    listings.notes.push_back("'" + kernel.symbol + "' is left out: " + why);
    kernel.isLeftOut = true;
    return true;
  }
  if (couldWait) {
    listings.notes.push_back("'" + kernel.symbol + "' asks for a chunk only when it comes to it: " + why);
    kernel.isInTurn = true;
    std::string whyPlain = kernel.plan.whyPlain;
    if (Error error = compile(kernel, CUDAForm::Plain))
      return std::move(error);
    kernel.plan.whyPlain = std::move(whyPlain);
    return true;
  }
  CUDAForm form = kernel.plan.form;
  listings.notes.push_back("'" + kernel.symbol +
                           (form == CUDAForm::AllInChain       ? "' makes its interactions in a phase of their own: "
                            : form == CUDAForm::PreciseInChain ? "' rounds inverses to the type of the data: "
                            : form == CUDAForm::OutputsInChain ? "' makes its outputs in a phase of their own: "
                                                               : "' has the plain plan, and not the one in phases: ") +
                           why);
  kernel.whyNoSummaries.clear(); // those of another form
  if (Error error = compile(kernel, getNext(kernel.plan.form)))
    return std::move(error);
  if (kernel.plan.form == CUDAForm::Plain)
    kernel.plan.whyPlain = std::move(why);
  return true;
}

/// How many bytes of a thread a launch may keep in memory and its plan all the same. Every other plan of such a GPU
/// would spill as well. A second CTA of a gradient hides more than a few numbers cost among thousands of instructions.
int64_t CUDAKernelMaker::countAllowedSpills(const Made &kernel, StringRef symbol) const {
  constexpr int64_t few = 32;
  if (kernel.spilling.contains(symbol))
    return pipeline.target.gpu->spilledBytes;
  auto tiles = kernel.tiles.get().lookupSymbol<tile::KernelOp>(symbol);
  return tiles && kernel.isOnly && !tiles.getTeams() && analysis::getOccupancy(tiles) == 2 ? few : 0;
}

bool CUDAKernelMaker::isKept(const Fault &fault) const {
  return any_of(made, [&](const Made &one) {
    if (!one.plan.findLaunch(fault.kernel))
      return false;
    return one.isSlow || (one.hasSlowTrees && isOfTrees(one.plan, fault)) ||
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
    KernelResources resources = toResources(findMade(kernel)->plan);
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
  for (std::optional<codegen::InterfaceKernel> *kernel :
       {&interface.gradient->statesLaunches, &interface.gradient->runLaunches, &interface.gradient->chainLaunches,
        &interface.gradient->handingLaunches})
    if (*kernel)
      completeKernel(**kernel);
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
