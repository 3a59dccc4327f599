// The gradient of every example's chunk program against dual numbers in the token-by-token interpreter.
#include "../Examples.h"
#include "ChunkTesting.h"
#include "Interpreter/GradientJudge.h"
#include "Transforms/Chunk/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

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
    return compile(path, test::readExample(path), {{"K", 6}, {"V", 5}, {"M", 4}});
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

INSTANTIATE_TEST_SUITE_P(Examples, ExampleGradient, ::testing::ValuesIn(test::nameExamples()),
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

/// What of a recurrence's data is set: a number for all of an array, or for one in so many.
struct Planted {
  llvm::StringRef recurrence, array;
  double number;
  size_t every;
};

constexpr Planted planted[] = {
    {"relu_and_abs_at_zero", "x", 0, 2},
    {"relu_and_abs_at_zero", "A", 0, 1},
    {"norm_of_zero", "v", 0, 1},
    {"square_root_of_zero", "k", 0, 1},
    {"square_root_of_zero", "x", 0, 1},
    {"running_maximum_with_ties", "f", 0, 2},
    {"running_maximum_with_ties", "i", 1, 3},
    {"running_maximum_with_ties", "m", 1, 1},
    {"running_maximum_over_a_constant", "f", 0, 3},
    {"running_maximum_over_a_constant", "m", 0, 1},
    {"decays_of_zero_and_of_any_sign", "a", 0, 3},
    {"decays_of_zero_and_of_any_sign", "c", 0, 7},
    {"logarithms_of_minus_infinity", "g", -INFINITY, 5},
    {"logarithms_of_minus_infinity", "h", -INFINITY, 7},
};

constexpr const char *cornersPath = RECUR_SOURCE_DIR "/test/unit/Chunk/Inputs/corners.recur";

/// The texts of the recurrences of the file, by their names.
std::map<std::string, std::string> readCorners() {
  std::map<std::string, std::string> corners;
  auto buffer = llvm::MemoryBuffer::getFile(cornersPath);
  auto [comment, rest] = (*buffer)->getBuffer().split("\nrecurrence ");
  while (!rest.empty()) {
    auto [text, others] = rest.split("\nrecurrence ");
    corners[text.split(' ').first.str()] = "recurrence " + text.str();
    rest = others;
  }
  return corners;
}

std::vector<std::string> listCorners() {
  std::vector<std::string> names;
  for (const auto &[name, text] : readCorners())
    names.push_back(name);
  return names;
}

class CornerGradient : public Gradient, public ::testing::WithParamInterface<std::string> {};

TEST_P(CornerGradient, IsWhatDualNumbersSay) {
  auto module = compile(cornersPath, readCorners().at(GetParam()), {{"K", 4}, {"V", 3}});
  ASSERT_TRUE(module);
  for (int64_t size : {1, 16})
    for (int64_t tokens : {1, 7, 37}) {
      auto chunked = differentiate(*module, size);
      Data data = randomData(recurrenceOf(*module), {2, tokens, 2, 2}, 3);
      for (const Planted &plant : planted) {
        if (plant.recurrence != GetParam())
          continue;
        NamedArrays &arrays = data.inputs.count(plant.array.str()) ? data.inputs : data.initial;
        std::vector<double> &values = arrays.at(plant.array.str()).values;
        for (size_t i = 0; i < values.size(); i += plant.every)
          values[i] = plant.number;
      }
      GradientError error = judge(*module, *chunked, data, 5);
      EXPECT_LE(error.error, 1e-10) << "along " << error.along << " with chunks of " << size << ", " << tokens
                                    << " tokens";
    }
}

INSTANTIATE_TEST_SUITE_P(Corners, CornerGradient, ::testing::ValuesIn(listCorners()),
                         [](const auto &info) { return info.param; });

TEST(Corners, AreThoseThatNumbersArePlantedIn) {
  std::map<std::string, std::string> corners = readCorners();
  EXPECT_EQ(corners.size(), 17u);
  for (const Planted &plant : planted)
    EXPECT_EQ(corners.count(plant.recurrence.str()), 1u) << plant.recurrence.str();
}

} // namespace
