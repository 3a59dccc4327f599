#include "Pipelines/Stages.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/DGPSToChunk/Passes.h"
#include "Transforms/Chunk/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace llvm;
using namespace recur;

static void populateRecurrence(mlir::OpPassManager &passes, const PipelineOptions &) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}

static void populateChunk(mlir::OpPassManager &passes, const PipelineOptions &options) {
  ConvertDGPSToChunkPassOptions conversion;
  conversion.chunk = options.chunk.value_or(conversion.chunk);
  passes.addPass(createConvertDGPSToChunkPass(conversion));
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
  passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
}

static void populateTile(mlir::OpPassManager &passes, const PipelineOptions &options) {
  tile::ConvertChunkToTilePassOptions conversion;
  conversion.dtype = options.dataType == DataType::F32 ? "f32" : options.dataType == DataType::BF16 ? "bf16" : "f16";
  passes.addPass(tile::createConvertChunkToTilePass(conversion));
}

static constexpr Stage stages[] = {
    {"recurrence", "dgps: one token of one head", populateRecurrence},
    {"chunk", "chunk: a chunk of tokens as tensors", populateChunk},
    {"tile", "tile: plans over named memories", populateTile},
    {"lowered", "the LLVM dialect", nullptr},
    {"binary", "object code", nullptr},
};

ArrayRef<Stage> recur::getStages() { return stages; }

const Stage *recur::findStage(StringRef name) {
  const Stage *stage = find_if(stages, [&](const Stage &stage) { return stage.name == name; });
  return stage == std::end(stages) ? nullptr : stage;
}

const Stage &recur::getLastStage() {
  const Stage *last = &stages[0];
  for (const Stage &stage : stages)
    if (stage.populate)
      last = &stage;
  return *last;
}

mlir::LogicalResult recur::runStages(mlir::ModuleOp module, const Stage *from, const Stage &to,
                                     const PipelineOptions &options, function_ref<void(const Stage &)> after) {
  for (const Stage *stage = from ? from + 1 : stages; stage <= &to; ++stage) {
    mlir::PassManager passes(module.getContext());
    stage->populate(passes, options);
    if (mlir::failed(passes.run(module)))
      return mlir::failure();
    if (after)
      after(*stage);
  }
  return mlir::success();
}

void recur::registerStagePipelines() {
  for (const Stage &stage : stages)
    if (stage.populate)
      mlir::registerPassPipeline(
          ("to-" + stage.name).str(), ("From the stage above to " + stage.gives).str(),
          [&stage](mlir::OpPassManager &passes, StringRef, function_ref<mlir::LogicalResult(const Twine &)>) {
            stage.populate(passes, PipelineOptions());
            return mlir::success();
          },
          [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
