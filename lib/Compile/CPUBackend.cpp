#include "Codegen/LLVM/MachineCode.h"
#include "Codegen/LLVM/Translate.h"
#include "Compile/Backend.h"
#include "Compile/CPUKernel.h"
#include "Compile/KernelPlans.h"
#include "Plan/Chunks.h"
#include "Support/Errors.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <fmt/format.h>

using namespace llvm;
using namespace recur;
using namespace recur::compile;
using codegen::CodeForm;
using codegen::ObjectFile;

namespace {

class CPUKernelMaker : public KernelMaker {
public:
  CPUKernelMaker(const PipelineOptions &pipeline, const std::string &objectName, Listings &listings)
      : pipeline(pipeline), objectName(objectName), listings(listings) {}
  Expected<KernelResources> addStep(dgps::RecurrenceOp recurrence, StringRef symbol) override;
  Expected<KernelResources> addProgram(chunk::ProgramOp program, StringRef symbol) override;
  Expected<std::vector<ObjectFile>> finish(MutableArrayRef<codegen::KernelInterface> interfaces) override;

private:
  Expected<KernelResources> add(Expected<std::unique_ptr<LoweredKernel>> lowered);

  PipelineOptions pipeline;
  std::string objectName;
  Listings &listings;
  /// What LLVM makes of a kernel while the next one is lowered: nine tenths of all the work.
  struct Making {
    std::unique_ptr<LoweredKernel> lowered;
    std::string symbol, object;
    std::optional<Error> error;
    ~Making() {
      if (error) // of a kernel that nobody asks for any more, since another failed
        consumeError(std::move(*error));
    }
  };
  std::vector<std::unique_ptr<Making>> makings;  // in the order in which the kernels were added
  StdThreadPool threads{hardware_concurrency()}; // ends before what its tasks work on
};

class CPUBackend : public Backend {
public:
  Error check(const PipelineOptions &pipeline) const override;
  recur_device getDevice() const override { return RECUR_CPU; }
  std::optional<std::string> explainNoPlan(const Target &target, recur_plan plan) const override {
    return plan == RECUR_PLAN_STEP ? std::nullopt : explainNoVectorKernels(target);
  }
  std::optional<std::string> explainNoSegments(chunk::ProgramOp program, const PipelineOptions &,
                                               const KernelResources &) const override {
    return compile::explainNoPlan(program, RECUR_PLAN_SEGMENT);
  }
  std::string explainSegmentChoice(int64_t tokensFrom) const override {
    return fmt::format("auto may take it from {} tokens on, if there are fewer heads in all than processors, and if "
                       "it saves a twelfth of the time",
                       tokensFrom);
  }
  bool summarisesSegments() const override { return true; }
  int64_t getFirstTokens(chunk::ProgramOp program, recur_plan plan) const override;
  Expected<PipelineOptions> complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                     std::vector<plan::Verdict> *lost) const override;
  Target makePortable(const Target &target) const override;
  Expected<KernelResources> measureStep(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline) const override;
  Expected<KernelResources> measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const override;
  Expected<KernelReport> explainKernels(dgps::RecurrenceOp, const PipelineOptions &pipeline) const override {
    KernelReport report;
    report.candidates.push_back({"chunk", {{plan::getCore(*pipeline.chunk), 0, ""}}});
    return report;
  }
  ArrayRef<StringRef> getCodeForms() const override {
    static constexpr StringRef forms[] = {"obj", "asm"};
    return forms;
  }
  std::unique_ptr<KernelMaker> start(const PipelineOptions &pipeline, const std::string &objectName,
                                     Listings &listings) const override {
    return std::make_unique<CPUKernelMaker>(pipeline, objectName, listings);
  }
  Expected<std::string> generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                     StringRef form) const override;
};

} // namespace

const Backend &compile::getCPUBackend() {
  static const CPUBackend backend;
  return backend;
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

/// Code for f16 would call a compiler's library where the processor has no instructions for it.
Error CPUBackend::check(const PipelineOptions &pipeline) const {
  const Target &target = pipeline.target;
  if (!pipeline.dataTypes.contain(DataType::F16) || target.vectors.hasF16)
    return Error::success();
  return makeError("--dtype: target '" + target.name + "' has no instructions for f16 (F16C); take bf16 or f32" +
                   (target.isHost() ? "" : ", or another --target"));
}

/// Such kernels are taken for what the runtime asks of its processor: they use no more of this one.
Target CPUBackend::makePortable(const Target &target) const {
  if (!target.isHost())
    return target;
  StringMap<bool> features;
  for (StringRef feature : target.features)
    if (codegen::getFeatureBit(feature))
      features[feature] = true;
  return makePortableHost(target, features);
}

Expected<PipelineOptions> CPUBackend::complete(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline,
                                               std::vector<plan::Verdict> *lost) const {
  PipelineOptions completed = pipeline;
  if (pipeline.chunk)
    return completed;
  auto make = [&](int64_t chunk) { return makeChunkProgram(recurrence, pipeline, chunk); };
  Expected<plan::ChunkChoice> choice = plan::findCoreChunk(make, pipeline);
  if (!choice)
    return choice.takeError();
  if (lost)
    append_range(*lost, choice->lost);
  completed.chunk = choice->chunk;
  return completed;
}

static int64_t countStateBytes(chunk::ProgramOp program) {
  int64_t bytes = 0;
  for (chunk::StateOp state : program.getStates())
    bytes += chunk::tensorOf(state).getNumElements() * int64_t(sizeof(float));
  return bytes;
}

/// Whether all tokens of a chunk are multiplied by one matrix, as one product.
static bool hasProjections(chunk::ProgramOp program) {
  for (auto map : program.getOps<chunk::MapOp>())
    if (is_contained({chunk::Function::Matvec, chunk::Function::Vecmat}, map.getFunction()))
      return true;
  return false;
}

/// Whether every state's rows, which a step takes as vectors, are long enough for that.
static bool hasLongRows(chunk::ProgramOp program) {
  constexpr int64_t longRow = 32;
  return all_of(program.getStates(), [](chunk::StateOp state) {
    SmallVector<int64_t> shape = state.getCallerShape();
    return shape.size() < 2 || shape.back() >= longRow;
  });
}

/// Whether the chunk's writes go from token to token themselves, as those of states with a matrix for each key channel.
static bool carriesWrites(chunk::ProgramOp program) {
  auto countsTokens = [](mlir::Value state) { return state.getDefiningOp<chunk::ConstantOp>() != nullptr; };
  return any_of(program.getOps<chunk::TokenLoopOp>(),
                [&](chunk::TokenLoopOp loop) { return any_of(loop.getStates(), countsTokens); });
}

/// What was measured on AVX-512 with states of 16 x 16 to 128 x 128: a chunk takes its passes however few tokens it
/// has; a token by itself goes through the state, which is slow from the second-level cache and fast from the first.
/// Each interaction that decays channels costs a chunk several passes more that grow with it, and a token nothing.
/// So does a loop that carries writes: of two states of 64 x 64, a token takes 0.83 us by itself and 0.98 us in a
/// chunk, and of 128 x 128 5.3 us and 2.5 us. Where states' elements go by themselves, a chunk saves nothing but
/// products of all tokens with one matrix, and leaves in memory what a token has in registers.
int64_t CPUBackend::getFirstTokens(chunk::ProgramOp program, recur_plan plan) const {
  constexpr int64_t firstCacheBytes = 40 * 1024, bytesOfChannelsAndToken = 128;
  constexpr int64_t tooFewToShare = 128; // between threads
  constexpr int64_t ofScan = 8, ofLargeStates = 5, ofSmallStates = 12, chunksOfChannels = 4;
  if (plan == RECUR_PLAN_SEGMENT)
    return std::max(2 * int64_t(program.getChunk()), tooFewToShare) + 1; // two chunks are not cut
  if (plan == RECUR_PLAN_SCAN && !hasProjections(program) && hasLongRows(program))
    return noTokens;
  if (plan != RECUR_PLAN_CHUNK)
    return ofScan;
  int64_t bytes = countStateBytes(program);
  if (bytes > firstCacheBytes)
    return ofLargeStates;
  if (carriesWrites(program))
    return noTokens;
  int64_t withChannels = 0, chunk = program.getChunk();
  program.walk(
      [&](chunk::InteractionOp op) { withChannels += op.getDecay() && chunk::tensorOf(op.getDecay()).getRank() > 1; });
  if (!withChannels)
    return ofSmallStates;
  return bytes < withChannels * chunk * bytesOfChannelsAndToken ? noTokens : chunksOfChannels * chunk;
}

Expected<KernelResources> CPUBackend::measureStep(dgps::RecurrenceOp recurrence,
                                                  const PipelineOptions &pipeline) const {
  Expected<int64_t> bytes = countStepWorkspaceBytes(recurrence, pipeline);
  if (!bytes)
    return bytes.takeError();
  return KernelResources{*bytes};
}

Expected<KernelResources> CPUBackend::measureProgram(chunk::ProgramOp program, const PipelineOptions &pipeline) const {
  Expected<int64_t> bytes = countWorkspaceBytes(program, pipeline);
  if (!bytes)
    return bytes.takeError();
  return KernelResources{*bytes};
}

Expected<std::string> CPUBackend::generateCode(mlir::ModuleOp lowered, const PipelineOptions &pipeline,
                                               StringRef form) const {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = translateToLLVMIR(lowered, context);
  if (!module)
    return module.takeError();
  if (Error error = codegen::optimize(**module, pipeline.target, pipeline.effort))
    return std::move(error);
  return codegen::emitCode(**module, pipeline.target, form == "obj" ? CodeForm::Object : CodeForm::Assembly,
                           pipeline.effort);
}

//===----------------------------------------------------------------------===//
// Its kernels
//===----------------------------------------------------------------------===//

Expected<KernelResources> CPUKernelMaker::addStep(dgps::RecurrenceOp recurrence, StringRef symbol) {
  pipeline.symbol = symbol.str();
  return add(lowerStepKernel(recurrence, pipeline));
}

Expected<KernelResources> CPUKernelMaker::addProgram(chunk::ProgramOp program, StringRef symbol) {
  pipeline.symbol = symbol.str();
  return add(lowerCPUKernel(program, pipeline));
}

Expected<KernelResources> CPUKernelMaker::add(Expected<std::unique_ptr<LoweredKernel>> lowered) {
  if (!lowered)
    return lowered.takeError();
  if (listings.wantsAssembly || listings.wantsLLVM) {
    Expected<LoweredKernel::Texts> texts = (*lowered)->print();
    if (!texts)
      return texts.takeError();
    listings.llvmIR += texts->llvmIR;
    listings.assembly += texts->assembly;
  }
  int64_t workspaceBytes = (*lowered)->workspaceBytes;
  makings.push_back(std::make_unique<Making>());
  Making *making = makings.back().get();
  making->symbol = (*lowered)->symbol;
  making->lowered = std::move(*lowered);
  threads.async([making] {
    if (Expected<std::string> object = making->lowered->makeObject())
      making->object = std::move(*object);
    else
      making->error = object.takeError();
    making->lowered.reset();
  });
  return KernelResources{workspaceBytes};
}

Expected<std::vector<ObjectFile>> CPUKernelMaker::finish(MutableArrayRef<codegen::KernelInterface> interfaces) {
  LLVMContext context;
  Module descriptors("recur_kernels", context);
  codegen::addDescriptors(descriptors, interfaces);
  if (Error error = codegen::optimize(descriptors, pipeline.target, pipeline.effort))
    return std::move(error);
  if (listings.wantsLLVM)
    listings.llvmIR = codegen::printIR(descriptors) + listings.llvmIR;
  if (listings.wantsAssembly) {
    std::unique_ptr<Module> copy = CloneModule(descriptors);
    Expected<std::string> assembly = codegen::emitCode(*copy, pipeline.target, CodeForm::Assembly, pipeline.effort);
    if (!assembly)
      return assembly.takeError();
    listings.assembly = *assembly + listings.assembly;
  }
  Expected<std::string> object = codegen::emitCode(descriptors, pipeline.target, CodeForm::Object, pipeline.effort);
  if (!object)
    return object.takeError();
  std::vector<ObjectFile> objects{{objectName, std::move(*object)}};
  threads.wait();
  Error failed = Error::success();
  for (std::unique_ptr<Making> &making : makings) {
    if (making->error)
      failed = joinErrors(std::move(failed), std::move(*making->error));
    objects.push_back({making->symbol + ".o", std::move(making->object)});
  }
  if (failed)
    return std::move(failed);
  return std::move(objects);
}
