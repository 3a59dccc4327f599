// Every specification of examples/ as a kernel for each target, against the token-by-token interpreter.
#include "CPUTesting.h"
#include "Driver/RandomData.h"
#include "Driver/Specification.h"
#include "Interpreter/ChunkInterpreter.h"
#include "Interpreter/DGPSInterpreter.h"
#include "gmock/gmock.h"
#include <filesystem>

using namespace recur;
using interpreter::Results;
using interpreter::Sizes;

namespace {

struct Dims {
  int64_t k, v;
};

/// A kernel of one specification, for one target, dims and chunk, and its errors.
class KernelErrors {
public:
  KernelErrors(const std::string &path, Dims dims, int64_t chunk, const std::string &target,
               ElementType type = ElementType::f32)
      : type(type) {
    prepare(path, dims, chunk, target);
  }

  void prepare(const std::string &path, Dims dims, int64_t chunk, const std::string &target) {
    driver::SpecOptions options;
    options.path = path;
    auto specification = driver::Specification::open(options);
    if (!specification)
      return fail(specification.takeError());
    auto infos = (*specification)->describe();
    if (!infos)
      return fail(infos.takeError());
    frontend::InstantiationOptions instantiation;
    for (const auto &dim : (*infos)[0].dims)
      if (!dim.hasDefault || dim.name == "K" || dim.name == "V")
        instantiation.dims[dim.name] = dim.name == "V" ? dims.v : dims.k;
    if (llvm::Error error = (*specification)->compile(instantiation))
      return fail(std::move(error));
    spec = std::move(*specification);
    recurrence = spec->getRecurrences().front();
    lowered = mlir::ModuleOp::create(recurrence.getLoc());
    lowered->push_back(recurrence->clone());
    PipelineOptions pipeline;
    pipeline.chunk = chunk;
    if (mlir::failed(runStages(*lowered, nullptr, *findStage("chunk"), pipeline))) {
      message = "no chunk program";
      return;
    }
    program = *lowered->getOps<chunk::ProgramOp>().begin();
    auto cpu = lookUpCPUTarget(target);
    if (!cpu)
      return fail(cpu.takeError());
    auto object = compileCPUKernel(program, *cpu, {type, ""});
    if (!object)
      return fail(object.takeError());
    auto loaded = LoadedKernel::load(std::move(*object));
    if (!loaded)
      return fail(loaded.takeError());
    kernel.emplace(std::move(*loaded));
  }

  /// The kernel's error over what is allowed: 1e-5, or what float32 arithmetic costs a recurrence that magnifies
  /// errors, as the interpreter of the same chunk program shows when it rounds every value.
  double excessAt(const Sizes &sizes, uint64_t seed) {
    interpreter::Data data = driver::makeRandomData(recurrence, sizes, seed);
    roundTo(type, data.inputs);
    roundTo(type, data.params);
    roundTo(ElementType::f32, data.initial);
    auto want = interpreter::interpret(recurrence, data);
    if (!want) {
      ADD_FAILURE() << llvm::toString(want.takeError());
      return 1;
    }
    roundTo(type, want->outputs); // beyond a type's range there are infinities
    double error = interpreter::relativeRms(runKernel(*kernel, program, data, type), *want);
    double bound = type == ElementType::f32 ? 1e-5 : 4e-3;
    if (error <= bound)
      return error / bound;
    interpreter::ChunkOptions rounded;
    rounded.rounding = interpreter::Rounding::f32;
    auto inFloat32 = interpreter::interpret(program, data, rounded);
    if (!inFloat32) {
      ADD_FAILURE() << llvm::toString(inFloat32.takeError());
      return 1;
    }
    double allowed = 10 * interpreter::relativeRms(*inFloat32, *want);
    return std::isinf(allowed) ? 1 : error / std::max(bound, allowed); // beyond float32's range both fail
  }

  std::string message;

private:
  ElementType type;
  void fail(llvm::Error error) { message = llvm::toString(std::move(error)); }

  std::unique_ptr<driver::Specification> spec;
  dgps::RecurrenceOp recurrence;
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  chunk::ProgramOp program;
  std::optional<LoadedKernel> kernel;
};

std::vector<std::string> findExamples() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(RECUR_SOURCE_DIR "/examples"))
    if (entry.path().extension() == ".recur")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class ExampleKernel : public ::testing::TestWithParam<std::string> {
protected:
  void expectRight(Dims dims, int64_t chunk, const std::string &target, std::initializer_list<int64_t> lengths) {
    KernelErrors errors(GetParam(), dims, chunk, target);
    ASSERT_EQ(errors.message, "");
    for (int64_t tokens : lengths)
      EXPECT_LE(errors.excessAt({2, tokens, 2, 1}, 7 + tokens), 1)
          << "K=" << dims.k << " V=" << dims.v << " chunk " << chunk << " T=" << tokens << " " << target;
  }
};

TEST_P(ExampleKernel, OddSizes) { expectRight({12, 7}, 64, "host", {0, 1, 5, 63, 64, 65, 200}); }
TEST_P(ExampleKernel, OtherChunksAndAVX2) {
  expectRight({16, 20}, 16, "x86-64-v3", {1, 17, 50});
  expectRight({6, 16}, 1, "x86-64-v3", {0, 9});
}
TEST_P(ExampleKernel, ChunksThatAreNoMultipleOfABlock) { expectRight({20, 33}, 40, "host", {39, 41, 90}); }

TEST_P(ExampleKernel, HalfPrecisionData) {
  for (ElementType type : {ElementType::bf16, ElementType::f16}) {
    KernelErrors errors(GetParam(), {12, 20}, 64, "host", type);
    ASSERT_EQ(errors.message, "");
    EXPECT_LE(errors.excessAt({1, 70, 2, 1}, 3), 1);
  }
}

// Sizes around whole vectors and register tiles.
class SizedKernel : public ::testing::TestWithParam<const char *> {};
TEST_P(SizedKernel, OfManySizes) {
  std::string path = std::string(RECUR_SOURCE_DIR "/examples/") + GetParam() + ".recur";
  for (auto [k, v] : {Dims{16, 60}, Dims{60, 16}, Dims{64, 96}, Dims{100, 64}, Dims{128, 100}, Dims{128, 128}}) {
    KernelErrors errors(path, {k, v}, 64, "host");
    ASSERT_EQ(errors.message, "");
    EXPECT_LE(errors.excessAt({1, 130, 1, 1}, 5), 1) << "K=" << k << " V=" << v;
  }
}
INSTANTIATE_TEST_SUITE_P(Some, SizedKernel,
                         ::testing::Values("gated_delta_net", "kda", "rwkv7", "dfw", "gsa", "mlstm", "mesa_net",
                                           "mamba1"),
                         [](const auto &info) { return std::string(info.param); });

INSTANTIATE_TEST_SUITE_P(All, ExampleKernel, ::testing::ValuesIn(findExamples()),
                         [](const auto &info) { return std::filesystem::path(info.param).stem().string(); });

} // namespace
