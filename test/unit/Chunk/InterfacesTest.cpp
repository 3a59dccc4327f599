// What ops say of themselves: their cost.
#include "ChunkTesting.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class Interfaces : public ChunkTest {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> example(const std::string &name, int64_t keys, int64_t values, int64_t chunk) {
    std::string path = RECUR_SOURCE_DIR "/examples/" + name + ".recur";
    auto module = compile(path, (*llvm::MemoryBuffer::getFile(path))->getBuffer().str(),
                          {{"K", keys}, {"V", values}, {"M", values}});
    return toChunk(*module, chunk);
  }
  int64_t countFlopsOf(const std::string &name, int64_t keys, int64_t values, int64_t chunk) {
    auto module = example(name, keys, values, chunk);
    return chunk::countFlops(programOf(*module).getBody().front());
  }
};

TEST_F(Interfaces, FlopsAreThoseOfTheEquations) {
  const int64_t K = 32, V = 16, C = 64, pairs = C * (C + 1) / 2, strictPairs = C * (C - 1) / 2;
  int64_t read = 2 * C * K * V, advance = 2 * C * K * V, outputs = 2 * C * V; // past + present, and the scale
  int64_t linear = read + advance + 2 * pairs * K + 2 * pairs * V + outputs;
  EXPECT_EQ(countFlopsOf("linear_attention", K, V, C), linear);
  // One more read and interaction, the gain on L and on the right-hand side, the difference, and the solve.
  int64_t delta = linear + read + 2 * strictPairs * K + C * C + 2 * C * V + 2 * strictPairs * V;
  EXPECT_EQ(countFlopsOf("delta_net", K, V, C), delta);
}

} // namespace
