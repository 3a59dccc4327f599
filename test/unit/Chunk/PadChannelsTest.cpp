// Programs whose channels are padded, against the token-by-token interpreter: padding changes nothing, wherever it is
// put, and where it would it is not put.
#include "../Examples.h"
#include "ChunkTesting.h"
#include "Transforms/Chunk/Passes.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class PadChannels : public ChunkTest {
protected:
  /// The chunk program, padded.
  mlir::OwningOpRef<mlir::ModuleOp> pad(mlir::ModuleOp recurrences) {
    auto chunked = toChunk(recurrences, 16, /*saysWhatRemains=*/true);
    mlir::PassManager passes(&context);
    passes.addNestedPass<chunk::ProgramOp>(chunk::createPadChannelsPass());
    EXPECT_TRUE(mlir::succeeded(passes.run(*chunked)));
    return chunked;
  }
  /// Whether some of the program's states are padded.
  static bool isPadded(chunk::ProgramOp program) {
    return llvm::any_of(program.getStates(), [](chunk::StateOp state) { return state.getSizes().has_value(); });
  }
  void expectSame(const std::string &name, const std::string &text) {
    auto module = compile(name, text, {{"K", 21}, {"V", 13}, {"M", 5}});
    ASSERT_TRUE(module) << name;
    auto chunked = pad(*module);
    padded += isPadded(programOf(*chunked));
    for (int64_t tokens : {0, 5, 37}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens));
      Results want = get(interpret(recurrenceOf(*module), data));
      Results got = get(interpret(programOf(*chunked), data));
      EXPECT_LE(relativeRms(got, want), 1e-11) << name << ", " << tokens << " tokens";
    }
  }

  unsigned padded = 0;
};

TEST_F(PadChannels, OfEveryExample) {
  for (const std::string &path : test::listExamples())
    expectSame(path, test::readExample(path));
  EXPECT_GE(padded, 30u);
}

/// Functions of keys and gates that padding could not go through unnoticed, and such that it can.
TEST_F(PadChannels, OfFunctionsOfKeys) {
  const std::string head = "recurrence r {\n  dim K, V\n  input q: [K], k: [K], v: [V], g: [K], a\n  state S: [V, K]\n";
  const std::pair<const char *, bool> bodies[] = {
      {"S = exp(-softplus(a)) * S + outer(v, k / (1 + abs(k)))\noutput o: [V] = S @ q", true},
      {"S = S + outer(v, tanh(k))\noutput o: [V] = S @ sigmoid(q)", true},
      {"S = S + outer(v, exp(k))\noutput o: [V] = S @ q", false},
      {"S = S + outer(v, k) * exp(-sum(exp(k)))\noutput o: [V] = S @ q", false},
  };
  for (auto [body, isKeyPadded] : bodies) {
    padded = 0;
    expectSame(body, head + body + "\n}\n");
    EXPECT_EQ(padded, 1u) << body; // the values at least
    auto module = compile("r", head + body + "\n}\n", {{"K", 21}, {"V", 13}});
    ASSERT_TRUE(module);
    auto chunked = pad(*module);
    chunk::StateOp state = programOf(*chunked).getStates().front();
    EXPECT_EQ(chunk::tensorOf(state).getDimSize(1), isKeyPadded ? 32 : 21) << body;
  }
}

/// Of a state whose keys are its rows the caller has the transpose, of its own sizes.
TEST_F(PadChannels, OfTransposedStates) {
  const std::string text = "recurrence r {\n  dim K, V\n  input q: [K], k: [K], v: [V], a, beta\n  state S: [K, V]\n"
                           "  S = exp(-softplus(a)) * S\n  S = S + outer(k, beta * (v - k @ S))\n"
                           "  output o: [V] = q @ S\n}\n";
  expectSame("r", text);
  EXPECT_EQ(padded, 1u);
  auto module = compile("r", text, {{"K", 21}, {"V", 13}});
  ASSERT_TRUE(module);
  auto chunked = pad(*module);
  chunk::StateOp state = programOf(*chunked).getStates().front();
  EXPECT_EQ(chunk::tensorOf(state).getShape(), llvm::ArrayRef<int64_t>({16, 32}));
  EXPECT_EQ(state.getCallerShape(), llvm::ArrayRef<int64_t>({21, 13}));
}

} // namespace
