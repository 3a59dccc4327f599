// The chunkwise form against sums written out here, where decays are extreme and keys are alike, exactly and in
// float32.
#include "ChunkTesting.h"
#include "Interpreter/ChunkMeaning.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

constexpr int64_t K = 8, V = 5;
const double infinity = std::numeric_limits<double>::infinity();

/// The gated delta rule with one step a token or one a channel, or, without erasing, gated linear attention.
struct Problem {
  int64_t tokens = 0, chunk = 0;
  bool perChannel = false, linear = false, erases = true;
  std::vector<double> q, k, v, decay, beta, initial;

  int64_t decays() const { return perChannel ? K : 1; }
};

/// Keys of unit length whose pairwise inner products are about `correlation`.
Problem makeProblem(int64_t tokens, int64_t chunk, double correlation, double largestBeta, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  Problem problem;
  problem.tokens = tokens;
  problem.chunk = chunk;
  std::vector<double> common(K);
  for (double &x : common)
    x = normal(generator);
  auto unitRows = [&](std::vector<double> &rows, double share) {
    rows.resize(tokens * K);
    for (int64_t t = 0; t < tokens; ++t) {
      double square = 0;
      for (int64_t c = 0; c < K; ++c) {
        rows[t * K + c] = std::sqrt(share) * common[c] + std::sqrt(1 - share) * normal(generator);
        square += rows[t * K + c] * rows[t * K + c];
      }
      for (int64_t c = 0; c < K; ++c)
        rows[t * K + c] /= std::sqrt(square);
    }
  };
  unitRows(problem.k, correlation);
  unitRows(problem.q, 0);
  for (int64_t i = 0; i < tokens * V; ++i)
    problem.v.push_back(normal(generator));
  for (int64_t t = 0; t < tokens; ++t)
    problem.beta.push_back(largestBeta * uniform(generator));
  for (int64_t i = 0; i < V * K; ++i)
    problem.initial.push_back(normal(generator));
  return problem;
}

void setDecay(Problem &problem, bool perChannel, const std::function<double(int64_t token, int64_t channel)> &step) {
  problem.perChannel = perChannel;
  problem.decay.clear();
  for (int64_t t = 0; t < problem.tokens; ++t)
    for (int64_t c = 0; c < problem.decays(); ++c)
      problem.decay.push_back(step(t, c));
}

/// Token by token, as the rule is written.
Results runSequentially(const Problem &p) {
  std::vector<double> state = p.initial, outputs;
  for (int64_t t = 0; t < p.tokens; ++t) {
    for (int64_t i = 0; i < V; ++i)
      for (int64_t c = 0; c < K; ++c) {
        double step = p.decay[t * p.decays() + (p.perChannel ? c : 0)];
        state[i * K + c] *= p.linear ? step : std::exp(step);
      }
    for (int64_t i = 0; i < V; ++i) {
      double read = 0;
      for (int64_t c = 0; c < K; ++c)
        read += state[i * K + c] * p.k[t * K + c];
      double written = p.beta[t] * (p.v[t * V + i] - (p.erases ? read : 0));
      for (int64_t c = 0; c < K; ++c)
        state[i * K + c] += written * p.k[t * K + c];
    }
    for (int64_t i = 0; i < V; ++i) {
      double read = 0;
      for (int64_t c = 0; c < K; ++c)
        read += state[i * K + c] * p.q[t * K + c];
      outputs.push_back(read);
    }
  }
  Results results;
  results.outputs["o"] = {{1, p.tokens, 1, V}, outputs};
  results.final["S"] = {{1, 1, V, K}, state};
  return results;
}

class Numerics : public ChunkTest {
protected:
  /// The problem's rule of Rules.recur, as a chunk program.
  mlir::OwningOpRef<mlir::ModuleOp> derive(const Problem &p) {
    std::string name =
        std::string(p.erases ? "delta" : "attention") + (p.perChannel ? "_channels" : "") + (p.linear ? "_linear" : "");
    auto text = llvm::MemoryBuffer::getFile(RECUR_SOURCE_DIR "/test/unit/Chunk/Rules.recur");
    mlir::OwningOpRef<mlir::ModuleOp> rules = compile("Rules.recur", (*text)->getBuffer().str(), {{"K", K}, {"V", V}});
    for (auto rule : llvm::make_early_inc_range(rules->getOps<dgps::RecurrenceOp>()))
      if (rule.getSymName() != name)
        rule.erase();
    return toChunk(*rules, p.chunk);
  }

  Results runChunkwise(const Problem &p, Rounding rounding) {
    Data data;
    data.sizes = {1, p.tokens, 1, 1};
    data.inputs["q"] = {{1, p.tokens, 1, K}, p.q};
    data.inputs["k"] = {{1, p.tokens, 1, K}, p.k};
    data.inputs["v"] = {{1, p.tokens, 1, V}, p.v};
    data.inputs["g"] = {{1, p.tokens, 1}, p.decay};
    if (p.perChannel)
      data.inputs["g"].shape.push_back(K);
    data.inputs["beta"] = {{1, p.tokens, 1}, p.beta};
    data.initial["S"] = {{1, 1, V, K}, p.initial};
    ChunkOptions options;
    options.rounding = rounding;
    return get(interpret(programOf(*derive(p)), data, options));
  }

  void expectEqual(const Problem &problem, const std::string &what) {
    Results want = runSequentially(problem);
    EXPECT_LE(relativeRms(runChunkwise(problem, Rounding::exact), want), 1e-11) << what;
    EXPECT_LE(relativeRms(runChunkwise(problem, Rounding::f32), want), 1e-5) << what << ", in float32";
  }
};

TEST_F(Numerics, AnyDecayInLogSpace) {
  const std::pair<const char *, std::function<double(int64_t, int64_t)>> decays[] = {
      {"mild", [](int64_t t, int64_t c) { return -0.01 * double((7 * t + 3 * c) % 11); }},
      {"exactly none", [](int64_t, int64_t) { return 0.0; }},
      {"-20 each", [](int64_t, int64_t) { return -20.0; }},
      {"-2000 once", [](int64_t t, int64_t c) { return t % 37 == 9 && c % 2 == 0 ? -2000.0 : -0.05; }},
      {"zero at times", [](int64_t t, int64_t c) { return t % 19 == 5 && c % 3 == 0 ? -infinity : -0.1; }},
      {"zero twice in a row", [](int64_t t, int64_t) { return t % 23 < 2 ? -infinity : -0.3; }},
      {"some channels fast", [](int64_t, int64_t c) { return c % 2 ? -12.0 : -0.001; }},
  };
  for (int64_t chunk : {16, 32, 64, 128})
    for (bool perChannel : {false, true})
      for (bool erases : {false, true})
        for (const auto &[name, step] : decays) {
          Problem problem = makeProblem(150, chunk, 0, 1, 1);
          problem.erases = erases;
          setDecay(problem, perChannel, step);
          expectEqual(problem, std::string(name) + (perChannel ? ", per channel" : ", one a token") + ", chunks of " +
                                   std::to_string(chunk));
        }
}

TEST_F(Numerics, DecaysOfAnySignAndZero) {
  for (int64_t chunk : {16, 64})
    for (bool perChannel : {false, true}) {
      Problem problem = makeProblem(130, chunk, 0, 1, 2);
      problem.linear = true;
      setDecay(problem, perChannel,
               [](int64_t t, int64_t c) { return t % 29 == 3 ? 0.0 : ((t + c) % 3 == 0 ? -0.9 : 0.95); });
      expectEqual(problem, "signs change, chunks of " + std::to_string(chunk));
    }
}

TEST_F(Numerics, AlikeKeysAndStrongErasing) {
  for (double largestBeta : {1.0, 2.0}) {
    Problem problem = makeProblem(256, 64, 0.9, largestBeta, 3);
    setDecay(problem, false, [](int64_t, int64_t) { return 0.0; });
    expectEqual(problem, "correlation 0.9, beta up to " + std::to_string(largestBeta));
  }
}

TEST_F(Numerics, RoundedOperandsStayWithinTheTargets) {
  Problem problem = makeProblem(256, 64, 0, 1, 4);
  setDecay(problem, false, [](int64_t t, int64_t) { return -0.02 * double(t % 5); });
  Results want = runSequentially(problem);
  double bf16 = relativeRms(runChunkwise(problem, Rounding::bf16), want);
  double f16 = relativeRms(runChunkwise(problem, Rounding::f16), want);
  double tf32 = relativeRms(runChunkwise(problem, Rounding::tf32), want);
  EXPECT_LE(bf16, 8e-3);
  EXPECT_GE(bf16, 2e-4) << "nothing was rounded";
  EXPECT_LE(f16, bf16 / 4);
  EXPECT_LE(tf32, bf16 / 4);
  EXPECT_GE(f16, 2e-5) << "nothing was rounded";
}

/// The inverse of I + L in float32 against the definition, in float64.
TEST_F(Numerics, InverseKeepsItsDigitsForAlikeKeys) {
  Problem problem = makeProblem(128, 128, 0.9, 2, 5);
  int64_t rows = problem.tokens;
  Array keys{{rows, K}, problem.k};
  Array matrix = evaluateInteraction(Arithmetic(Rounding::exact), keys, keys, {{0}, {0}}, {});
  for (int64_t i = 0; i < rows * rows; ++i)
    matrix.values[i] = float(matrix.values[i] * problem.beta[i / rows]);
  Array inverse = evaluateInverse(Arithmetic(Rounding::f32), matrix, nullptr);
  Array want = evaluateInverse(Arithmetic(Rounding::exact), matrix, nullptr);
  EXPECT_LE(relativeRms(inverse, want), 1e-5);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      double sum = want.values[i * rows + j];
      for (int64_t m = 0; m < i; ++m)
        sum += matrix.values[i * rows + m] * want.values[m * rows + j];
      ASSERT_NEAR(sum, i == j ? 1 : 0, 1e-12);
    }
}

TEST(ChunkArithmetic, RoundsToTheNearestOfEachFormat) {
  EXPECT_EQ(Arithmetic(Rounding::exact).operand(1 + 0x1p-50), 1 + 0x1p-50);
  EXPECT_EQ(Arithmetic(Rounding::f32).operand(1 + 0x1p-50), 1);
  EXPECT_EQ(Arithmetic(Rounding::bf16).operand(1 + 0x1p-8), 1); // a tie goes to the even neighbour
  EXPECT_EQ(Arithmetic(Rounding::bf16).operand(1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(Arithmetic(Rounding::bf16).operand(-1 - 0x1p-7), -1 - 0x1p-7);
  EXPECT_EQ(Arithmetic(Rounding::tf32).operand(1 + 0x1p-11), 1);
  EXPECT_EQ(Arithmetic(Rounding::tf32).operand(1 + 0x1p-10), 1 + 0x1p-10);
  EXPECT_EQ(Arithmetic(Rounding::f16).operand(65519), 65504);
  EXPECT_EQ(Arithmetic(Rounding::f16).operand(65520), infinity);
  EXPECT_EQ(Arithmetic(Rounding::f16).operand(0x1p-25), 0);
  EXPECT_EQ(Arithmetic(Rounding::f16).operand(3 * 0x1p-26), 0x1p-24);
  EXPECT_EQ(Arithmetic(Rounding::bf16).multiplyAdd(1, 0x1p-13, 0x1p-13), 1); // the accumulator is float32
}

} // namespace
