#include "Pipelines/Stages.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/DGPSToChunk/Passes.h"
#include "Conversion/DGPSToLLVM/Passes.h"
#include "Conversion/TileToLLVM/Passes.h"
#include "Conversion/TileToNVVM/Passes.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/DGPS/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace recur;
using namespace recur::conversion;

static void populateRecurrence(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addNestedPass<dgps::RecurrenceOp>(dgps::createStorePass({options.dataTypes.print()}));
  passes.addPass(mlir::createCSEPass());
  for ([[maybe_unused]] int round : {0, 1}) { // what are common factors is known once they are one value
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
  }
}

static void populateChunk(mlir::OpPassManager &passes, const PipelineOptions &options) {
  ConvertDGPSToChunkPassOptions conversion;
  conversion.chunk = options.chunk.value_or(conversion.chunk);
  conversion.remains = !options.target.isCPU(); // for chains that begin within a sequence
  // One token reads and writes the state once, which is fast as the caller has it.
  conversion.declared = options.chunk == 1;
  passes.addPass(createConvertDGPSToChunkPass(conversion));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createChooseFactorsPass(
      {/*f16=*/!options.target.isCPU(), /*tf32=*/!options.target.isCPU() && options.precision == Precision::TF32}));
}

void recur::populateSummaries(mlir::OpPassManager &passes) {
  passes.addPass(chunk::createSummarizePass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
}

/// Channels of a part: so many that a product of them fills a warp's rows of the matrix units.
static constexpr int64_t partChannels = 32, warpgroupChannels = 64;

void recur::populatePhases(mlir::OpPassManager &passes, bool roundsFactors, ChainWork work, bool cutShort,
                           bool hasPrologue) {
  // Pieces of products of 16 bits, and of copies.
  if (roundsFactors)
    passes.addNestedPass<chunk::ProgramOp>(chunk::createPadChannelsPass());
  passes.addPass(chunk::createLeadStatesPass());
  passes.addPass(chunk::createTrailStatesPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createSlicesFirstPass());
  if (hasPrologue)
    passes.addPass(chunk::createProloguePass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createSeparateWritesPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createGatherStepsPass());
  passes.addPass(mlir::createCSEPass());
  if (work != ChainWork::States)
    passes.addNestedPass<chunk::ProgramOp>(chunk::createSpreadScalesPass());
  // With an inverse in bf16 the triangle is gone through once, and what is left is products. Whatever their length,
  // rows of bf16 are as exact.
  if (roundsFactors) {
    passes.addNestedPass<chunk::ProgramOp>(chunk::createUnscaledKeysPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createSolveFormPass({"inverse"}));
  }
  if (work != ChainWork::States) {
    passes.addNestedPass<chunk::ProgramOp>(chunk::createUnscaledInputsPass());
  } else {
    passes.addNestedPass<chunk::ProgramOp>(chunk::createGainsInInversesPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createSeparateStatesPass());
  }
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  bool isPrecise = work == ChainWork::PreciseOutputs;
  passes.addPass(chunk::createPhasesPass({work == ChainWork::Outputs || isPrecise, work == ChainWork::Interactions,
                                          /*systemsApart=*/roundsFactors, isPrecise}));
  // Of bf16 they are factors of a warpgroup's products, which have twice as many rows.
  int64_t alone = roundsFactors ? warpgroupChannels : 0;
  passes.addNestedPass<chunk::ProgramOp>(chunk::createPartsPass({partChannels, alone, cutShort}));
}

void recur::populateGradients(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addPass(chunk::createDifferentiatePass());
  if (!options.gradients.empty())
    passes.addNestedPass<chunk::ProgramOp>(chunk::createLeaveOutGradientsPass({llvm::to_vector(options.gradients)}));
  passes.addPass(chunk::createKeepStatesPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
  if (!options.target.isCPU()) // whose runtime reads kept states in float32
    passes.addPass(chunk::createKeptTypesPass());
}

void recur::populateHeldDelays(mlir::OpPassManager &passes) { passes.addPass(chunk::createHoldDelaysPass()); }

void recur::populateChain(mlir::OpPassManager &passes, ArrayRef<std::string> states) {
  passes.addPass(chunk::createLeaveOutGradientsPass({llvm::to_vector(states)}));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(chunk::createDeadStreamsPass());
}

static void populateTile(mlir::OpPassManager &passes, const PipelineOptions &options) {
  passes.addNestedPass<chunk::ProgramOp>(chunk::createAdvanceLastPass({/*chains=*/options.target.isCPU()}));
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDecayReadsPass());
  if (options.target.isCPU()) {
    passes.addNestedPass<chunk::ProgramOp>(chunk::createInvertRootsPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createGatherOncePass());
    // Plans of a core scale a matrix as they mask it.
    passes.addNestedPass<chunk::ProgramOp>(chunk::createSpreadScalesPass());
  }
  conversion::ConvertChunkToTilePassOptions conversion;
  conversion.hasPairs = options.target.vectors.hasPairs;
  conversion.hasAMX = options.target.vectors.hasAMX;
  if (!options.target.isCPU()) {
    conversion.threads = teamThreads;
    conversion.sharedBytes = options.target.gpu->sharedBytes;
    conversion.gpu = options.target.name;
  }
  conversion.symbol = options.symbol;
  passes.addPass(createConvertChunkToTilePass(conversion));
}

static void populateLowered(mlir::OpPassManager &passes, const PipelineOptions &options) {
  if (!options.target.isCPU()) {
    passes.addPass(createConvertTileToNVVMPass({/*lists=*/true}));
  } else {
    passes.addPass(createConvertDGPSToLLVMPass({options.symbol}));
    ConvertTileToLLVMPassOptions conversion;
    conversion.lanes = options.target.vectors.lanes;
    conversion.registers = options.target.vectors.registers;
    conversion.hasBF16 = options.target.vectors.hasBF16;
    conversion.hasPairs = options.target.vectors.hasPairs;
    conversion.hasAMX = options.target.vectors.hasAMX;
    conversion.productRows = options.target.vectors.productRows;
    conversion.fetchesEvenly = options.target.vectors.fetchesEvenly;
    passes.addPass(createConvertTileToLLVMPass(conversion));
  }
  passes.addPass(mlir::createCSEPass());
  if (!options.target.isCPU())
    passes.addPass(createFuseMultiplyAddsPass());
  passes.addPass(mlir::createSCFToControlFlowPass());
  passes.addPass(mlir::createConvertVectorToLLVMPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createUBToLLVMConversionPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
}

static constexpr Stage stages[] = {
    {"recurrence", "dgps: one token of one head", "dgps.recurrence", populateRecurrence},
    {"chunk", "chunk: a chunk of tokens as tensors", "chunk.program", populateChunk},
    {"tile", "tile: plans over named memories", "tile.kernel", populateTile},
    {"lowered", "the LLVM dialect", "llvm.func", populateLowered},
    {"binary", "object code", "", nullptr},
};

ArrayRef<Stage> recur::getStages() { return stages; }

const Stage *recur::findStage(StringRef name) {
  const Stage *stage = find_if(stages, [&](const Stage &stage) { return stage.name == name; });
  return stage == std::end(stages) ? nullptr : stage;
}

const Stage &recur::getLastModuleStage() {
  const Stage *last = &stages[0];
  for (const Stage &stage : stages)
    if (stage.populate)
      last = &stage;
  return *last;
}

mlir::LogicalResult recur::runStages(mlir::ModuleOp module, const Stage *from, const Stage &to,
                                     const PipelineOptions &options, function_ref<void(const Stage &)> after) {
  for (const Stage *stage = from ? from + 1 : stages; stage <= &to && stage->populate; ++stage) {
    mlir::PassManager passes(module.getContext());
    stage->populate(passes, options);
    if (mlir::failed(passes.run(module)))
      return mlir::failure();
    if (after)
      after(*stage);
  }
  return mlir::success();
}

bool recur::lowersTokens(const PipelineOptions &options) {
  return options.plan == Plan::Step && options.target.isCPU();
}

namespace {
/// The options of every pipeline `to-STAGE`.
struct StagePassOptions : mlir::PassPipelineOptions<StagePassOptions> {
  Option<int64_t> chunk{*this, "chunk", cl::desc("tokens in a chunk"), cl::init(64)};
  ListOption<std::string> dtype{*this, "dtype", cl::desc("types of arrays that say none, as --dtype of recurc")};
  Option<std::string> target{*this, "target", cl::desc("as --target of recurc"), cl::init("x86-64-v4")};
};
} // namespace

static mlir::LogicalResult populateFromText(const Stage &stage, mlir::OpPassManager &passes, StringRef text,
                                            function_ref<mlir::LogicalResult(const Twine &)> fail) {
  StagePassOptions given;
  if (mlir::failed(given.parseFromString(text)))
    return mlir::failure();
  std::optional<Target> target = findTarget(given.target);
  if (!target)
    return fail("there is no target '" + given.target + "'; there are " + join(getTargetNames(), ", "));
  PipelineOptions options;
  options.target = std::move(*target);
  options.chunk = given.chunk;
  Expected<DataTypes> types = parseDataTypes(join(given.dtype, ","));
  if (!types)
    return fail(toString(types.takeError()));
  options.dataTypes = std::move(*types);
  if (stage.name == "tile" && !given.dtype.empty()) { // of programs that nothing was converted to
    passes.addNestedPass<chunk::ProgramOp>(chunk::createStorePass({options.dataTypes.print()}));
    passes.addNestedPass<chunk::ProgramOp>(chunk::createChooseFactorsPass());
  }
  stage.populate(passes, options);
  return mlir::success();
}

void recur::registerStagePipelines() {
  for (const Stage &stage : stages)
    if (stage.populate)
      mlir::registerPassPipeline(
          ("to-" + stage.name).str(), ("From the stage above to " + stage.gives).str(),
          [&stage](mlir::OpPassManager &passes, StringRef text, function_ref<mlir::LogicalResult(const Twine &)> fail) {
            return populateFromText(stage, passes, text, fail);
          },
          [](function_ref<void(const mlir::detail::PassOptions &)> show) { show(StagePassOptions()); });
}
