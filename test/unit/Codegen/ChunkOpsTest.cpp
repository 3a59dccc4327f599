// Single ops of chunk programs as kernels, against the interpreter of chunk programs; and how exact the functions are.
#include "../IRFile.h"
#include "../ProgramData.h"
#include "CPUTesting.h"
#include "Interpreter/ChunkInterpreter.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace recur;
using namespace recur::data;
using namespace recur::interpreter;

namespace {

using ProgramFile = test::IRFile<chunk::ChunkDialect>;

/// One that is not there where the file cannot be read, so that a test fails.
std::vector<std::string> listChunkOps() {
  std::vector<std::string> names = ProgramFile("Codegen/ChunkOps.mlir").listNames<chunk::ProgramOp>();
  return names.empty() ? std::vector<std::string>{"unreadable"} : names;
}

class ChunkOps : public ::testing::TestWithParam<std::string> {
protected:
  std::optional<LoadedKernel> compile(llvm::StringRef target) {
    PipelineOptions pipeline;
    pipeline.target = findTarget(target).value();
    pipeline.symbol = "ops_kernel";
    auto object = compileCPUKernel(program, pipeline);
    if (!object) {
      ADD_FAILURE() << llvm::toString(object.takeError());
      return std::nullopt;
    }
    EXPECT_EQ(object->symbol, "ops_kernel");
    auto loaded = LoadedKernel::load(std::move(*object));
    if (!loaded) {
      ADD_FAILURE() << llvm::toString(loaded.takeError());
      return std::nullopt;
    }
    return std::move(*loaded);
  }

  /// Numbers in [-1, 1]; in [-1, 0] for names that begin with `log`.
  Data makeData(int64_t tokens) {
    return test::drawProgramData(program, {1, tokens, 2, 2}, unsigned(tokens), [](llvm::StringRef name, double number) {
      return double(float(name.starts_with("log") ? (number - 1) / 2 : number));
    });
  }

  ProgramFile file{"Codegen/ChunkOps.mlir"};
  chunk::ProgramOp program = file.find<chunk::ProgramOp>(GetParam());
};

TEST_P(ChunkOps, AsInterpreted) {
  ASSERT_TRUE(program);
  for (llvm::StringRef target : {"host", "x86-64-v3"}) {
    auto kernel = compile(target);
    ASSERT_TRUE(kernel);
    for (int64_t tokens : {0, 1, 23, 24, 25, 60}) {
      Data data = makeData(tokens);
      auto want = interpret(program, data);
      ASSERT_TRUE(bool(want)) << llvm::toString(want.takeError());
      EXPECT_LE(relativeRms(runKernel(*kernel, program, data), *want), 1e-5)
          << target.str() << ", " << tokens << " tokens";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ChunkOps, ::testing::ValuesIn(listChunkOps()),
                         [](const auto &info) { return info.param; });

// Each function over a grid of numbers; the errors are what the emitted polynomials and their float32 arithmetic cost.
struct FunctionCase {
  const char *name;
  double (*exact)(double);
  double low, high;
  double relative, absolute; // |error| <= relative |exact| + absolute
};
class FunctionTest : public ::testing::TestWithParam<FunctionCase> {};

TEST_P(FunctionTest, IsExactEnough) {
  FunctionCase given = GetParam();
  ProgramFile file("Codegen/Functions.mlir");
  auto program = file.find<chunk::ProgramOp>(given.name);
  ASSERT_TRUE(program);
  for (const char *target : {"host", "x86-64-v3"}) {
    PipelineOptions pipeline;
    pipeline.target = findTarget(target).value();
    auto object = compileCPUKernel(program, pipeline);
    ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
    auto kernel = LoadedKernel::load(std::move(*object));
    ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
    constexpr int64_t tokens = 4096;
    Data data;
    data.sizes = {1, tokens, 1, 1};
    Array x{{1, tokens, 1, 16}, std::vector<double>(tokens * 16)};
    for (size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = float(given.low + (given.high - given.low) * double(i) / double(x.values.size() - 1));
    data.inputs["x"] = x;
    Array y = runKernel(*kernel, program, data).outputs["y"];
    double worst = 0;
    for (size_t i = 0; i < x.values.size(); ++i) {
      double want = given.exact(x.values[i]);
      worst = std::max(worst, std::fabs(y.values[i] - want) / (given.relative * std::fabs(want) + given.absolute));
    }
    EXPECT_LE(worst, 1) << target;
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double elu(double x) { return x > 0 ? x : std::expm1(x); }

INSTANTIATE_TEST_SUITE_P(
    All, FunctionTest,
    ::testing::Values(
        FunctionCase{"exp", std::exp, -86, 88, 2e-7, 0}, FunctionCase{"exp", std::exp, -200, -86, 0, 1e-36},
        FunctionCase{"expm1", std::expm1, -30, 80, 3e-7, 0}, FunctionCase{"expm1", std::expm1, -1e-3, 1e-3, 3e-7, 0},
        FunctionCase{"log", std::log, 1e-6, 4, 2e-7, 1e-8}, FunctionCase{"log", std::log, 4, 1e30, 2e-7, 0},
        FunctionCase{"sin", std::sin, -1e4, 1e4, 0, 1.7e-7}, FunctionCase{"cos", std::cos, -1e4, 1e4, 0, 1.7e-7},
        FunctionCase{"tanh", std::tanh, -12, 12, 4e-7, 0}, FunctionCase{"tanh", std::tanh, -1e-2, 1e-2, 4e-7, 0},
        FunctionCase{"sigmoid", sigmoid, -80, 80, 4e-7, 0}, FunctionCase{"softplus", softplus, -40, 40, 4e-7, 1e-38},
        FunctionCase{"erf", std::erf, -6, 6, 3e-7, 0}, FunctionCase{"floor", std::floor, -100, 100, 0, 0},
        FunctionCase{"elu", elu, -20, 20, 3e-7, 0}, FunctionCase{"sqrt", std::sqrt, 0, 100, 1e-7, 0}));

} // namespace
