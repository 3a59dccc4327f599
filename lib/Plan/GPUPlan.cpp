#include "Plan/GPUPlan.h"
#include "ABI/LaunchWords.h"
#include "Analysis/CopiedRows.h"
#include "Analysis/Crowd.h"
#include "Analysis/PackedLists.h"
#include "Analysis/RowPass.h"
#include "Analysis/StateChain.h"
#include "Conversion/ChunkToTile/Segments.h"
#include "Plan/Cost.h"
#include "Plan/Lowering.h"
#include "Transforms/Chunk/HandOver.h"
#include "dialects/Tile/Halves.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace recur;
using namespace recur::plan;

static GPUPlan describe(mlir::ModuleOp plans) {
  GPUPlan plan;
  for (auto kernel : plans.getOps<tile::KernelOp>()) {
    plan.launches.push_back({kernel.getSymName().str(), int64_t(*kernel.getThreads()), int64_t(*kernel.getShared())});
    plan.times.push_back(analysis::estimateTime(kernel));
    plan.workspaceBytes = std::max(plan.workspaceBytes, int64_t(kernel.getWorkspace()));
  }
  return plan;
}

bool plan::roundsFactors(chunk::ProgramOp program) { return bool(program.getShortFactors()); }

/// Whether the phases of this form are those of rounded factors. With products of tf32 they are, as far as the state is
/// in registers; without that, the chain should do as little as possible.
static bool hasRoundedPhases(chunk::ProgramOp program, Form form) {
  return roundsFactors(program) || (program.hasTF32Factors() && form < Form::InPhases);
}

/// Adds what launches have of the arrays, and what they leave to each other.
static void addPhases(GPUPlan &plan, const chunk::Phases &phases, mlir::ModuleOp plans, bool roundsFactors) {
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
    plan.left.push_back(
        {array.rows, getByteSize(type), llvm::to_vector<2>(array.shape), array.meaning, array.isHanded});
  }
}

static ChainWork getWork(Form form) {
  return form == Form::AllInChain       ? ChainWork::Interactions
         : form == Form::PreciseInChain ? ChainWork::PreciseOutputs
         : form == Form::OutputsInChain ? ChainWork::Outputs
                                        : ChainWork::States;
}

/// Puts the phases of a module's one program, of stage `chunk`, in its place; none if it has none.
static Expected<std::optional<chunk::Phases>> splitIntoPhases(mlir::ModuleOp module, const PipelineOptions &pipeline,
                                                              const Candidate &candidate,
                                                              ArrayRef<chunk::LeftArray> offered, bool cutShort) {
  auto program = *module.getOps<chunk::ProgramOp>().begin();
  mlir::OwningOpRef<mlir::ModuleOp> split = module.clone();
  mlir::PassManager passes(module.getContext());
  populatePhases(passes, hasRoundedPhases(program, candidate.form), getWork(candidate.form), cutShort,
                 candidate.hasPrologue);
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
  std::vector<chunk::LeftArray> handed = chunk::takeHanded(phases, offered, roundsFactors(program));
  std::optional<chunk::Phases> described = chunk::describePhases(program, phases, handed);
  if (!described)
    return createStringError("what one of its chains over the chunks leaves to another is cut into parts");
  chunk::findMeanings(*described, phases);
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

tile::Launch *GPUPlan::findLaunch(StringRef symbol) {
  if (trees && trees->symbol == symbol)
    return &*trees;
  auto found = find_if(launches, [&](const tile::Launch &launch) { return launch.symbol == symbol; });
  return found == launches.end() ? nullptr : &*found;
}

/// Says which launches can go by a list of the chunks of packed sequences, and which one makes it.
static void listPacked(GPUPlan &plan, mlir::ModuleOp plans, int64_t chunk) {
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
static void listCopiedRows(GPUPlan &plan, mlir::ModuleOp plans) {
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

/// A team goes from head to head: what the kernel loads and makes before its chunks, such as the number of a param, it
/// does for each of them.
static void moveIntoChunks(tile::KernelOp kernel) {
  mlir::Block &body = kernel.getBody().front();
  auto chunks = *body.getOps<mlir::scf::ParallelOp>().begin();
  mlir::Operation *first = &chunks.getBody()->front();
  for (mlir::Operation &op : make_early_inc_range(body)) {
    if (&op == chunks)
      return;
    if (!isa<tile::AllocOp>(op) && !isa<mlir::arith::ArithDialect>(op.getDialect()))
      op.moveBefore(first);
  }
}

/// What a summary of a segment takes in memory: what becomes of a state, and the states of all parts.
static int64_t countSummaryBytes(tile::SegmentOp segment, int64_t parts) {
  tile::TileType state = segment.getInitial().getType();
  return segment.getMapBytes() + parts * state.getSize(1) * segment.getColumns() * getByteSize(DataType::F32);
}

/// Before a kernel that goes from chunk to chunk with its state in registers, one that summarises segments, where that
/// is known: for launches that are cut.
static void summariseSegments(GPUPlan &plan, chunk::Phases &phases, mlir::ModuleOp plans) {
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
    tile::Launch launch = plan.launches[i];
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
static void putSideBySide(GPUPlan &plan, const chunk::Phases &phases, mlir::ModuleOp plans, const GPUProfile &gpu) {
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
    moveIntoChunks(kernels[i]);
    kernels[next].setAwaits(awaited);
    plan.launches[i].sharedBytes = shared;
    plan.launches[i].teams = teams;
    plan.launches[i].cost =
        float(analysis::estimateChunk(plan.times[i], teams) / analysis::estimateChain(*chain, plan.times[next]));
    plan.launches[next].awaits = true;
  }
}

/// More than this the runtime has no room for.
static Error checkCounts(const GPUPlan &plan) {
  if (plan.left.size() > abi::mostLeft)
    return createStringError("phases leave " + Twine(plan.left.size()) +
                             " arrays to each other, and the runtime takes " + Twine(abi::mostLeft));
  for (const tile::Launch &launch : plan.launches)
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

/// A kernel that keeps its states has arrays for them behind the arguments. Others have the arguments alone, which need
/// not be listed.
static void listKept(GPUPlan &plan, mlir::ModuleOp plans) {
  for (auto [launch, kernel] : zip(plan.launches, plans.getOps<tile::KernelOp>()))
    for (int64_t number = 0, count = kernel.getBody().getNumArguments() - 1; number < count; ++number)
      launch.arrays.push_back({number, -1, 0});
}

static Built refuse(std::string why) { return {std::nullopt, std::move(why), false}; }

/// In phases, or why the program has none in this form.
static Built buildInPhases(chunk::ProgramOp program, const PipelineOptions &pipeline, const Candidate &candidate,
                           ArrayRef<chunk::LeftArray> offered, bool cutShort = true) {
  Lowering lowering(program);
  mlir::ModuleOp module = lowering.getModule();
  auto phases = splitIntoPhases(module, pipeline, candidate, offered, cutShort);
  if (!phases && !lowering.getMessage().empty()) {
    consumeError(phases.takeError());
    return refuse(lowering.getMessage());
  }
  if (!phases)
    return refuse(toString(phases.takeError()));
  if (!*phases)
    return refuse("the program has no such launches");
  GPUKernels made;
  made.phases = std::move(*phases);
  PipelineOptions own = pipeline;
  own.symbol.clear(); // each has its own
  if (Error error = lowering.run("chunk", "tile", own))
    return refuse(toString(std::move(error)));
  if (!cutChannelsShort(module, *made.phases))
    return buildInPhases(program, pipeline, candidate, offered, /*cutShort=*/false);
  if (candidate.form == Form::PreciseInChain && !hasPreciseProducts(module))
    return refuse("it has no inverses that products would round");
  if (candidate.form != Form::InPhases && !isInRegisters(module, *made.phases))
    return {std::nullopt, "a chain would not have its state in registers", /*lacksRegisters=*/true};
  made.plan = describe(module);
  made.plan.form = candidate.form;
  addPhases(made.plan, *made.phases, module, roundsFactors(program));
  if (candidate.summarises)
    summariseSegments(made.plan, *made.phases, module);
  if (!program.getBackward()) // whose chunks are wanted from the last on
    putSideBySide(made.plan, *made.phases, module, *pipeline.target.gpu);
  listCopiedRows(made.plan, module);
  markHalves(module);
  listPacked(made.plan, module, int64_t(program.getChunk()));
  if (Error error = checkCounts(made.plan))
    return refuse(toString(std::move(error)));
  made.tiles = lowering.takeModule();
  return {std::move(made), "", false};
}

static Built buildPlain(chunk::ProgramOp program, const PipelineOptions &pipeline) {
  Lowering lowering(program);
  if (Error error = lowering.run("chunk", "tile", pipeline))
    return refuse(toString(std::move(error)));
  GPUKernels made;
  made.plan = describe(lowering.getModule());
  if (program.getKeeps())
    listKept(made.plan, lowering.getModule());
  made.tiles = lowering.takeModule();
  return {std::move(made), "", false};
}

Built plan::build(chunk::ProgramOp program, const PipelineOptions &pipeline, const Candidate &candidate,
                  ArrayRef<tile::LeftRows> offered) {
  std::vector<chunk::LeftArray> arrays;
  for (const tile::LeftRows &left : offered)
    arrays.push_back({"", left.rows, llvm::to_vector(left.shape), left.elementBytes == getByteSize(DataType::BF16),
                      left.meaning, /*isHanded=*/true});
  Built built = candidate.form == Form::Plain ? buildPlain(program, pipeline)
                                              : buildInPhases(program, pipeline, candidate, arrays);
  if (!built.kernels)
    return built;
  for (auto kernel : built.kernels->tiles->getOps<tile::KernelOp>())
    kernel.setInTurn(candidate.isInTurn);
  built.kernels->plan.cycles = estimateCall(*built.kernels, *pipeline.target.gpu);
  return built;
}
