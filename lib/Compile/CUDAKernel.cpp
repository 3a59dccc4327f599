#include "Compile/CUDAKernel.h"
#include "ABI/LaunchWords.h"
#include "Analysis/CopiedRows.h"
#include "Analysis/Crowd.h"
#include "Analysis/PackedLists.h"
#include "Analysis/RowPass.h"
#include "Analysis/StateChain.h"
#include "Compile/KernelPlans.h"
#include "Conversion/ChunkToTile/Segments.h"
#include "dialects/Tile/Halves.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace recur;
using namespace recur::compile;

char RefusedPlanError::ID;

static CUDAPlan describe(mlir::ModuleOp plans) {
  CUDAPlan plan;
  for (auto kernel : plans.getOps<tile::KernelOp>()) {
    plan.launches.push_back({kernel.getSymName().str(), int64_t(*kernel.getThreads()), int64_t(*kernel.getShared())});
    plan.times.push_back(analysis::estimateTime(kernel));
    plan.workspaceBytes = std::max(plan.workspaceBytes, int64_t(kernel.getWorkspace()));
  }
  return plan;
}

/// Whether factors of the program's products may be rounded to 16 bits, which the matrix units multiply faster.
static bool roundsFactors(chunk::ProgramOp program) { return bool(program.getShortFactors()); }

/// Whether the phases of this form are those of rounded factors. With products of tf32 they are, as far as the state is
/// in registers; without that, the chain should do as little as possible.
static bool hasRoundedPhases(chunk::ProgramOp program, CUDAForm form) {
  return roundsFactors(program) || (program.hasTF32Factors() && form < CUDAForm::InPhases);
}

/// Adds what launches have of the arrays, and what they leave to each other.
static void addPhases(CUDAPlan &plan, const chunk::Phases &phases, mlir::ModuleOp plans, bool roundsFactors) {
  for (auto [launch, kernel, phase] : zip(plan.launches, plans.getOps<tile::KernelOp>(), phases.phases)) {
    launch.workspaceBytes = int64_t(kernel.getWorkspace());
    launch.parts = phase.parts;
    launch.chunksAreApart = phase.isParallel;
    launch.bounds = phase.bounds;
    launch.cuts = !kernel.getBody().getOps<tile::SegmentOp>().empty();
    for (const chunk::PhaseArray &array : phase.arrays)
      launch.arrays.push_back(
          {array.number, array.partDim, array.partDim < 0 ? 0 : array.shape[unsigned(array.partDim)]});
  }
  for (const chunk::LeftArray &array : phases.left) {
    DataType type = array.isRounded && roundsFactors ? DataType::BF16 : DataType::F32;
    plan.left.push_back({array.rows, getByteSize(type), llvm::to_vector<2>(array.shape)});
  }
}

static ChainWork getWork(CUDAForm form) {
  return form == CUDAForm::AllInChain       ? ChainWork::Interactions
         : form == CUDAForm::PreciseInChain ? ChainWork::PreciseOutputs
         : form == CUDAForm::OutputsInChain ? ChainWork::Outputs
                                            : ChainWork::States;
}

/// Puts the phases of a module's one program, of stage `chunk`, in its place; none if it has none.
static Expected<std::optional<chunk::Phases>> splitIntoPhases(mlir::ModuleOp module, const PipelineOptions &pipeline,
                                                              CUDAForm form, bool cutShort, bool hasPrologue) {
  auto program = *module.getOps<chunk::ProgramOp>().begin();
  mlir::OwningOpRef<mlir::ModuleOp> split = module.clone();
  mlir::PassManager passes(module.getContext());
  populatePhases(passes, hasRoundedPhases(program, form), getWork(form), cutShort, hasPrologue);
  if (mlir::failed(passes.run(*split)))
    return createStringError("the program cannot be split into phases");
  SmallVector<chunk::ProgramOp> phases(split->getOps<chunk::ProgramOp>());
  // What is left of the program may have phases, or no states. One that goes from chunk to chunk as a whole gains
  // nothing.
  bool isWhole = llvm::any_of(phases, [&](chunk::ProgramOp phase) {
    return phase.getSymName() == program.getSymName() && (!phase.getStates().empty() || phases.size() == 1);
  });
  if (isWhole)
    return std::nullopt;
  std::optional<chunk::Phases> described = chunk::describePhases(program, phases);
  if (!described)
    return createStringError("what one of its chains over the chunks leaves to another is cut into parts");
  StringRef name = pipeline.symbol.empty() ? program.getSymName() : StringRef(pipeline.symbol);
  for (chunk::ProgramOp phase : phases) {
    std::string suffix = phase.getSymName().drop_front(program.getSymName().size()).str();
    std::replace(suffix.begin(), suffix.end(), '.',
                 '$'); // a part of a summary has the one in its name, and PTX the other
    phase.setSymName((name + suffix).str());
    phase->moveBefore(program);
  }
  program.erase();
  return described;
}

/// How many tokens a kernel takes at a time.
static int64_t countTokensAtOnce(tile::KernelOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front()) {
    auto inTurn = dyn_cast<mlir::scf::ForOp>(op);
    auto atOnce = dyn_cast<mlir::scf::ParallelOp>(op);
    if (!inTurn && !atOnce)
      continue;
    mlir::Value step = inTurn ? inTurn.getStep() : atOnce.getStep()[0];
    if (auto cast = step.getDefiningOp<mlir::arith::IndexCastOp>())
      step = cast.getIn();
    mlir::IntegerAttr size;
    if (matchPattern(step, mlir::m_Constant(&size)))
      return size.getInt();
  }
  return 0;
}

codegen::InterfaceLaunch *CUDAPlan::findLaunch(StringRef symbol) {
  if (trees && trees->symbol == symbol)
    return &*trees;
  auto found = find_if(launches, [&](const codegen::InterfaceLaunch &launch) { return launch.symbol == symbol; });
  return found == launches.end() ? nullptr : &*found;
}

/// Says which launches can go by a list of the chunks of packed sequences, and which one makes it.
static void listPacked(CUDAPlan &plan, mlir::ModuleOp plans, int64_t chunk) {
  for (auto kernel : plans.getOps<tile::KernelOp>()) {
    auto launch = find_if(plan.launches, [&](const auto &launch) { return launch.symbol == kernel.getSymName(); });
    if (launch == plan.launches.end() || !analysis::goesByList(kernel) || countTokensAtOnce(kernel) != chunk)
      continue;
    launch->listed = launch->symbol;
    if (!analysis::listsChunks(kernel))
      launch->listed += analysis::listedSuffix;
    auto first = *plans.getOps<tile::KernelOp>().begin();
    plan.listing = {(first.getSymName() + analysis::listingSuffix).str(), abi::listingThreads, 0};
  }
}

static_assert(analysis::mostCopiedArrays == abi::mostMaps);

/// Says of which arrays the copy unit brings rows.
static void listCopiedRows(CUDAPlan &plan, mlir::ModuleOp plans) {
  for (auto kernel : plans.getOps<tile::KernelOp>()) {
    std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel);
    auto launch = find_if(plan.launches, [&](const auto &launch) { return launch.symbol == kernel.getSymName(); });
    if (!chain || launch == plan.launches.end())
      continue;
    for (const analysis::CopiedRows &copied : analysis::findCopiedRows(*chain, kernel))
      launch->arrays[copied.array].copiedRows = copied.rows;
  }
}

/// Says of which rows of f16 chains round nothing, for those who judge the plan.
static void markHalves(mlir::ModuleOp plans) {
  for (auto kernel : plans.getOps<tile::KernelOp>())
    if (std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel))
      for (analysis::StateChain::Load &load : chain->loads)
        if (load.staysHalf)
          load.op->setAttr(tile::keepsHalvesAttribute, mlir::UnitAttr::get(plans.getContext()));
}

/// Which of a kernel's arrays the other writes, by number.
static SmallVector<int64_t> findAwaited(tile::KernelOp first, const chunk::Phase &firstPhase,
                                        const chunk::Phase &secondPhase) {
  DenseSet<unsigned> written;
  first.walk([&](tile::StoreOp store) {
    if (auto array = dyn_cast<mlir::BlockArgument>(store.getArray()))
      written.insert(firstPhase.arrays[array.getArgNumber()].number);
  });
  SmallVector<int64_t> awaited;
  for (auto [number, array] : enumerate(secondPhase.arrays))
    if (written.contains(array.number))
      awaited.push_back(int64_t(number));
  return awaited;
}

/// Whether a CTA of it can be several teams that announce their chunks.
static bool canAnnounce(tile::KernelOp kernel) {
  return kernel.getWorkspace() == 0 && !analysis::takesRowsApart(kernel) &&
         hasSingleElement(kernel.getBody().front().getOps<mlir::scf::ParallelOp>());
}

/// What a summary of a segment takes in memory: what becomes of a state, and the states of all parts.
static int64_t countSummaryBytes(tile::SegmentOp segment, int64_t parts) {
  tile::TileType state = segment.getInitial().getType();
  return segment.getMapBytes() + parts * state.getSize(1) * segment.getColumns() * getByteSize(DataType::F32);
}

/// Before a kernel that goes from chunk to chunk with its state in registers, one that summarises segments, where that
/// is known: for launches that are cut.
static void summariseSegments(CUDAPlan &plan, chunk::Phases &phases, mlir::ModuleOp plans) {
  SmallVector<tile::KernelOp> kernels(plans.getOps<tile::KernelOp>());
  for (size_t i = kernels.size(); i-- > 0;) {
    if (phases.phases[i].isParallel)
      continue;
    int64_t parts = phases.phases[i].parts;
    tile::KernelOp made = conversion::addSummaries(kernels[i], parts, (kernels[i].getSymName() + "_summaries").str());
    if (!made)
      continue;
    tile::SegmentOp segment = *made.getBody().getOps<tile::SegmentOp>().begin();
    tile::TileType state = segment.getInitial().getType();
    plan.launches[i].cuts = true;
    plan.launches[i].workspaceBytes = countSummaryBytes(segment, parts);
    codegen::InterfaceLaunch launch = plan.launches[i];
    launch.symbol = made.getSymName().str();
    launch.threads = int64_t(*made.getThreads());
    launch.sharedBytes = int64_t(*made.getShared());
    launch.bounds = true;
    if (segment.getMaps())
      launch.parts += int64_t(divideCeil(uint64_t(state.getSize(2)), uint64_t(state.getSize(1))));
    analysis::KernelTime time = analysis::estimateTime(made);
    launch.cost = float(analysis::estimateChain(*analysis::findStateChain(made), time) /
                        analysis::estimateChain(*analysis::findStateChain(kernels[i]), plan.times[i]));
    chunk::Phase phase = phases.phases[i];
    phase.bounds = true;
    plan.launches.insert(plan.launches.begin() + i, std::move(launch));
    plan.times.insert(plan.times.begin() + i, time);
    phases.phases.insert(phases.phases.begin() + i, std::move(phase));
  }
}

/// Of two kernels one behind the other, the first can leave its chunks while the second, whose state is in registers,
/// goes over those that are there. Those for launches that are cut are not between them then.
static void putSideBySide(CUDAPlan &plan, const chunk::Phases &phases, mlir::ModuleOp plans, const GPUProfile &gpu) {
  if (!gpu.startsEarly)
    return;
  SmallVector<tile::KernelOp> kernels(plans.getOps<tile::KernelOp>());
  mlir::OpBuilder builder(plans.getContext());
  for (size_t i = 0; i < kernels.size(); ++i) {
    size_t next = i + 1;
    while (next < kernels.size() && phases.phases[next].bounds)
      ++next;
    if (next == kernels.size() || !phases.phases[i].isParallel || phases.phases[i].bounds ||
        phases.phases[i].parts != 1 || !canAnnounce(kernels[i]) ||
        countTokensAtOnce(kernels[i]) != countTokensAtOnce(kernels[next]))
      continue;
    std::optional<analysis::StateChain> chain = analysis::findStateChain(kernels[next]);
    if (!chain)
      continue;
    SmallVector<int64_t> awaited = findAwaited(kernels[i], phases.phases[i], phases.phases[next]);
    if (awaited.empty())
      continue;
    auto arrays = int(kernels[i].getBody().getNumArguments()) - 1;
    int64_t shared = int64_t(
        alignTo(uint64_t(*kernels[i].getShared()) + uint64_t(abi::countTeamBytes(arrays)), tile::teamAlignment));
    int64_t teams =
        std::min(analysis::countNeighbourCTAs(kernels[i]), gpu.sharedBytes / std::max(shared, tile::teamAlignment));
    kernels[i].setShared(shared);
    kernels[i].setTeams(teams);
    kernels[next].setAwaits(awaited);
    plan.launches[i].sharedBytes = shared;
    plan.launches[i].teams = teams;
    plan.launches[i].cost =
        float(analysis::estimateChunk(plan.times[i], teams) / analysis::estimateChain(*chain, plan.times[next]));
    plan.launches[next].awaits = true;
  }
}

/// More than this the runtime has no room for.
static Error checkCounts(const CUDAPlan &plan) {
  if (plan.left.size() > abi::mostLeft)
    return createStringError("phases leave " + Twine(plan.left.size()) +
                             " arrays to each other, and the runtime takes " + Twine(abi::mostLeft));
  for (const codegen::InterfaceLaunch &launch : plan.launches)
    if (launch.arrays.size() > abi::mostLaunchArrays)
      return createStringError("a phase has " + Twine(launch.arrays.size()) + " arrays, and a launch takes " +
                               Twine(abi::mostLaunchArrays));
  return Error::success();
}

/// Whether every sequential phase with products keeps its state in registers. If not, the chain should do as little as
/// possible.
static bool isInRegisters(mlir::ModuleOp plans, const chunk::Phases &phases) {
  for (auto [kernel, phase] : zip(plans.getOps<tile::KernelOp>(), phases.phases)) {
    bool hasProducts = kernel.walk([](tile::ProductOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
    if (!phase.isParallel && hasProducts && !analysis::findStateChain(kernel))
      return false;
  }
  return true;
}

/// How many chunks ahead of their use the chains together have room for.
static int64_t countStages(CUDAKernels &kernels) {
  int64_t stages = 0;
  for (tile::KernelOp kernel : kernels.lowering->getModule().getOps<tile::KernelOp>())
    if (std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel))
      stages += chain->stages;
  return stages;
}

static bool hasPreciseProducts(mlir::ModuleOp plans) {
  return plans
      .walk([](tile::ProductOp product) {
        return product.getLeftExchanged() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Says of kernels whose last part has fewer channels how many all parts have. Whether all of these can have such a
/// part: they have their state in registers.
static bool cutChannelsShort(mlir::ModuleOp plans, const chunk::Phases &phases) {
  for (auto [kernel, phase] : zip(plans.getOps<tile::KernelOp>(), phases.phases)) {
    SmallVector<int64_t> channels;
    for (const chunk::PhaseArray &array : phase.arrays) {
      bool isCut = array.partDim >= 0 && array.channels % array.shape[unsigned(array.partDim)] != 0;
      channels.push_back(isCut ? array.channels : 0);
    }
    if (none_of(channels, [](int64_t own) { return own > 0; }))
      continue;
    kernel.setChannels(channels);
    if (!analysis::findStateChain(kernel))
      return false;
  }
  return true;
}

namespace {
/// What is the same for all forms that are tried.
struct PlanChoice {
  const PipelineOptions &pipeline;
  bool summaries, hasPrologue;
};
} // namespace

/// Without phases where the program has none in this form.
static Expected<CUDAKernels> planPhases(chunk::ProgramOp program, const PlanChoice &choice, CUDAForm form,
                                        bool cutShort = true) {
  PipelineOptions pipeline = choice.pipeline;
  CUDAKernels made;
  made.lowering = std::make_unique<ProgramLowering>(program);
  mlir::ModuleOp module = made.lowering->getModule();
  auto phases = splitIntoPhases(module, pipeline, form, cutShort, choice.hasPrologue);
  if (!phases && !made.lowering->getMessage().empty()) {
    consumeError(phases.takeError());
    return createStringError(made.lowering->getMessage());
  }
  if (!phases)
    return phases.takeError();
  made.phases = std::move(*phases);
  if (!made.phases)
    return made;
  pipeline.symbol.clear(); // each has its own
  if (Error error = made.lowering->run("chunk", "tile", pipeline))
    return std::move(error);
  if (!cutChannelsShort(module, *made.phases))
    return planPhases(program, choice, form, /*cutShort=*/false);
  bool isWanted = form != CUDAForm::PreciseInChain || hasPreciseProducts(module);
  if (!isWanted || (form != CUDAForm::InPhases && !isInRegisters(module, *made.phases))) {
    CUDAKernels none;
    none.plan.lacksPrecise = form == CUDAForm::PreciseInChain && isWanted;
    return none;
  }
  made.plan = describe(module);
  made.plan.form = form;
  addPhases(made.plan, *made.phases, module, roundsFactors(program));
  if (choice.summaries)
    summariseSegments(made.plan, *made.phases, module);
  if (!program.getBackward()) // whose chunks are wanted from the last on
    putSideBySide(made.plan, *made.phases, module, *pipeline.target.gpu);
  listCopiedRows(made.plan, module);
  markHalves(module);
  listPacked(made.plan, module, int64_t(program.getChunk()));
  if (Error error = checkCounts(made.plan))
    return std::move(error);
  return made;
}

/// Whether a second CTA has room on a multiprocessor, for all phases whose chunks are apart.
static bool leaveRoom(const CUDAPlan &plan, const GPUProfile &gpu) {
  return all_of(plan.launches, [&](const codegen::InterfaceLaunch &launch) {
    return !launch.chunksAreApart || analysis::countCTAs(gpu, launch.sharedBytes) > 1;
  });
}

/// A kernel that keeps its states has arrays for them behind the arguments. Others have the arguments alone, which need
/// not be listed.
static void listKept(CUDAPlan &plan, mlir::ModuleOp plans) {
  for (auto [launch, kernel] : zip(plan.launches, plans.getOps<tile::KernelOp>()))
    for (int64_t number = 0, count = kernel.getBody().getNumArguments() - 1; number < count; ++number)
      launch.arrays.push_back({number, -1, 0});
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> compile::makeStepProgram(dgps::RecurrenceOp recurrence,
                                                                     PipelineOptions &options) {
  options.chunk = 1;
  auto module = copyTo("chunk", recurrence, options);
  if (!module)
    return module.takeError();
  auto program = *(**module).getOps<chunk::ProgramOp>().begin();
  size_t states = program.getStates().size(),
         arrays = program.getInputs().size() + program.getParams().size() + program.getOutputs().size() + 3 * states;
  program.setKeeps(states > 0 && arrays <= abi::mostLaunchArrays);
  return std::move(*module);
}

/// Whether tf32 inverses cost neither a pipeline stage of the chain nor the second CTA of the launches before it on a
/// multiprocessor.
static bool isWorthIt(chunk::ProgramOp program, const PlanChoice &choice, CUDAKernels &precise) {
  Expected<CUDAKernels> other = planPhases(program, choice, CUDAForm::OutputsInChain);
  if (!other || !other->phases) {
    consumeError(other.takeError());
    return false;
  }
  return precise.plan.workspaceBytes == 0 && countStages(precise) >= countStages(*other) &&
         leaveRoom(precise.plan, *choice.pipeline.target.gpu);
}

/// The first form from this one on that the program has phases in; without phases where it has none, and why.
static Expected<CUDAKernels> planInPhases(chunk::ProgramOp program, const PlanChoice &choice, CUDAForm form,
                                          std::string &whyNone) {
  bool lacksPrecise = false;
  for (CUDAForm own : {CUDAForm::AllInChain, CUDAForm::PreciseInChain, CUDAForm::OutputsInChain, CUDAForm::InPhases}) {
    if (own < form || (own == CUDAForm::PreciseInChain && !roundsFactors(program)))
      continue;
    Expected<CUDAKernels> made = planPhases(program, choice, own);
    if (own == CUDAForm::PreciseInChain) {
      if (made && made->phases && isWorthIt(program, choice, *made))
        return made;
      if (!made)
        consumeError(made.takeError());
      else
        lacksPrecise = made->plan.lacksPrecise || made->phases;
      continue;
    }
    // Spilling tiles to global memory costs more than storing intermediates there.
    bool isGood = own == CUDAForm::InPhases || (made && made->plan.workspaceBytes == 0);
    if (made && made->phases && isGood && own == CUDAForm::OutputsInChain &&
        !leaveRoom(made->plan, *choice.pipeline.target.gpu)) {
      // Interactions of the outputs may take the room of a second CTA from what is early, which outweighs a launch
      // less.
      Expected<CUDAKernels> apart = planPhases(program, choice, CUDAForm::InPhases);
      if (apart && apart->phases && apart->plan.workspaceBytes == 0 &&
          leaveRoom(apart->plan, *choice.pipeline.target.gpu))
        return apart;
      if (!apart)
        consumeError(apart.takeError());
    }
    if (made && made->phases && isGood) {
      made->plan.lacksPrecise = lacksPrecise;
      return made;
    }
    if (!made)
      whyNone = toString(made.takeError());
  }
  return CUDAKernels();
}

/// Whether a kernel begins with the last chunks of a sequence.
static bool beginsLate(tile::KernelOp kernel) {
  auto loops = kernel.getBody().front().getOps<mlir::scf::ForOp>();
  auto segments = kernel.getBody().front().getOps<tile::SegmentOp>(); // whose beginning depends on the launch
  return !loops.empty() && segments.empty() && !matchPattern((*loops.begin()).getLowerBound(), mlir::m_Constant());
}

/// Cycles of a call of so many tokens, whose heads are fewer than multiprocessors.
static double estimateCall(CUDAKernels &kernels, const GPUProfile &gpu) {
  const double multiprocessors = double(gpu.getModel().multiprocessors);
  constexpr double units = 32, tokens = 4096, lastChunks = 2;
  double cycles = 0, before = 0;
  for (auto [launch, time, kernel] :
       zip(kernels.plan.launches, kernels.plan.times, kernels.lowering->getModule().getOps<tile::KernelOp>())) {
    if (launch.bounds)
      continue;
    double own = 0, chunks = beginsLate(kernel) ? lastChunks : tokens / double(countTokensAtOnce(kernel));
    if (launch.chunksAreApart) {
      own = units * chunks / multiprocessors * analysis::estimateChunk(time, analysis::countNeighbourCTAs(kernel));
    } else {
      std::optional<analysis::StateChain> chain = analysis::findStateChain(kernel);
      own = chunks * std::ceil(units * double(launch.parts) / multiprocessors) *
            (chain ? analysis::estimateChain(*chain, time) : time.critical);
    }
    cycles += own;
    double left = multiprocessors - units * double(launch.parts);
    if (launch.awaits && left > 0)
      cycles = std::min(cycles, cycles - own - before + std::max(own, before * multiprocessors / left));
    before = own;
  }
  return cycles;
}

static Expected<CUDAKernels> planKernels(chunk::ProgramOp program, const PipelineOptions &pipeline, CUDAForm form,
                                         bool summaries) {
  std::string whyPlain;
  Expected<CUDAKernels> phases = planInPhases(program, {pipeline, summaries, /*hasPrologue=*/false}, form, whyPlain);
  if (!phases)
    return phases.takeError();
  // What is made of rows of several tokens is made once in front of the rest, where that is faster.
  bool hasEarlierTokens = !program.getBody().getOps<chunk::PreviousOp>().empty();
  if (form != CUDAForm::Plain && hasEarlierTokens) {
    std::string why;
    // Of the form that it has without: a prologue alone is no reason to round outputs on their way.
    CUDAForm own = phases->phases ? std::max(form, phases->plan.form) : form;
    Expected<CUDAKernels> apart = planInPhases(program, {pipeline, summaries, /*hasPrologue=*/true}, own, why);
    if (!apart)
      return apart.takeError();
    auto isFaster = [&](CUDAKernels &one, CUDAKernels &other) {
      constexpr double margin = 0.85; // estimates are off by as much
      return estimateCall(one, *pipeline.target.gpu) < margin * estimateCall(other, *pipeline.target.gpu);
    };
    bool isInMemory = apart->phases && apart->plan.workspaceBytes > 0;
    if (apart->phases && !isInMemory &&
        (!phases->phases || phases->plan.workspaceBytes > 0 || isFaster(*apart, *phases)))
      return apart;
  }
  if (phases->phases)
    return phases;
  CUDAKernels made;
  made.lowering = std::make_unique<ProgramLowering>(program);
  if (Error error = made.lowering->run("chunk", "tile", pipeline))
    return std::move(error);
  made.plan = describe(made.lowering->getModule());
  if (program.getKeeps())
    listKept(made.plan, made.lowering->getModule());
  made.plan.whyPlain = std::move(whyPlain);
  return made;
}

Expected<CUDAKernels> compile::planCUDAKernels(chunk::ProgramOp program, const PipelineOptions &pipeline, CUDAForm form,
                                               bool summaries) {
  Expected<CUDAKernels> made = planKernels(program, pipeline, form, summaries);
  if (made)
    made->plan.cycles = estimateCall(*made, *pipeline.target.gpu);
  return made;
}

CUDAForm compile::getNext(CUDAForm form) { return form == CUDAForm::Plain ? form : CUDAForm(int(form) + 1); }

Expected<std::vector<codegen::KernelIR>> compile::lowerCUDAKernels(mlir::ModuleOp tiles,
                                                                   const PipelineOptions &pipeline) {
  ProgramLowering lowering(tiles);
  if (Error error = lowering.run("tile", "lowered", pipeline))
    return std::move(error);
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = lowering.translate(context);
  if (!module)
    return module.takeError();
  return codegen::splitKernels(**module);
}

/// Whether a smaller chunk may be better than one whose tiles fit: one chain over the chunks then makes the outputs,
/// where it has its state in registers, and rows of many micro-steps are too many for that. With less shared memory
/// than most have, inverses that are not rounded may have room with a smaller one, which errors need.
static bool maySmallerBeBetter(const CUDAPlan &plan, chunk::ProgramOp program, const GPUProfile &gpu) {
  bool isSmall = gpu.sharedBytes < getDefaultGPUProfile().sharedBytes;
  bool isRounded = roundsFactors(program) || program.hasTF32Factors();
  return isRounded && (plan.form > CUDAForm::OutputsInChain || (isSmall && plan.lacksPrecise));
}

/// Whether a smaller chunk may take less time. A warpgroup's product has 64 rows, which a warp's units do without: they
/// multiply for chunks of 32 as fast, of which more have room on a multiprocessor and wait for each other less.
static bool maySmallerBeFaster(const CUDAPlan &plan, chunk::ProgramOp program, const GPUProfile &gpu) {
  constexpr int64_t smallest = 32;
  return !gpu.hasWarpgroupProducts && roundsFactors(program) && plan.isInPhases() &&
         int64_t(program.getChunk()) > smallest;
}

Expected<std::vector<TriedChunk>> compile::tryChunks(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) {
  std::vector<int64_t> sizes = {64, 32, 16};
  if (pipeline.chunk)
    sizes = {*pipeline.chunk};
  std::vector<TriedChunk> tried;
  std::optional<size_t> fitting; // the first of which all tiles lie in shared memory
  bool wantsBetter = false, wantsFaster = false;
  // Measured chains of seven recurrences take as long for a token with chunks of 32 as with 64, where estimates say 1.2
  // to 1.3 times.
  constexpr double margin = 1.25;
  for (int64_t chunk : sizes) {
    PipelineOptions options = pipeline;
    options.chunk = chunk;
    auto module = copyTo("chunk", recurrence, options);
    if (!module)
      return module.takeError();
    auto program = *(**module).getOps<chunk::ProgramOp>().begin();
    // What cancels is exact, whatever its chunk: a smaller one may not, where its keys have as many channels as it
    // tokens.
    if (fitting && chunk::cancels(program))
      continue;
    Expected<CUDAKernels> kernels = planCUDAKernels(program, options, CUDAForm::AllInChain);
    if (!kernels)
      return kernels.takeError();
    tried.push_back({chunk, std::move(kernels->plan)});
    const CUDAPlan &plan = tried.back().plan;
    bool isGood = plan.workspaceBytes == 0, isBest = !maySmallerBeBetter(plan, program, *pipeline.target.gpu);
    if (fitting) {
      const CUDAPlan &larger = tried[*fitting - 1].plan;
      bool isFaster = wantsFaster && plan.cycles < margin * larger.cycles;
      if (isGood && ((isBest && wantsBetter) || ((isBest || wantsBetter) && isFaster)))
        return tried;
      break; // not far smaller ones
    }
    wantsBetter = !isBest;
    wantsFaster = maySmallerBeFaster(plan, program, *pipeline.target.gpu);
    if (isGood && !wantsBetter && !wantsFaster)
      return tried;
    if (isGood)
      fitting = tried.size();
  }
  if (fitting)
    tried.resize(*fitting);
  return tried;
}
