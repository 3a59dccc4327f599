// The tile plan of every example, run by the interpreter of tile programs, against the token-by-token interpreter; and
// that plans with a mistake in them do not get through.
#include "ChunkTesting.h"
#include "Conversion/ChunkToTile/Passes.h"
#include "Interpreter/TileInterpreter.h"
#include "Transforms/Chunk/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <set>

using namespace recur;
using namespace recur::interpreter;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> listExamples() {
  std::set<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(RECUR_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".recur")
      names.insert(entry.path().stem());
  return {names.begin(), names.end()};
}

class TilePlanTest : public ChunkTest {
protected:
  struct Plan {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::vector<KernelArray> arrays;
    tile::KernelOp kernel() { return *module->getOps<tile::KernelOp>().begin(); }
  };

  mlir::OwningOpRef<mlir::ModuleOp> example(const std::string &name,
                                            const std::vector<std::pair<std::string, int64_t>> &dims) {
    std::string path = RECUR_SOURCE_DIR "/examples/" + name + ".recur";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return compile(path, (*buffer)->getBuffer().str(), dims);
  }

  Plan plan(mlir::ModuleOp module, int64_t chunk, llvm::StringRef dtype = "f32") {
    Plan result{toChunk(module, chunk), {}};
    mlir::PassManager clean(&context);
    clean.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    clean.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
    EXPECT_TRUE(mlir::succeeded(clean.run(*result.module)));
    result.arrays = listKernelArrays(programOf(*result.module));
    mlir::PassManager passes(&context);
    tile::ConvertChunkToTilePassOptions options;
    options.dtype = dtype.str();
    passes.addPass(tile::createConvertChunkToTilePass(options));
    EXPECT_TRUE(mlir::succeeded(passes.run(*result.module)));
    return result;
  }
};

class Plans : public TilePlanTest, public ::testing::WithParamInterface<std::string> {};

/// Constants are float32 in a plan, and all else is float64 here.
constexpr double limit = 1e-6;

TEST_P(Plans, ComputeTokenByToken) {
  // Sizes apart from each other, and sizes that could be taken for numbers of tokens.
  for (auto [chunk, K, V, M] : {std::tuple(64, 6, 5, 4), std::tuple(16, 16, 32, 16)}) {
    auto module = example(GetParam(), {{"K", K}, {"V", V}, {"M", M}});
    ASSERT_TRUE(module);
    Plan tiles = plan(*module, chunk);
    for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
      if (K == 16 && tokens > 65)
        continue;
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens + chunk));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(tiles.kernel(), tiles.arrays, data));
      EXPECT_LE(relativeRms(got, want), limit) << "with chunks of " << chunk << ", " << tokens << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Plans, ::testing::ValuesIn(listExamples()),
                         [](const auto &info) { return info.param; });

} // namespace
