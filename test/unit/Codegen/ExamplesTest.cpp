// Every specification of examples/ as a chunk kernel for each target, against the token-by-token interpreter. What a
// kernel computes is decided before LLVM optimises it, which takes several times as long as all the rest: PlansTest.cpp
// has optimised kernels of every plan, and here are some of pairs.
#include "CPUTesting.h"
#include "Judging.h"
#include "gmock/gmock.h"

using namespace recur;
using data::Data;

namespace {

/// A kernel of one specification, for one target, dims and chunk.
class ExampleKernel {
public:
  static llvm::Expected<ExampleKernel> compile(const std::string &path, Dims dims, int64_t chunk,
                                               const std::string &target, DataType type, Effort effort) {
    ExampleKernel example;
    auto specification = openExample(path, dims);
    if (!specification)
      return specification.takeError();
    example.spec = std::move(*specification);
    example.recurrence = example.spec->getRecurrences().front();
    example.lowered = mlir::ModuleOp::create(example.recurrence.getLoc());
    example.lowered->push_back(example.recurrence->clone());
    PipelineOptions pipeline;
    pipeline.target = findTarget(target).value();
    pipeline.dataTypes = example.type = type;
    pipeline.chunk = chunk;
    pipeline.effort = effort;
    if (mlir::failed(runStages(*example.lowered, nullptr, *findStage("chunk"), pipeline)))
      return llvm::createStringError("no chunk program");
    example.program = *example.lowered->getOps<chunk::ProgramOp>().begin();
    auto object = compileCPUKernel(example.program, pipeline);
    if (!object)
      return object.takeError();
    auto loaded = LoadedKernel::load(std::move(*object));
    if (!loaded)
      return loaded.takeError();
    example.kernel.emplace(std::move(*loaded));
    return std::move(example);
  }

  bool compareAt(const data::Sizes &sizes, uint64_t seed, bool isHard) const {
    return compareWithInterpreter(recurrence, sizes, seed, type, isHard,
                                  [&](const Data &data) { return runKernel(*kernel, program, data, type); });
  }

private:
  DataType type = DataType::F32;
  std::unique_ptr<driver::Specification> spec;
  dgps::RecurrenceOp recurrence;
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  mutable chunk::ProgramOp program;
  std::optional<LoadedKernel> kernel;
};

/// Compares the kernel at each length, on tame data and, if asked, on hard data too.
void expectRight(const std::string &path, Dims dims, int64_t chunk, const std::string &target,
                 std::initializer_list<int64_t> lengths, std::initializer_list<bool> isHard = {false},
                 data::Sizes sizes = {2, 0, 2, 1}, DataType type = DataType::F32, Effort effort = Effort::Quick) {
  auto kernel = ExampleKernel::compile(path, dims, chunk, target, type, effort);
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  size_t compared = 0;
  for (bool isHardOne : isHard)
    for (int64_t tokens : lengths) {
      SCOPED_TRACE(testing::Message() << "K=" << dims.k << " V=" << dims.v << " chunk " << chunk << " T=" << tokens
                                      << " " << target << (isHardOne ? ", hard data" : ""));
      sizes.tokens = tokens;
      compared += kernel->compareAt(sizes, 7 + tokens, isHardOne);
    }
  EXPECT_EQ(compared, lengths.size() * isHard.size()) << "not every case was compared";
}

class Example : public ::testing::TestWithParam<std::string> {};

TEST_P(Example, OddSizes) { expectRight(GetParam(), {12, 7}, 64, "host", {0, 1, 5, 63, 64, 65, 200}, {false, true}); }
TEST_P(Example, WideHeads) {
  expectRight(GetParam(), {16, 256}, 64, "host", {65}, {false}, {1, 0, 2, 1});
  expectRight(GetParam(), {129, 65}, 64, "host", {65}, {false, true}, {1, 0, 1, 1});
}
TEST_P(Example, OtherChunksAndAVX2) {
  expectRight(GetParam(), {16, 20}, 16, "x86-64-v3", {1, 17, 50}, {false, true});
  expectRight(GetParam(), {6, 16}, 1, "x86-64-v3", {0, 9});
}
TEST_P(Example, ChunksThatAreNoMultipleOfABlock) { expectRight(GetParam(), {20, 33}, 40, "host", {39, 41, 90}); }
TEST_P(Example, HalfPrecisionData) {
  for (DataType type : {DataType::BF16, DataType::F16})
    expectRight(GetParam(), {12, 20}, 64, "host", {70}, {false}, {1, 0, 2, 1}, type);
}
// States with as many keys as a chunk has tokens: they are rounded for products of pairs where the processor has them.
class ExampleOfHalfPrecision : public ::testing::TestWithParam<std::string> {};
TEST_P(ExampleOfHalfPrecision, States) {
  expectRight(GetParam(), {64, 36}, 64, "host", {70}, {false}, {1, 0, 1, 1}, DataType::BF16, Effort::Full);
  expectRight(GetParam(), {24, 37}, 16, "host", {39}, {false}, {1, 0, 1, 1}, DataType::BF16);
  // Keys of a single pair. A state of four numbers is no mean of many errors of rounding: 32 heads are.
  expectRight(GetParam(), {2, 3}, 16, "host", {39}, {false}, {8, 0, 4, 1}, DataType::BF16);
}

INSTANTIATE_TEST_SUITE_P(All, Example, ::testing::ValuesIn(test::listExamples()), nameOf);
INSTANTIATE_TEST_SUITE_P(Some, ExampleOfHalfPrecision, ::testing::ValuesIn(test::listExamplesOfTurn(0, 2)), nameOf);

// Sizes around whole vectors and register tiles.
class SizedKernel : public ::testing::TestWithParam<const char *> {};
TEST_P(SizedKernel, OfManySizes) {
  std::string path = std::string(RECUR_SOURCE_DIR "/examples/") + GetParam() + ".recur";
  for (Dims dims : {Dims{16, 60}, Dims{60, 16}, Dims{64, 96}, Dims{100, 64}, Dims{128, 100}, Dims{128, 128}})
    expectRight(path, dims, 64, "host", {130}, {false}, {1, 0, 1, 1});
}
INSTANTIATE_TEST_SUITE_P(Some, SizedKernel,
                         ::testing::Values("gated_delta_net", "kda", "rwkv7", "dfw", "gsa", "mlstm", "mesa_net",
                                           "mamba1"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
