#include "Pipelines/Registration.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Conversion/DGPSToChunk/Passes.h"
#include "Conversion/DGPSToLLVM/Passes.h"
#include "Conversion/TileToLLVM/Passes.h"
#include "Conversion/TileToNVVM/Passes.h"
#include "Pipelines/Stages.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/DGPS/Passes.h"
#include "dialects/Chunk/Chunk.h"
#include "dialects/DGPS/DGPS.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

static void registerUpstreamPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPrintOpStatsPass();
  mlir::registerStripDebugInfoPass();
  mlir::registerSymbolDCEPass();
}

void recur::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<dgps::DGPSDialect, chunk::ChunkDialect, tile::TileDialect>();
  registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>(); // of the stage `lowered`
}

void recur::registerAllPasses() {
  static const bool once = [] {
    registerUpstreamPasses();
    registerStagePipelines();
    dgps::registerDGPSPasses();
    chunk::registerChunkPasses();
    conversion::registerDGPSToChunkPasses();
    conversion::registerDGPSToLLVMPasses();
    conversion::registerChunkToTilePasses();
    conversion::registerTileToLLVMPasses();
    conversion::registerTileToNVVMPasses();
    return true;
  }();
  (void)once;
}
