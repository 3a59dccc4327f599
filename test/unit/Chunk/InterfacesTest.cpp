// What ops say of themselves: cost, and linearity.
#include "ChunkTesting.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>

using namespace recur;
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

TEST_F(Interfaces, WhatIsLinearHasAnAdjoint) {
  unsigned asked = 0;
  for (const auto &entry : std::filesystem::directory_iterator(RECUR_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".recur")
      continue;
    auto module = example(entry.path().stem(), 6, 5, 16);
    module->walk([&](chunk::LinearOpInterface op) {
      for (unsigned operand = 0; operand < op->getNumOperands(); ++operand, ++asked)
        EXPECT_EQ(op.isLinearIn(operand), !op.getAdjoint(operand).empty())
            << op->getName().getStringRef().str() << ' ' << operand;
    });
  }
  EXPECT_GT(asked, 1000u);
}

/// f(x + y) - f(x) - f(y) + f(0) = 0 for each operand that an op says it is linear in: tried on programs of one op.
TEST_F(Interfaces, LinearOpsAreLinear) {
  const char *const ops[] = {
      "chunk.map mul %x, %k : tensor<4x3xf32>, tensor<4x3xf32>",
      "chunk.map div %x, %k : tensor<4x3xf32>, tensor<4x3xf32>",
      "chunk.map sub %k, %x : tensor<4x3xf32>, tensor<4x3xf32>",
      "chunk.interaction %x, %k strict decay log(%k : tensor<4x3xf32>) : tensor<4x3xf32>, tensor<4x3xf32>",
      "chunk.interaction %k, %x inclusive : tensor<4x3xf32>, tensor<4x3xf32>",
      "chunk.apply %L, %x strict decay linear(%k : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>",
      "chunk.solve %L, %x : tensor<4x4xf32>, tensor<4x3xf32>",
      "chunk.solve %L, %x strict decay log(%k : tensor<4x3xf32>) : tensor<4x4xf32>, tensor<4x3xf32>",
  };
  for (std::string op : ops) {
    bool square = op.find("chunk.interaction") == 0;
    std::string type = square ? "tensor<4x4xf32>" : "tensor<4x3xf32>";
    std::string text = "chunk.program @p {} chunk 4 {\n%x = chunk.input \"x\" : tensor<4x3xf32>\n"
                       "%k = chunk.input \"k\" : tensor<4x3xf32>\n"
                       "%L = chunk.interaction %k, %k strict : tensor<4x3xf32>, tensor<4x3xf32>\n%y = " +
                       op + "\nchunk.output \"y\" %y : " + type + "\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    Data data;
    data.sizes = {1, 4, 1, 1};
    data.inputs["k"] = {{1, 4, 1, 3}, {.5, -.2, .9, 1.1, -.7, .3, .8, .6, -.4, .25, -.35, .45}};
    auto at = [&](double a, double b) {
      Array &x = data.inputs["x"] = {{1, 4, 1, 3}, {}};
      for (int i = 0; i < 12; ++i)
        x.values.push_back(a * std::sin(i + 1) + b * std::cos(3 * i));
      return get(interpret(programOf(*module), data)).outputs.at("y").values;
    };
    auto both = at(1, 1), one = at(1, 0), other = at(0, 1), none = at(0, 0);
    for (size_t i = 0; i < both.size(); ++i)
      EXPECT_NEAR(both[i] - one[i] - other[i] + none[i], 0, 1e-13) << op;
  }
}

} // namespace
