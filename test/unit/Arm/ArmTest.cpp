// Kernels of Arm processors under an emulator: by every plan and type of data against the token-by-token interpreter,
// and their gradients against dual numbers. All are optimised, for it is LLVM's other code generator that is new here.
// RECUR_EVERY_EXAMPLE=1 takes all examples.
#include "../Codegen/GradientJudging.h"
#include "../Codegen/Judging.h"
#include "Compile/Choices.h"
#include "Emulated.h"
#include <cstdlib>

using namespace recur;
using namespace recur::test;
using data::Data;

namespace {

// Processors that the emulator knows: of Armv8.0, without bf16, and with all that there is.
constexpr const char *oldest = "cortex-a72", *newest = "max";

std::string getExample(llvm::StringRef name) { return (RECUR_SOURCE_DIR "/examples/" + name + ".recur").str(); }

PipelineOptions choose(llvm::StringRef targets, DataType type) {
  compile::PipelineWords words;
  words.targets = targets;
  PipelineOptions pipeline = llvm::cantFail(compile::parsePipeline(words));
  pipeline.dataTypes = type;
  pipeline.chunk = 16;
  return pipeline;
}

struct Machine {
  const char *target, *cpu;
  DataType type;
};

class Emulated : public ::testing::TestWithParam<std::string> {
protected:
  void open() {
    auto opened = openExample(GetParam(), {20, 12});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    spec = std::move(*opened);
    recurrence = spec->getRecurrences().front();
  }

  void expectRight(const Machine &machine) {
    SCOPED_TRACE(testing::Message() << machine.target << ", " << getName(machine.type).str());
    PipelineOptions pipeline = choose(machine.target, machine.type);
    pipeline.backward = true;
    auto kernels = EmulatedKernels::compile(recurrence, pipeline);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    expectRightForward(*kernels, machine);
    expectRightGradients(*kernels, machine);
  }

  /// All plans in one process, which takes longer to start than to run.
  void expectRightForward(const EmulatedKernels &kernels, const Machine &machine) {
    std::vector<recur_plan> plans = kernels.listPlans();
    EXPECT_GE(plans.size(), 2u);
    for (auto [tokens, isHard] : {std::pair<int64_t, bool>(1, false), {150, false}, {33, true}}) {
      std::vector<EmulatedReply> replies;
      for (size_t i = 0; i < plans.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "T=" << tokens << (isHard ? ", hard data" : "") << ", plan "
                                        << codegen::getPlanName(plans[i]).str());
        auto run = [&](const Data &data) {
          if (replies.empty())
            replies = call(kernels, machine, plans, data, nullptr);
          return replies[i].results;
        };
        EXPECT_TRUE(compareWithInterpreter(recurrence, {1, tokens, 2, 1}, 3 + tokens, machine.type, isHard, run));
      }
    }
  }

  void expectRightGradients(const EmulatedKernels &kernels, const Machine &machine) {
    auto stage =
        llvm::find_if(check::getGradientStages(), [](const auto &stage) { return stage.name == "gradient host"; });
    PipelineOptions judging; // how far off kernels may be, of whichever processor
    judging.chunk = 16;
    judging.dataTypes = machine.type;
    judging.effort = Effort::Quick;
    auto prepared = stage->prepare(recurrence, judging);
    ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    auto drawn = check::makeJudgedGradient(recurrence, {1, 37, 2, 2}, 11, {}, judging.dataTypes);
    ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
    ASSERT_LE(drawn->largest, *prepared->largest);
    const recur_plan plans[] = {RECUR_PLAN_CHUNK, RECUR_PLAN_SEGMENT};
    std::vector<EmulatedReply> replies = call(kernels, machine, plans, drawn->data, &drawn->cotangents);
    for (auto [plan, reply] : llvm::zip_equal(plans, replies)) {
      SCOPED_TRACE(testing::Message() << "gradient, plan " << codegen::getPlanName(plan).str());
      if (machine.type == DataType::F32)
        expectNearDualNumbers(recurrence, *prepared, *drawn, reply.gradient);
      else
        expectNearOfSixteenBits(*prepared, *drawn, reply.gradient, machine.type);
    }
  }

  /// One call of each plan.
  std::vector<EmulatedReply> call(const EmulatedKernels &kernels, const Machine &machine,
                                  llvm::ArrayRef<recur_plan> plans, const Data &data, const data::Results *cotangents) {
    std::vector<EmulatedCall> calls;
    for (recur_plan plan : plans)
      calls.push_back({&data, cotangents, plan, /*threads=*/3});
    auto replies = kernels.run(calls, machine.cpu);
    if (!replies) {
      ADD_FAILURE() << llvm::toString(replies.takeError());
      return std::vector<EmulatedReply>(calls.size());
    }
    for (const EmulatedReply &reply : *replies)
      EXPECT_EQ(reply.error, "");
    return std::move(*replies);
  }

  std::unique_ptr<driver::Specification> spec;
  dgps::RecurrenceOp recurrence;
};

TEST_P(Emulated, OfFloat32) {
  ASSERT_NO_FATAL_FAILURE(open());
  expectRight({"aarch64", oldest, DataType::F32});
}
TEST_P(Emulated, OfFloat16) {
  ASSERT_NO_FATAL_FAILURE(open());
  expectRight({"aarch64", oldest, DataType::F16});
}
TEST_P(Emulated, OfBFloat16) {
  ASSERT_NO_FATAL_FAILURE(open());
  expectRight({"aarch64-bf16", newest, DataType::BF16});
}
TEST_P(Emulated, OfBFloat16WithoutItsInstructions) {
  ASSERT_NO_FATAL_FAILURE(open());
  auto kernels = EmulatedKernels::compile(recurrence, choose("aarch64", DataType::BF16));
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  expectRightForward(*kernels, {"aarch64", oldest, DataType::BF16});
}

/// Of every class of states, and every plan.
std::vector<std::string> listEmulated() {
  if (std::getenv("RECUR_EVERY_EXAMPLE"))
    return listExamples();
  std::vector<std::string> paths;
  for (const char *name : {"gated_delta_net", "gsa", "kalman", "kda", "lru", "mamba1", "mamba2", "mesa_net", "mlstm",
                           "rwkv7", "slstm", "titans"})
    paths.push_back(getExample(name));
  return paths;
}
INSTANTIATE_TEST_SUITE_P(Some, Emulated, ::testing::ValuesIn(listEmulated()), nameOf);

/// The library's kernels, of those that a processor can run the best.
class EmulatedLibrary : public ::testing::Test {
protected:
  void compile(llvm::StringRef targets) {
    auto opened = openExample(getExample("gla"), {8, 8});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    spec = std::move(*opened);
    PipelineOptions pipeline = choose(targets, DataType::BF16);
    pipeline.effort = Effort::Quick;
    auto made = EmulatedKernels::compile(spec->getRecurrences().front(), pipeline);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    kernels.emplace(std::move(*made));
  }
  std::unique_ptr<driver::Specification> spec;
  std::optional<EmulatedKernels> kernels;
};

TEST_F(EmulatedLibrary, OfSeveralTargetsTakesTheBestThatThereIs) {
  ASSERT_NO_FATAL_FAILURE(compile("aarch64,aarch64-bf16"));
  EXPECT_EQ(llvm::cantFail(kernels->select(oldest)), "aarch64");
  EXPECT_EQ(llvm::cantFail(kernels->select(newest)), "aarch64-bf16");
}

TEST_F(EmulatedLibrary, IsRefusedWhereInstructionsAreMissing) {
  ASSERT_NO_FATAL_FAILURE(compile("aarch64-bf16"));
  EXPECT_EQ(llvm::cantFail(kernels->select(oldest)), "");
  Data data = check::makeRandomData(spec->getRecurrences().front(), {1, 3, 2, 1}, 1);
  auto replies = kernels->run(EmulatedCall{&data}, oldest);
  ASSERT_TRUE(bool(replies)) << llvm::toString(replies.takeError());
  EXPECT_EQ(replies->front().error, "gla was compiled for 'aarch64-bf16', and this processor lacks instructions of it; "
                                    "build with a lower --target, such as aarch64");
}

/// What every third example is compiled to: an object of the architecture, in which nothing is left open but the
/// runtime.
class CompiledForArm : public ::testing::TestWithParam<std::string> {};
TEST_P(CompiledForArm, LinksWithTheRuntimeAlone) {
  auto spec = openExample(GetParam(), {16, 12});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  PipelineOptions pipeline = choose("aarch64-bf16", DataType::BF16);
  pipeline.backward = true;
  pipeline.effort = Effort::Quick;
  auto kernels = EmulatedKernels::compile((*spec)->getRecurrences().front(), pipeline);
  EXPECT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
}
INSTANTIATE_TEST_SUITE_P(Some, CompiledForArm, ::testing::ValuesIn(listExamplesOfTurn(0, 3)), nameOf);

} // namespace
