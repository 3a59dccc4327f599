// What a chunk says that it leaves of a state: that it leaves no more, and which recurrences say anything.
#include "property/Remains.h"
#include "../Examples.h"
#include "ChunkTesting.h"

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

class Remains : public ChunkTest {
protected:
  /// Of an update of the state: how much of it remains after these tokens, and after none.
  std::vector<double> boundOf(const std::string &update, int64_t tokens, double gate, double key, double beta) {
    auto module = compile("r",
                          "recurrence r {\n  dim K, V\n  input q: [K], k: [K], w: [K], v: [V], g, h: [K], beta\n"
                          "  state S: [V, K]\n" +
                              update + "\n  output o: [V] = S @ q\n}\n",
                          {{"K", 2}, {"V", 2}});
    auto chunked = toChunk(*module, 4, /*saysWhatRemains=*/true);
    chunk::ProgramOp program = programOf(*chunked);
    if (!program.getRemains("S"))
      return {};
    mlir::OpBuilder builder(program.getRemains("S"));
    mlir::Value bound = program.getRemains("S").getBound();
    auto type = chunk::makeTokens(&context, 4, chunk::shapePerToken(bound));
    auto everywhere = chunk::BroadcastOp::create(builder, program.getLoc(), type, bound);
    chunk::OutputOp::create(builder, program.getLoc(), builder.getStringAttr("bound"), everywhere, mlir::TypeAttr());
    Data data = randomData(recurrenceOf(*module), {1, tokens, 1, 1}, 1);
    auto fill = [&](const char *name, double x) {
      if (auto found = data.inputs.find(name); found != data.inputs.end())
        std::fill(found->second.values.begin(), found->second.values.end(), x);
    };
    fill("g", gate);
    fill("h", gate);
    fill("k", key);
    fill("w", -key);
    fill("beta", beta);
    return get(interpret(program, data)).outputs["bound"].values;
  }
};

/// With weak and strong gates, gains to 2 and keys of any length.
TEST_F(Remains, NoMoreThanIsSaid) {
  unsigned count = 0;
  for (const std::string &path : test::listExamples()) {
    auto module = compile(path, test::readExample(path), {{"K", 6}, {"V", 5}, {"M", 3}});
    ASSERT_TRUE(module) << path;
    auto chunked = toChunk(*module, 8, /*saysWhatRemains=*/true);
    count += !programOf(*chunked).getBody().getOps<chunk::RemainsOp>().empty();
    for (unsigned seed = 0; seed < 12; ++seed) {
      Data data = randomData(recurrenceOf(*module), {1, int64_t(seed % 3 == 0 ? 1 : 8), 1, 1}, seed);
      for (auto &[name, array] : data.inputs)
        for (double &x : array.values)
          x *= name[0] == 'k' ? 0.4 * (1 + seed % 4) : name == "g" ? double(seed % 5) : 1 + seed % 2;
      EXPECT_EQ(property::findWrongRemains(programOf(*chunked), data), "") << path << ", seed " << seed;
    }
  }
  EXPECT_GE(count, 20u);
}

TEST_F(Remains, DecayOfAScalar) {
  for (double x : boundOf("  S = exp(g) * S + outer(v, k)", 3, -0.5, 1, 1))
    EXPECT_NEAR(x, std::exp(-1.5), 1e-12);
  for (double x : boundOf("  S = g * S + outer(v, k)", 3, -0.5, 1, 1))
    EXPECT_NEAR(x, 0.125, 1e-12) << "whatever its sign";
  for (double x : boundOf("  S = g * S + outer(v, k)", 3, 0, 1, 1))
    EXPECT_EQ(x, 0);
}

TEST_F(Remains, DecaysOfChannels) {
  std::vector<double> bounds = boundOf("  S = S @ diag(exp(h)) + outer(v, k)", 2, -0.5, 1, 1);
  ASSERT_EQ(bounds.size(), 4u); // of two tokens
  for (double x : bounds)
    EXPECT_NEAR(x, std::exp(-1.0), 1e-12);
}

/// The norm of I - beta k k^T, which is |1 - beta |k|^2| along the key, and one across.
TEST_F(Remains, WhatIsErased) {
  const char *update = "  S = exp(g) * S\n  S = S + beta * outer(v - S @ k, k)";
  for (double x : boundOf(update, 2, -0.5, 0.5, 1)) // of |k|^2 = 0.5
    EXPECT_NEAR(x, std::exp(-1.0), 1e-12);
  for (double x : boundOf(update, 2, -0.5, 1, 2)) // 1 - 2 * 2 = -3
    EXPECT_NEAR(x, 9 * std::exp(-1.0), 1e-12);
}

/// Of a I - r w^T where r and w are not along each other, the larger singular value: here w is -r, and a is one.
TEST_F(Remains, WhatIsErasedElsewhere) {
  const char *update = "  S = exp(g) * S\n  S = S + beta * outer(v - S @ w, k)";
  for (double x : boundOf(update, 1, -0.5, 1, 1)) // 1 + 2
    EXPECT_NEAR(x, 3 * std::exp(-0.5), 1e-12);
}

/// What the token before left is read, so that the decay and the erased part are one factor.
TEST_F(Remains, WhatIsReadBeforeItDecays) {
  const char *update = "  S = exp(g) * S + outer(beta * v - beta * (S @ k), k)";
  for (double x : boundOf(update, 1, -0.5, 1, 0.25)) // exp(-0.5) - 0.5, and exp(-0.5) across
    EXPECT_NEAR(x, std::exp(-0.5), 1e-12);
  for (double x : boundOf(update, 1, -0.5, 1, 1))
    EXPECT_NEAR(x, 2 - std::exp(-0.5), 1e-12);
}

/// Without decay nothing need be below one; decays of channels do not stay apart where keys erase; and a second write
/// that reads what was before the first is no factor.
TEST_F(Remains, NothingIsSaid) {
  EXPECT_TRUE(boundOf("  S = S + outer(v, k)", 2, -1, 1, 1).empty());
  EXPECT_TRUE(boundOf("  S = S + beta * outer(v - S @ k, k)", 2, -1, 1, 1).empty());
  EXPECT_TRUE(boundOf("  S = S @ diag(exp(h))\n  S = S + beta * outer(v - S @ k, k)", 2, -1, 1, 1).empty());
  EXPECT_TRUE(boundOf("  S = exp(g) * S\n  S = S - outer(S @ k, k) - outer(S @ w, w)", 2, -1, 1, 1).empty());
}

} // namespace
