// What plans, builds and reports know of NVIDIA GPUs.
#include "ABI/LaunchWords.h"
#include "Analysis/Crowd.h"
#include "Analysis/StoredTypes.h"
#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Codegen/NVPTX/Assembler.h"
#include "Compile/CUDAKernelMaker.h"
#include "Compile/GradientPrograms.h"
#include "Compile/KernelPlans.h"
#include "llvm/IR/Module.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;

namespace {

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
  using Backend::complete;
  Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                     std::vector<plan::Verdict> *lost) const override;
  using Backend::completeGradient;
  Expected<PipelineOptions> completeGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                             std::vector<plan::Verdict> *lost) const override;
  Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<KernelResources> measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const override;
  Expected<KernelReport> explainKernels(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<KernelReport> explainGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
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

static std::string printKiB(int64_t bytes) { return fmt::format("{:.1f} KiB", double(bytes) / 1024); }

static PipelineOptions withChunk(PipelineOptions pipeline, int64_t chunk) {
  pipeline.chunk = chunk;
  return pipeline;
}

Expected<PipelineOptions> CUDABackend::complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                                std::vector<plan::Verdict> *lost) const {
  if (pipeline.chunk)
    return pipeline;
  Expected<plan::ChunkChoice> choice = chooseChunk(recurrence, pipeline);
  if (!choice)
    return choice.takeError();
  if (lost)
    append_range(*lost, choice->lost);
  return withChunk(pipeline, choice->chunk);
}

Expected<PipelineOptions> CUDABackend::completeGradient(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                                        std::vector<plan::Verdict> *lost) const {
  if (pipeline.chunk)
    return pipeline;
  Expected<plan::ChunkChoice> choice = chooseGradientChunk(recurrence, pipeline);
  if (!choice)
    return choice.takeError();
  if (lost)
    append_range(*lost, choice->lost);
  return withChunk(pipeline, choice->chunk);
}

Expected<KernelResources> CUDABackend::measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const {
  Expected<plan::GPUKernels> kernels = plan::Search(program, pipeline).find();
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
  Expected<plan::GPUKernels> kernels = plan::Search(getProgram(**module), options, plan::Form::Plain).find();
  if (!kernels)
    return kernels.takeError();
  return toResources(std::move(kernels->plan));
}

static std::string describeCTAs(const codegen::InterfaceLaunch &launch) {
  if (launch.chunksAreApart)
    return "each chunk of each head";
  if (launch.parts > 1)
    return fmt::format("each of {} parts of each head of each sequence", launch.parts);
  if (launch.stateParts)
    return fmt::format("each of {} parts of the states of each head of each sequence", launch.stateParts);
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

static void explainMade(const CUDAKernelMaker::Made &kernel, const Target &target, KernelReport &report) {
  std::vector<Remark> &remarks = report.remarks;
  const plan::GPUPlan &plan = kernel.getPlan();
  report.candidates.push_back({kernel.symbol, kernel.search->getVerdicts().vec()});
  for (const codegen::InterfaceLaunch &launch : plan.launches)
    remarks.push_back(
        {"CTA", fmt::format("{}: {} threads for {}, {} of {} of shared memory", launch.symbol, launch.threads,
                            describeCTAs(launch), printKiB(launch.sharedBytes), printKiB(target.gpu->sharedBytes))});
  if (plan.form == plan::Form::AllInChain)
    remarks.push_back({"interactions", plan.launches.back().symbol +
                                           ": a second warpgroup computes those of a chunk, ahead of the warpgroup "
                                           "with the state, so no launch leaves them to another"});
  for (auto [launch, time] : zip(plan.launches, plan.times))
    remarks.push_back({"time", describeTime(launch, time)});
  for (const codegen::InterfaceLaunch &launch : plan.launches)
    if (kernel.isStep && !launch.arrays.empty())
      remarks.push_back({"states", launch.symbol + ": a call can also keep the states before every token; the time "
                                                   "includes this"});
  for (size_t i = 1; i < plan.launches.size(); ++i)
    if (plan.launches[i].awaits)
      remarks.push_back({"side by side", describePair(plan.launches[findBefore(plan.launches, i)], plan.launches[i])});
  for (const codegen::InterfaceLaunch &launch : plan.launches)
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

Expected<KernelReport> CUDABackend::explainKernels(dgps::RecurrenceOp recurrence,
                                                   const PipelineOptions &pipeline) const {
  KernelReport report;
  report.remarks.push_back(
      {"few heads", "with at most half as many heads as multiprocessors, auto takes step below half as many tokens"});
  Listings listings;
  auto module = copyTo("chunk", recurrence, pipeline);
  if (!module)
    return module.takeError();
  CUDAKernelMaker maker(pipeline, "", listings);
  if (Error error = maker.addProgram(getProgram(**module), "chunk").takeError())
    return std::move(error);
  if (Error error = maker.addStep(recurrence, "step").takeError())
    return std::move(error);
  Error refused = maker.makeImage().takeError();
  for (const CUDAKernelMaker::Made &kernel : maker.getMade())
    explainMade(kernel, pipeline.target, report);
  explainImage(listings, pipeline.target, std::move(refused), report.remarks);
  return report;
}

/// What of the launches' of the call forward the gradient takes besides, by launches that it has for that.
static Expected<std::string> explainTaken(GradientPrograms &programs, ArrayRef<codegen::InterfaceLeft> offered,
                                          double runCycles, CUDAKernelMaker &maker) {
  Expected<std::optional<KernelResources>> taking = maker.addSpare(programs.gradient, "taking", runCycles, offered);
  if (!taking)
    return taking.takeError();
  if (!*taking)
    return "";
  int64_t bytes = 0;
  for (const codegen::InterfaceLeft &left : (*taking)->left)
    bytes += left.isHanded ? left.countHandedBytes() : 0;
  return fmt::format("; and {:.0f} bytes a token of what its launches leave to each other, with which the gradient "
                     "takes {:.2f} times the cycles of one that makes it again",
                     double(bytes) / double(programs.gradient.getChunk()), (*taking)->cycles / runCycles);
}

/// Whether the call forward hands states over to the gradient, for which it has a kernel then; `forwardChunk` is that
/// of the recurrence's own kernel.
static Expected<Remark> explainHandOver(GradientPrograms &programs, int64_t forwardChunk, double statesCycles,
                                        double runCycles, CUDAKernelMaker &maker) {
  int64_t chunk = int64_t(programs.gradient.getChunk());
  if (chunk != forwardChunk)
    return Remark{"handed over", fmt::format("nothing: the call forward takes {} tokens at once, and the gradient {}",
                                             forwardChunk, chunk)};
  Expected<plan::GPUKernels> forward = plan::Search(programs.program, maker.getOptions()).find();
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
  Expected<std::string> taken = explainTaken(programs, (*handing)->left, runCycles, maker);
  if (!taken)
    return taken.takeError();
  return Remark{"handed over",
                fmt::format("every chunk's states, {:.0f} bytes a token, by launches of the call forward that take "
                            "about {:.2f} times the cycles of those without; states found again take {:.2f} times "
                            "these{}",
                            bytes, (*handing)->cycles / without, again / without, *taken)};
}

Expected<KernelReport> CUDABackend::explainGradient(dgps::RecurrenceOp recurrence,
                                                    const PipelineOptions &pipeline) const {
  KernelReport report;
  Expected<PipelineOptions> options = completeGradient(recurrence, pipeline, &report.lostChunks);
  if (!options)
    return options.takeError();
  Expected<GradientPrograms> programs = makeKernelGradients(recurrence, *options);
  if (!programs)
    return programs.takeError();
  Listings listings;
  CUDAKernelMaker maker(*options, "", listings);
  Expected<KernelResources> run = maker.addProgram(programs->gradient, "gradient");
  if (!run)
    return run.takeError();
  if (!programs->gradient.getKept().empty()) {
    Expected<KernelResources> states = maker.addProgram(programs->states, "states");
    if (!states)
      return states.takeError();
    Expected<PipelineOptions> forward = complete(recurrence, pipeline);
    if (!forward)
      return forward.takeError();
    Expected<Remark> handing = explainHandOver(*programs, *forward->chunk, states->cycles, run->cycles, maker);
    if (!handing)
      return handing.takeError();
    report.remarks.push_back(std::move(*handing));
  }
  Error refused = maker.makeImage().takeError();
  for (const CUDAKernelMaker::Made &kernel : maker.getMade())
    explainMade(kernel, pipeline.target, report);
  explainImage(listings, pipeline.target, std::move(refused), report.remarks);
  return report;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> CUDABackend::planTiles(chunk::ProgramOp program,
                                                                   const PipelineOptions &pipeline) const {
  Expected<BuiltPlan> built = planAsBuilt(program, program.getSymName(), pipeline);
  if (!built)
    return built.takeError();
  return std::move(built->kernels.tiles);
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
