// Kernels for NVIDIA GPUs: one image of all of them, which travels in an object of this machine's with the descriptors.
#include "ABI/LaunchWords.h"
#include "Analysis/Crowd.h"
#include "Analysis/StoredTypes.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Codegen/NVPTX/Compositions.h"
#include "Codegen/NVPTX/GradientSums.h"
#include "Codegen/NVPTX/Image.h"
#include "Codegen/NVPTX/Kernels.h"
#include "Compile/Backend.h"
#include "Compile/CUDAKernel.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "Support/Errors.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;
using codegen::ObjectFile;

namespace {

class CUDAKernelMaker : public KernelMaker {
public:
  CUDAKernelMaker(const PipelineOptions &pipeline, const std::string &objectName, Listings &listings)
      : pipeline(pipeline), objectName(objectName), listings(listings), factory(this->pipeline.target, cudaEffort) {}
  Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, StringRef symbol) override;
  Expected<KernelResources> addProgram(chunk::ProgramOp program, StringRef symbol) override;
  Expected<std::optional<KernelResources>> addSpare(chunk::ProgramOp program, StringRef symbol, double cycles) override;
  std::optional<codegen::InterfaceLaunch> addSums(StringRef symbol) override;
  std::optional<codegen::InterfaceLaunch> addCompositions(StringRef symbol) override;
  Expected<std::vector<ObjectFile>> finish(MutableArrayRef<codegen::KernelInterface> interfaces) override;

  /// The image of all kernels. Where the assembler finds fault with a chain that takes summaries of segments, it does
  /// without. What it finds at fault in phases makes the plain plan take their place, then one whose registers hold
  /// nothing of the next chunk; a kernel of plan `step` is left out for it, and one of a gradient stays slow. Notes say
  /// so.
  Expected<std::string> makeImage();

  /// Of all kernels, which the factory keeps.
  struct Code {
    std::vector<std::pair<StringRef, const codegen::MadeKernel *>> kernels; // by their symbols
    std::vector<Fault> faults;
    int64_t registers = 0;

    std::string joinPTX() const;
    std::string joinCubins() const;
    Expected<std::string> printLLVM() const; // after its passes
  };
  struct Made {
    std::string symbol;
    CUDAPlan plan;
    mlir::OwningOpRef<mlir::ModuleOp> source; // with the program
    PipelineOptions pipeline;
    mlir::OwningOpRef<mlir::ModuleOp> tiles; // the kernels of the plan, from which the code is made
    std::vector<codegen::KernelIR> code;
    bool isStep = false;
    bool isSpare = false;       // calls do without it where the assembler finds it at fault
    bool isInTurn = false;      // it has no registers for the next chunk's numbers
    std::string whyNoSummaries; // of segments, where the assembler finds those kernels at fault
    bool isOnly = false;        // of a gradient or a summary, which has no other kernel: a slow one is kept
    bool isLeftOut = false;     // one that calls do without, for its faults
    bool isSlow = false;        // the assembler finds it at fault in its last plan
    StringSet<> spilling = {};  // launches that keep a few numbers in memory
  };
  const PipelineOptions &getOptions() const { return pipeline; }
  ArrayRef<Made> getMade() const { return made; }
  MutableArrayRef<Made> getMade() { return made; }

private:
  Expected<KernelResources> add(mlir::OwningOpRef<mlir::ModuleOp> source, CUDAForm form, Made kernel);
  /// Plans the kernel in this form, or in the next one that can be lowered.
  Error compile(Made &kernel, CUDAForm form);
  /// Makes the code anew of the kernel's tiles.
  Error lower(Made &kernel);
  /// Lowers the occupancy of what the faults are of, or leaves kernels out that calls can do without. Whether it did.
  Expected<bool> relieve(Made &kernel, ArrayRef<Fault> faults);
  /// The code of all kernels, cubins too if it `assembles` them. Those that have not changed are not made again.
  Expected<Code> makeAll(bool assembles);
  /// Writes the listings that were asked for.
  Error list(const Code &code, int64_t spilledBytes);
  /// Takes other plans for kernels at fault. False: there are none, and the faults stay.
  Expected<bool> avoid(ArrayRef<Fault> faults);
  /// The same of one kernel, if it has some of the faults.
  Expected<bool> avoid(Made &kernel, ArrayRef<Fault> faults);
  /// Keeps launches as they are that spill no more than the GPU's profile allows. Whether there were such.
  bool allowSpills(Made &kernel, ArrayRef<Fault> faults);
  int64_t countAllowedSpills(const Made &kernel, StringRef symbol) const;
  /// Whether it is of a kernel that is kept all the same.
  bool isKept(const Fault &fault) const;
  /// Gives the kernels of the interface what their code in the end needs; those that were left out are not there.
  void complete(codegen::KernelInterface &interface);

  PipelineOptions pipeline;
  std::string objectName;
  Listings &listings;
  codegen::KernelFactory factory;
  std::vector<Made> made;
  std::optional<codegen::KernelIR> sums;         // of gradients
  std::optional<codegen::KernelIR> compositions; // of summaries
};

class CUDABackend : public Backend {
public:
  recur_device getDevice() const override { return RECUR_CUDA; }
  Error check(const PipelineOptions &pipeline) const override { return Error::success(); }
  std::optional<std::string> explainNoPlan(const Target &, recur_plan) const override { return std::nullopt; }
  std::optional<std::string> explainNoSegments(chunk::ProgramOp program, const PipelineOptions &pipeline,
                                               const KernelResources &resources) const override;
  std::string explainSegmentChoice(int64_t) const override {
    return "auto takes it only if the GPU is not full and it would be faster even if half of the calls had weak "
           "gates, which forget nothing";
  }
  bool summarisesSegments() const override { return false; }
  /// Where all multiprocessors have heads, the plan `step` takes as long for 8 tokens as chunks do, as measured.
  int64_t getFirstTokens(chunk::ProgramOp program, recur_plan plan) const override { return 8; }
  Target makePortable(const Target &target) const override { return target; }
  Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<PipelineOptions> completeGradient(dgps::RecurrenceOp recurrence,
                                             const PipelineOptions &pipeline) const override;
  Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<KernelResources> measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const override;
  Expected<std::vector<Remark>> explainKernels(dgps::RecurrenceOp recurrence,
                                               const PipelineOptions &pipeline) const override;
  Expected<std::vector<Remark>> explainGradient(dgps::RecurrenceOp recurrence,
                                                const PipelineOptions &pipeline) const override;
  std::unique_ptr<KernelMaker> start(const PipelineOptions &pipeline, const std::string &objectName,
                                     Listings &listings) const override {
    return std::make_unique<CUDAKernelMaker>(pipeline, objectName, listings);
  }
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> planTiles(chunk::ProgramOp program,
                                                        const PipelineOptions &pipeline) const override;
  ArrayRef<StringRef> getCodeForms() const override {
    static constexpr StringRef forms[] = {"ptx", "cubin"};
    return forms;
  }
  Expected<std::string> generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                     StringRef form) const override;
};

} // namespace

const Backend &compile::getCUDABackend() {
  static const CUDABackend backend;
  return backend;
}

/// Launches that leave something say themselves what their CTAs need.
static KernelResources toResources(CUDAPlan plan) {
  return {plan.isInPhases() ? 0 : plan.workspaceBytes, std::move(plan.launches), std::move(plan.left),
          std::move(plan.listing), plan.cycles};
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

static bool isCut(ArrayRef<codegen::InterfaceLaunch> launches) {
  return any_of(launches, [](const codegen::InterfaceLaunch &launch) { return launch.cuts; });
}

std::optional<std::string> CUDABackend::explainNoSegments(chunk::ProgramOp program, const PipelineOptions &pipeline,
                                                          const KernelResources &resources) const {
  if (isCut(resources.launches))
    return std::nullopt;
  if (program.getStates().empty())
    return "it has no state";
  std::string name = chunk::StateOp(program.getStates().front()).getName().str();
  if (program.getBody().getOps<chunk::RemainsOp>().empty())
    return "there is neither a bound of how much of state '" + name +
           "' a chunk leaves, nor a summary of what a segment does to it";
  return "the plan has no chain over the chunks that carries state '" + name + "' alone, in a multiprocessor's memory";
}

Expected<PipelineOptions> CUDABackend::complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const {
  PipelineOptions completed = pipeline;
  if (pipeline.chunk)
    return completed;
  Expected<std::vector<TriedChunk>> tried = tryChunks(recurrence, pipeline);
  if (!tried)
    return tried.takeError();
  completed.chunk = tried->back().chunk;
  return completed;
}

/// The largest chunk no longer than the recurrence's with which all tiles of the gradient lie in shared memory, or else
/// the recurrence's.
Expected<PipelineOptions> CUDABackend::completeGradient(dgps::RecurrenceOp recurrence,
                                                        const PipelineOptions &pipeline) const {
  Expected<PipelineOptions> completed = complete(recurrence, pipeline);
  if (!completed || pipeline.chunk)
    return completed;
  constexpr int64_t smallest = 16;
  for (int64_t chunk = *completed->chunk; chunk >= smallest; chunk /= 2) {
    PipelineOptions options = *completed;
    options.chunk = chunk;
    Expected<GradientPrograms> programs = makeGradientPrograms(recurrence, options);
    if (!programs)
      return programs.takeError();
    Expected<CUDAKernels> kernels = planCUDAKernels(programs->gradient, options, CUDAForm::AllInChain);
    if (!kernels)
      return kernels.takeError();
    if (kernels->plan.workspaceBytes == 0)
      return options;
  }
  return completed;
}

static chunk::ProgramOp getProgram(mlir::ModuleOp module) { return *module.getOps<chunk::ProgramOp>().begin(); }

Expected<KernelResources> CUDABackend::measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const {
  Expected<CUDAKernels> kernels = planCUDAKernels(program, pipeline, CUDAForm::InPhases);
  if (!kernels)
    return kernels.takeError();
  return toResources(std::move(kernels->plan));
}

Expected<KernelResources> CUDABackend::measureStep(dgps::RecurrenceOp recurrence,
                                                   const PipelineOptions &pipeline) const {
  PipelineOptions options = pipeline;
  auto module = makeStepProgram(recurrence, options);
  if (!module)
    return module.takeError();
  Expected<CUDAKernels> kernels = planCUDAKernels(getProgram(**module), options, CUDAForm::Plain);
  if (!kernels)
    return kernels.takeError();
  return toResources(std::move(kernels->plan));
}

static std::string printKiB(int64_t bytes) { return fmt::format("{:.1f} KiB", double(bytes) / 1024); }

static std::string explainRejection(const CUDAPlan &plan) {
  if (!plan.workspaceBytes && plan.form <= CUDAForm::OutputsInChain)
    return "there is only room for inverses that are rounded to 16 bits";
  return plan.workspaceBytes
             ? fmt::format("{} of a CTA's tiles would lie in the device's memory", printKiB(plan.workspaceBytes))
             : "the chain over chunks could not compute the outputs";
}

static std::string describeCTAs(const codegen::InterfaceLaunch &launch) {
  if (launch.chunksAreApart)
    return "each chunk of each head";
  if (launch.parts > 1)
    return fmt::format("each of {} parts of each head of each sequence", launch.parts);
  return "each head of each sequence";
}

static std::string describeTime(const codegen::InterfaceLaunch &launch, const analysis::KernelTime &time) {
  return fmt::format(
      "{}: at least {:.0f} cycles of a multiprocessor for a chunk, limited by {} (products {:.0f}, arithmetic "
      "{:.0f}, shared memory {:.0f}, device memory {:.0f}); about {:.0f} with waits between ops",
      launch.symbol, time.getBound(), time.getBusiest().str(), time.products, time.arithmetic, time.shared, time.global,
      time.critical);
}

/// The length of the lead-in depends on the values of the gates, which a launch does not know.
static std::string describeCut(const codegen::InterfaceLaunch &launch) {
  if (launch.workspaceBytes)
    return fmt::format(
        "{}: if this is faster, several CTAs share the chunks of a sequence; each computes the state that "
        "it starts from out of summaries of the segments before its own",
        launch.symbol);
  return fmt::format(
      "{}: if this is faster, several CTAs share the chunks of a sequence; each starts from zeros so many "
      "chunks before its own that at most 2^-25 of the state before them remains, by bounds of each chunk "
      "from the gates, and with weak gates at the first chunk",
      launch.symbol);
}

/// The launch before it that is there whether or not sequences are cut.
static size_t findBefore(ArrayRef<codegen::InterfaceLaunch> launches, size_t number) {
  do
    --number;
  while (launches[number].bounds);
  return number;
}

static std::string describeSummaries(const codegen::InterfaceLaunch &launch) {
  return fmt::format("{}: if sequences are cut, computes each segment's map of the state and the state that it leaves "
                     "from zeros, except the last one's; a chunk takes {:.1f} times the work of one with outputs",
                     launch.symbol, launch.cost);
}

static std::string describePair(const codegen::InterfaceLaunch &first, const codegen::InterfaceLaunch &second) {
  return fmt::format("{0} computes chunks that {1} has finished, while {1} computes the next ones, {2} teams to a "
                     "CTA, on the multiprocessors that {0} leaves; a chunk of {1} takes {3:.1f} times as long as one "
                     "of {0}; the launches run one after the other if no multiprocessors are left, or for fewer than "
                     "4 chunks",
                     second.symbol, first.symbol, std::min<int64_t>(first.teams, abi::mostTeams), first.cost);
}

static void explainMade(const CUDAKernelMaker::Made &kernel, const Target &target, std::vector<Remark> &remarks) {
  if (!kernel.plan.whyPlain.empty())
    remarks.push_back({"rejected", "the plan in phases: " + kernel.plan.whyPlain});
  if (!kernel.whyNoSummaries.empty())
    remarks.push_back({"rejected", "summaries of segments: " + kernel.whyNoSummaries});
  for (const codegen::InterfaceLaunch &launch : kernel.plan.launches)
    remarks.push_back(
        {"CTA", fmt::format("{}: {} threads for {}, {} of {} of shared memory", launch.symbol, launch.threads,
                            describeCTAs(launch), printKiB(launch.sharedBytes), printKiB(target.gpu->sharedBytes))});
  if (kernel.plan.form == CUDAForm::AllInChain)
    remarks.push_back({"interactions", kernel.plan.launches.back().symbol +
                                           ": a second warpgroup computes those of a chunk, ahead of the warpgroup "
                                           "with the state, so no launch leaves them to another"});
  for (auto [launch, time] : zip(kernel.plan.launches, kernel.plan.times))
    remarks.push_back({"time", describeTime(launch, time)});
  for (const codegen::InterfaceLaunch &launch : kernel.plan.launches)
    if (kernel.isStep && !launch.arrays.empty())
      remarks.push_back({"states", launch.symbol + ": a call can also keep the states before every token; the time "
                                                   "includes this"});
  for (size_t i = 1; i < kernel.plan.launches.size(); ++i)
    if (kernel.plan.launches[i].awaits)
      remarks.push_back({"side by side", describePair(kernel.plan.launches[findBefore(kernel.plan.launches, i)],
                                                      kernel.plan.launches[i])});
  for (const codegen::InterfaceLaunch &launch : kernel.plan.launches)
    if (launch.cuts)
      remarks.push_back({"segments", launch.bounds ? describeSummaries(launch) : describeCut(launch)});
}

static std::string printSpilled(int64_t bytes) {
  return bytes ? fmt::format("and at most {} bytes of a thread", bytes) : "none of them";
}

/// What came of the image of all kernels: the same as a build says.
static void explainImage(const Listings &listings, const Target &target, Error refused, std::vector<Remark> &remarks) {
  if (refused) {
    remarks.push_back({"refused", toString(std::move(refused))});
    return;
  }
  if (listings.registers)
    remarks.push_back({"registers", fmt::format("{} of {} a thread, {} spilled to memory", listings.registers,
                                                target.gpu->registersPerThread, printSpilled(listings.spilledBytes))});
  for (const std::string &note : listings.notes)
    remarks.push_back({"note", note});
}

Expected<std::vector<Remark>> CUDABackend::explainKernels(dgps::RecurrenceOp recurrence,
                                                          const PipelineOptions &pipeline) const {
  Expected<std::vector<TriedChunk>> tried = tryChunks(recurrence, pipeline);
  if (!tried)
    return tried.takeError();
  std::vector<Remark> remarks;
  remarks.push_back(
      {"few heads", "with at most half as many heads as multiprocessors, auto takes step below half as many tokens"});
  for (const TriedChunk &one : ArrayRef(*tried).drop_back())
    remarks.push_back({"rejected", fmt::format("{} tokens at once: {}", one.chunk, explainRejection(one.plan))});
  PipelineOptions options = pipeline;
  options.chunk = tried->back().chunk;
  Listings listings;
  auto module = copyTo("chunk", recurrence, options);
  if (!module)
    return module.takeError();
  CUDAKernelMaker maker(options, "", listings);
  if (Error error = maker.addProgram(getProgram(**module), "chunk").takeError())
    return std::move(error);
  if (Error error = maker.addStep(recurrence, "step").takeError())
    return std::move(error);
  Error refused = maker.makeImage().takeError();
  for (const CUDAKernelMaker::Made &kernel : maker.getMade())
    explainMade(kernel, pipeline.target, remarks);
  explainImage(listings, pipeline.target, std::move(refused), remarks);
  return remarks;
}

/// Whether the call forward hands states over to the gradient, for which it has a kernel then; `forwardChunk` is that
/// of the recurrence's own kernel.
static Expected<Remark> explainHandOver(GradientPrograms &programs, int64_t forwardChunk, double statesCycles,
                                        CUDAKernelMaker &maker) {
  int64_t chunk = int64_t(programs.gradient.getChunk());
  if (chunk != forwardChunk)
    return Remark{"handed over", fmt::format("nothing: the call forward takes {} tokens at once, and the gradient {}",
                                             forwardChunk, chunk)};
  Expected<CUDAKernels> forward = planCUDAKernels(programs.program, maker.getOptions(), CUDAForm::AllInChain);
  if (!forward)
    return forward.takeError();
  double without = forward->plan.cycles, again = without + statesCycles, bytes = 0;
  Expected<std::optional<KernelResources>> handing = maker.addSpare(makeHandingProgram(programs), "handing", again);
  if (!handing)
    return handing.takeError();
  if (!*handing)
    return Remark{"handed over", "nothing: a call forward that leaves states takes longer than one that does not, and "
                                 "states that are found again"};
  for (chunk::KeptOp kept : programs.gradient.getKept())
    bytes += double(getByteSize(analysis::getStoredDataType(kept.getStored()))) *
             double(chunk::tensorOf(kept.getResult()).getNumElements()) / double(chunk);
  return Remark{"handed over",
                fmt::format("every chunk's states, {:.0f} bytes a token, by launches of the call forward that take "
                            "about {:.2f} times the cycles of those without; states found again take {:.2f} times "
                            "these",
                            bytes, (*handing)->cycles / without, again / without)};
}

Expected<std::vector<Remark>> CUDABackend::explainGradient(dgps::RecurrenceOp recurrence,
                                                           const PipelineOptions &pipeline) const {
  Expected<PipelineOptions> options = completeGradient(recurrence, pipeline);
  if (!options)
    return options.takeError();
  Expected<GradientPrograms> programs = makeGradientPrograms(recurrence, *options);
  if (!programs)
    return programs.takeError();
  Listings listings;
  CUDAKernelMaker maker(*options, "", listings);
  if (Error error = maker.addProgram(programs->gradient, "gradient").takeError())
    return std::move(error);
  std::vector<Remark> remarks;
  if (!programs->gradient.getKept().empty()) {
    Expected<KernelResources> states = maker.addProgram(programs->states, "states");
    if (!states)
      return states.takeError();
    Expected<PipelineOptions> forward = complete(recurrence, pipeline);
    if (!forward)
      return forward.takeError();
    Expected<Remark> handing = explainHandOver(*programs, *forward->chunk, states->cycles, maker);
    if (!handing)
      return handing.takeError();
    remarks.push_back(std::move(*handing));
  }
  Error refused = maker.makeImage().takeError();
  for (const CUDAKernelMaker::Made &kernel : maker.getMade())
    explainMade(kernel, pipeline.target, remarks);
  explainImage(listings, pipeline.target, std::move(refused), remarks);
  return remarks;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> CUDABackend::planTiles(chunk::ProgramOp program,
                                                                   const PipelineOptions &pipeline) const {
  Listings listings;
  CUDAKernelMaker maker(pipeline, "", listings);
  if (Error error = maker.addProgram(program, program.getSymName()).takeError())
    return std::move(error);
  // Where the assembler refuses the last plan too, that is the one to look at; whoever makes code of it is told.
  consumeError(maker.makeImage().takeError());
  return std::move(maker.getMade().front().tiles);
}

static Expected<std::string> emitPTX(Module &module, const Target &target) {
  return codegen::emitCode(module, target, CodeForm::Assembly, cudaEffort);
}

Expected<std::string> CUDABackend::generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                                StringRef form) const {
  const Target &target = pipeline.target;
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = translateToLLVMIR(lowered, context);
  if (!module)
    return module.takeError();
  if (Error error = codegen::optimize(**module, target, cudaEffort))
    return std::move(error);
  Expected<std::string> ptx = emitPTX(**module, target);
  if (!ptx || form == "ptx")
    return ptx;
  Expected<Cubin> cubin = assemble(*ptx, target.cpu);
  if (!cubin)
    return cubin.takeError();
  if (Error error = refuseFaults(cubin->faults))
    return std::move(error);
  return std::move(cubin->bytes);
}

//===----------------------------------------------------------------------===//
// Its kernels
//===----------------------------------------------------------------------===//

/// How many CTAs of a kernel that waits for memory a multiprocessor may have, which is worth a few registers.
static int64_t findOccupancy(const GPUProfile &gpu, const codegen::InterfaceLaunch &launch) {
  constexpr int64_t fewRegisters = 80;
  return std::max<int64_t>(1, analysis::countCTAs(gpu, launch.sharedBytes, launch.threads, fewRegisters));
}

/// Lowers the occupancy by one, in CTAs or in teams of a CTA, for each kernel that ptxas found fault with, so that it
/// gets more registers. Returns whether any changed.
static bool thinOut(mlir::ModuleOp tiles, CUDAPlan &plan, ArrayRef<Fault> faults) {
  bool any = false;
  for (auto kernel : tiles.getOps<tile::KernelOp>()) {
    if (none_of(faults, [&](const Fault &fault) { return fault.kernel == kernel.getSymName(); }))
      continue;
    int64_t occupancy = analysis::getOccupancy(kernel);
    if (occupancy <= 1)
      continue;
    kernel.setOccupancy(uint64_t(occupancy) - 1);
    for (codegen::InterfaceLaunch &launch : plan.launches)
      if (launch.symbol == kernel.getSymName() && launch.teams)
        launch.teams = occupancy - 1;
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
        tiles.setOccupancy(findOccupancy(*pipeline.target.gpu, launch));
    }
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

/// Whether the faults are of the kernel that summarises segments, or of the one that begins with what it found.
static bool isOfSummaries(const CUDAPlan &plan, ArrayRef<Fault> faults) {
  return any_of(plan.launches, [&](const codegen::InterfaceLaunch &launch) {
    return launch.cuts && launch.workspaceBytes &&
           any_of(faults, [&](const Fault &fault) { return fault.kernel == launch.symbol; });
  });
}

Expected<bool> CUDAKernelMaker::relieve(Made &kernel, ArrayRef<Fault> faults) {
  if (!leaveOutListed(*kernel.tiles, kernel.plan, faults) && !thinOut(*kernel.tiles, kernel.plan, faults))
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
    if (any_of(kernel.plan.launches,
               [&](const codegen::InterfaceLaunch &launch) { return launch.symbol == fault.kernel; }))
      own.push_back(fault);
  if (own.empty())
    return false;
  if (allowSpills(kernel, own))
    return true;
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
    auto isFaulty = [&](const codegen::InterfaceLaunch &launch) { return launch.symbol == fault.kernel; };
    if (!any_of(one.plan.launches, isFaulty))
      return false;
    return one.isSlow || (fault.spilledBytes && fault.spilledBytes <= countAllowedSpills(one, fault.kernel));
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
