// Each state's summary by itself: for random states before a segment, map and offset give what the program gives.
#include "property/Summaries.h"
#include "../Examples.h"
#include "ChunkTesting.h"
#include "Transforms/Chunk/Passes.h"
#include "Transforms/Chunk/StatePath.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class Summaries : public ChunkTest {
protected:
  void expectSummaries(mlir::ModuleOp module, mlir::ModuleOp chunked, int64_t tokens, const std::string &what) {
    Data data = randomData(recurrenceOf(module), {1, tokens, 1, 1}, 11 + tokens);
    llvm::SmallVector<chunk::ProgramOp> programs(chunked.getOps<chunk::ProgramOp>());
    ASSERT_EQ(property::findWrongSummary(programs[0], llvm::ArrayRef(programs).drop_front(), data, 1e-11), "") << what;
  }

  /// Over segments shorter than a chunk, of whole chunks, and of an odd length.
  void expectSummaries(const std::string &name, const std::string &text, bool mayHaveNone) {
    auto module = compile(name, text, {{"K", 4}, {"V", 3}, {"M", 3}});
    ASSERT_TRUE(module) << name;
    for (int64_t size : {1, 3, 8}) {
      auto chunked = toChunk(*module, size);
      if (mayHaveNone && chunk::findObstacle(programOf(*chunked)))
        return;
      mlir::PassManager passes(&context);
      passes.addPass(chunk::createSummarizePass());
      passes.addPass(mlir::createCanonicalizerPass());
      passes.addPass(mlir::createCSEPass());
      ASSERT_TRUE(mlir::succeeded(passes.run(*chunked))) << name;
      for (int64_t tokens : {1, 5, 8, 21})
        expectSummaries(*module, *chunked, tokens,
                        name + ", " + std::to_string(tokens) + " tokens in chunks of " + std::to_string(size));
      ++count;
      if (HasFatalFailure())
        return;
    }
  }

  unsigned count = 0;
};

TEST_F(Summaries, OfEveryExample) {
  for (const std::string &path : test::listExamples())
    expectSummaries(path, test::readExample(path), /*mayHaveNone=*/true);
  EXPECT_GE(count, 90u);
}

/// States that hold a value which the token before computed, in all the ways in which a value of this token can look
/// like it; and states that do not read themselves.
TEST_F(Summaries, OfDelayedValues) {
  const std::string head = "recurrence r {\n  dim K, V\n  input q: [K], k: [K], c: [K], v: [V], g: [K], a\n"
                           "  param mk: [K]\n";
  const std::string bodies[] = {
      "state kp: [K], S: [V, K]\nS = S + outer(v, kp)\nkp = k * c\noutput o: [V] = S @ q",
      "state kp: [K], S: [V, K]\nS = S + outer(v, kp) + outer(v, k * c)\nkp = k * c\noutput o: [V] = S @ q",
      "state kp: [K], S: [V, K]\nS = S + outer(v, kp) + outer(v, 2 * k)\nkp = 2 * k\noutput o: [V] = S @ q",
      "state kp: [K], S: [V, K]\nS = S + outer(v, kp) + outer(v, k)\nkp = silu(k)\noutput o: [V] = S @ q",
      "state n: [K], S: [V, K]\nlet p = n\nn = exp(-exp(g)) * n + k * k\nS = S + outer(v, p) + outer(v, k * k)\n"
      "output o: [V] = S @ q",
      "state vp: [V], S: [V, K]\nS = S + outer(vp, k) + outer(v * v, k)\nvp = v * v\noutput o: [V] = S @ q",
      "state kp: [K], S: [V, K]\nlet kn = l2norm(k)\nlet ks = mk * kn + (1 - mk) * kp\n"
      "S = sigmoid(a) * S + outer(v, ks)\nkp = kn\noutput o: [V] = S @ q",
      "state kp: [K], S: [V, K]\nS = S - outer(S @ kp, kp) + outer(v, l2norm(k))\nkp = l2norm(k)\n"
      "output o: [V] = S @ q",
      "state p: [K], pp: [K]\noutput o: [K] = pp + 2 * p\npp = p\np = k * c",
      "state R: [V, K]\noutput o: [V] = R @ q\nR = outer(v, k * c)",
      "state R: [V, K]\noutput o: [V] = R @ q\nR = exp(outer(v, k))",
      "state s\noutput o = s\ns = dot(k, c)",
  };
  for (const std::string &body : bodies)
    expectSummaries("delayed.recur", head + body + "\n}\n", /*mayHaveNone=*/false);
  EXPECT_EQ(count, 3 * std::size(bodies));
}

/// States that erase along their keys while each value channel decays by itself, also to zero and by signed factors.
TEST_F(Summaries, OfErasingStatesWithDecaysOfTheirValues) {
  const std::string head = "recurrence r {\n  dim K, V\n  input q: [K], k: [K], m: [K], v: [V], a: [V], c: [K], beta\n"
                           "  param mu: [V]\n";
  const std::string bodies[] = {
      "state S: [V, K]\nS = diag(sigmoid(a)) @ S\nS = S + outer(v - S @ l2norm(k), l2norm(k))\noutput o: [V] = S @ q",
      "state S: [V, K]\nS = diag(tanh(a)) @ S @ diag(sigmoid(c))\nS = S + 0.5 * outer(v - S @ l2norm(k), l2norm(m))\n"
      "output o: [V] = S @ q",
      "state S: [V, K]\nS = S + outer(v - S @ l2norm(k), l2norm(k))\nS = diag(max(a, 0)) @ S\noutput o: [V] = S @ q",
      "state S: [V, K]\nS = diag(exp(-exp(mu))) @ S\nS = S + outer(v - S @ l2norm(k), l2norm(k))\n"
      "S = S - sigmoid(beta) * outer(S @ l2norm(m), l2norm(m))\noutput o: [V] = S @ q",
      "state S: [K, V]\nS = S @ diag(sigmoid(a))\nS = S + outer(l2norm(k), v - l2norm(k) @ S)\noutput o: [V] = q @ S",
      "state S: [K, V]\nS = diag(sigmoid(c)) @ S @ diag(tanh(a))\nS = S - 0.5 * outer(l2norm(m), l2norm(k) @ S - v)\n"
      "S = S - outer(l2norm(k), l2norm(k) @ S)\noutput o: [V] = q @ S",
      "state S: [V, K], Z: [V, K]\nS = diag(sigmoid(a)) @ S\nS = S + outer(v - S @ l2norm(k), l2norm(k))\n"
      "Z = diag(sigmoid(-a)) @ Z\nZ = Z + outer(S @ q - Z @ l2norm(m), l2norm(m))\noutput o: [V] = Z @ q",
  };
  for (const std::string &body : bodies)
    expectSummaries("decayed.recur", head + body + "\n}\n", /*mayHaveNone=*/false);
  EXPECT_EQ(count, 3 * std::size(bodies));
}

} // namespace
