// The gradient of every example's chunk program against dual numbers in the token-by-token interpreter.
#include "ChunkTesting.h"
#include "Interpreter/GradientJudge.h"
#include "Transforms/Chunk/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <filesystem>
#include <set>

using namespace recur;
using namespace recur::data;
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

class Gradient : public ChunkTest {
protected:
  /// The module's chunk program and, behind it, that of its gradient.
  mlir::OwningOpRef<mlir::ModuleOp> differentiate(mlir::ModuleOp module, int64_t size) {
    auto chunked = toChunk(module, size);
    mlir::PassManager passes(&context);
    passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
    passes.addPass(chunk::createDifferentiatePass());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createCommonInteractionsPass());
    passes.addNestedPass<chunk::ProgramOp>(chunk::createDeadStreamsPass());
    EXPECT_TRUE(mlir::succeeded(passes.run(*chunked)));
    return chunked;
  }

  static std::vector<chunk::ProgramOp> programsOf(mlir::ModuleOp module) {
    auto programs = module.getOps<chunk::ProgramOp>();
    return {programs.begin(), programs.end()};
  }

  /// Numbers of the shapes of what the recurrence gives.
  static Results drawCotangents(const Results &like, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Results cotangents = like;
    for (NamedArrays *arrays : {&cotangents.outputs, &cotangents.final})
      for (auto &[name, array] : *arrays)
        for (double &x : array.values)
          x = normal(generator);
    return cotangents;
  }
  static Data drawDirection(const Data &like, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Data direction = like;
    for (NamedArrays *arrays : {&direction.inputs, &direction.params, &direction.initial})
      for (auto &[name, array] : *arrays)
        for (double &x : array.values)
          x = normal(generator);
    return direction;
  }

  GradientError judge(mlir::ModuleOp module, mlir::ModuleOp chunked, const Data &data, unsigned seed) {
    dgps::RecurrenceOp recurrence = recurrenceOf(module);
    Results cotangents = drawCotangents(get(interpret(recurrence, data)), seed + 1);
    std::vector<chunk::ProgramOp> programs = programsOf(chunked);
    if (programs.size() != 2)
      return {INFINITY, "nothing"};
    Data gradient = get(interpretGradient(programs[0], programs[1], data, cotangents));
    return get(GradientJudge::create(recurrence, data, cotangents, drawDirection(data, seed + 2))).judge(gradient);
  }
};

class ExampleGradient : public Gradient, public ::testing::WithParamInterface<std::string> {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> example() {
    std::string path = RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return compile(path, (*buffer)->getBuffer().str(), {{"K", 6}, {"V", 5}, {"M", 4}});
  }
};

TEST_P(ExampleGradient, IsWhatDualNumbersSay) {
  auto module = example();
  ASSERT_TRUE(module);
  for (int64_t size : {16, 32, 64}) {
    auto chunked = differentiate(*module, size);
    for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
      Data data = randomData(recurrenceOf(*module), {1, tokens, 2, 1}, unsigned(tokens + size));
      GradientError error = judge(*module, *chunked, data, unsigned(tokens + size));
      EXPECT_LE(error.error, 1e-9) << "along " << error.along << " with chunks of " << size << ", " << tokens
                                   << " tokens";
    }
  }
}

/// Multiplies what decays by `steepest`, what gains by two, and makes each key nearly the one before it.
Data makeHard(Data data, double steepest) {
  for (auto &[name, array] : data.inputs) {
    llvm::StringRef known(name);
    if (known.starts_with("g") || known == "w" || known == "f")
      for (double &x : array.values)
        x *= steepest;
    if (known.starts_with("beta"))
      for (double &x : array.values)
        x *= 2;
    if (!known.starts_with("k") || array.values.empty())
      continue;
    size_t row = array.values.size() / array.shape[0] / array.shape[1];
    double length = 0;
    for (size_t i = 0; i < array.values.size(); ++i) {
      if (i >= row)
        array.values[i] = 0.9 * array.values[i - row] + 0.1 * array.values[i];
      length = std::max(length, std::fabs(array.values[i]));
    }
    for (double &x : array.values)
      x *= 0.4 / length;
  }
  return data;
}

TEST_P(ExampleGradient, IsSoOnHardData) {
  auto module = example();
  ASSERT_TRUE(module);
  auto chunked = differentiate(*module, 32);
  for (double steepest : {0.0, 20.0, 2000.0}) {
    Data data = makeHard(randomData(recurrenceOf(*module), {2, 75, 2, 1}, 7), steepest);
    GradientError error = judge(*module, *chunked, data, 9);
    EXPECT_LE(error.error, 1e-9) << "along " << error.along << " with decays down to -" << steepest;
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleGradient, ::testing::ValuesIn(listExamples()),
                         [](const auto &info) { return info.param; });

TEST_F(Gradient, OfOthersIsSeenToBeWrong) {
  auto module = compile("sum.recur", R"(recurrence sum {
  dim K
  input x: [K]
  input g
  state A: [K]
  A = exp(g) * A + x * x
  output o = A
})",
                        {{"K", 3}});
  ASSERT_TRUE(module);
  dgps::RecurrenceOp recurrence = recurrenceOf(*module);
  Data data = randomData(recurrence, {1, 20, 2, 2}, 1);
  auto chunked = differentiate(*module, 16);
  std::vector<chunk::ProgramOp> programs = programsOf(*chunked);
  Results cotangents = drawCotangents(get(interpret(recurrence, data)), 2);
  Data gradient = get(interpretGradient(programs[0], programs[1], data, cotangents));
  GradientJudge judge = get(GradientJudge::create(recurrence, data, cotangents, drawDirection(data, 3)));
  EXPECT_LE(judge.judge(gradient).error, 1e-14);
  Data wrong = gradient;
  wrong.inputs.at("g").values[11] += 1e-4;
  EXPECT_GE(judge.judge(wrong).error, 1e-8);
  EXPECT_EQ(judge.judge(wrong).along, "input g");
  wrong = gradient;
  wrong.initial.at("A").values[0] = std::nan("");
  EXPECT_EQ(judge.judge(wrong).error, INFINITY);
  wrong.initial.erase("A");
  EXPECT_EQ(judge.judge(wrong).along, "initial A");
}

/// A recurrence, and what of its data is set: a name and a number for all of it, or for one in so many.
struct Corner {
  const char *name, *text;
  std::vector<std::tuple<std::string, double, size_t>> set = {};
};

const Corner corners[] = {
    {"relu_and_abs_at_zero",
     R"(recurrence a {
  dim K
  input x: [K]
  state A: [K]
  A = 0.5 * A + relu(x) + abs(x) * max(0, x) + min(x, 1)
  output o = A + max(x, A)
})",
     {{"x", 0, 2}, {"A", 0, 1}}},
    {"norm_of_zero",
     R"(recurrence a {
  dim K
  input k: [K], v: [K]
  state S: [K, K]
  S = S + outer(v, l2norm(k)) + outer(l2norm(v), k) / (1e-3 + sum(abs(k)))
  output o = S @ k / sqrt(dot(k, k))
  output p = S @ (k * sqrt(abs(v)))
})",
     {{"v", 0, 1}}},
    {"square_root_of_zero",
     R"(recurrence a {
  dim K
  input k: [K], x
  output o = sqrt(dot(k, k)) + exp(log(x))
})",
     {{"k", 0, 1}, {"x", 0, 1}}},
    {"running_maximum_with_ties",
     R"(recurrence a {
  input f, i
  state m
  m = max(m + f, i)
  output o = exp(m)
})",
     {{"f", 0, 2}, {"i", 1, 3}, {"m", 1, 1}}},
    {"running_maximum_over_a_constant",
     R"(recurrence a {
  input f
  state m
  m = max(m + f, 0)
  output o = m * m
})",
     {{"f", 0, 3}, {"m", 0, 1}}},
    {"decays_of_zero_and_of_any_sign",
     R"(recurrence a {
  dim K, V
  input a: [K], c, k: [K], v: [V], q: [K]
  state S: [V, K]
  state n: [K]
  S = c * S @ diag(a)
  S = S + outer(v - S @ k, k)
  n = a * n + k
  output o = S @ q
  output p = dot(n, q)
})",
     {{"a", 0, 3}, {"c", 0, 7}}},
    {"logarithms_of_minus_infinity",
     R"(recurrence a {
  dim K, V
  input g: [K], h, k: [K], v: [V], q: [K]
  state S: [V, K]
  state n
  S = S @ diag(exp(g))
  S = exp(h) * S + outer(v - S @ k, k)
  n = exp(h) * n + sum(v)
  output o = n * (S @ q)
})",
     {{"g", -INFINITY, 5}, {"h", -INFINITY, 7}}},
    {"value_side_decay", R"(recurrence a {
  dim K, V
  input a: [V], b: [V], k: [K], v: [V], q: [K], x: [V]
  state S: [V, K]
  state R: [V, K]
  S = diag(a) @ S + outer(v - (diag(a) @ S) @ k, k)
  R = diag(exp(b - 2)) @ R + outer(v, k - x @ R)
  output o = S @ q + x * sum(R)
  output p = x @ R
})"},
    {"micro_steps", R"(recurrence a {
  dim K, V
  dim N = 3
  input k: [N, K], v: [N, V], beta: [N], g, q: [K]
  state S: [V, K]
  S = exp(g) * S
  for j in 0..N {
    S = S + beta[j] * outer(v[j] - S @ k[j], k[j])
  }
  output o = S @ q
})"},
    {"general_states", R"(recurrence a {
  dim K
  input x: [K], g
  param W: [K, K], b: [K], c
  state h: [K], M: [K, K]
  h = tanh(W @ h + x + b)
  M = sigmoid(g) * M + c * outer(softmax(h), x @ M)
  output o = M @ h + elu(h) * softplus(x)
})"},
    {"read_before_the_update", R"(recurrence a {
  dim K, V
  input q: [K], k: [K], v: [V], w: [K]
  param u: [K]
  state S: [V, K]
  output o = S @ q + dot(q, u * k) * v
  S = S @ diag(exp(w)) + outer(v, k)
})"},
    {"stopped", R"(recurrence a {
  dim K, V
  input q: [K], k: [K], v: [V], g
  param mu
  state S: [V, K]
  let key = l2norm(stop(k)) * k
  S = exp(stop(g)) * S + outer(v - S @ key, key)
  output o = stop(mu * q[0]) * mu * (S @ q) + stop(S @ k)
})"},
    {"conjugate_gradients", R"(recurrence a {
  dim K
  input q: [K], k: [K], g
  param ridge: [K]
  state G: [K, K]
  G = exp(g) * G + outer(k, k)
  output o = cg(G, q, ridge = exp(ridge), iterations = 40)
})"},
    {"delayed_values", R"(recurrence a {
  dim K, V
  input k: [K], v: [V], c, q: [K]
  state last: [K]
  state S: [V, K]
  S = S + outer(v - S @ last, last + k)
  last = c * k
  output o = S @ q + dot(last, k) * v
})"},
    {"states_that_change_places", R"(recurrence a {
  dim K
  input x: [K], y: [K]
  state a: [K], b: [K]
  let old = a
  a = b
  b = old
  output o = a * x + b * y
})"},
};

class CornerGradient : public Gradient, public ::testing::WithParamInterface<Corner> {};

TEST_P(CornerGradient, IsWhatDualNumbersSay) {
  auto module = compile("corner.recur", GetParam().text, {{"K", 4}, {"V", 3}});
  ASSERT_TRUE(module);
  for (int64_t size : {1, 16})
    for (int64_t tokens : {1, 7, 37}) {
      auto chunked = differentiate(*module, size);
      Data data = randomData(recurrenceOf(*module), {2, tokens, 2, 2}, 3);
      for (const auto &[name, number, every] : GetParam().set)
        for (NamedArrays *arrays : {&data.inputs, &data.initial})
          if (auto found = arrays->find(name); found != arrays->end())
            for (size_t i = 0; i < found->second.values.size(); i += every)
              found->second.values[i] = number;
      GradientError error = judge(*module, *chunked, data, 5);
      EXPECT_LE(error.error, 1e-10) << "along " << error.along << " with chunks of " << size << ", " << tokens
                                    << " tokens";
    }
}

INSTANTIATE_TEST_SUITE_P(Corners, CornerGradient, ::testing::ValuesIn(corners),
                         [](const auto &info) { return info.param.name; });

} // namespace
