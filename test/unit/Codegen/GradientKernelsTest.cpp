// Kernels of gradients against dual numbers, and that what they compute does not depend on how they are called.
#include "GradientJudging.h"
#include "Judging.h"

using namespace recur;
using data::Data;
using data::NamedArrays;
using data::Sizes;
using engine::HostCall;
using engine::HostEngine;

namespace {

class GradientKernels : public ::testing::TestWithParam<std::string> {};

/// Of sequences as a whole, or of 3 chunks and more, by segments.
void expectWhatDualNumbersSay(const std::string &example, llvm::StringRef name, llvm::ArrayRef<int64_t> lengths) {
  auto spec = openExample(example, {20, 12});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.chunk = 16;
  if (name == "gradient host segments") // which are twice as many kernels
    pipeline.effort = Effort::Quick;
  auto stage = llvm::find_if(check::getGradientStages(), [&](const auto &stage) { return stage.name == name; });
  auto prepared = stage->prepare(recurrence, pipeline);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  bool shares = llvm::any_of(recurrence.getInputs(), [](dgps::InputOp input) { return input.getShared(); });
  for (int64_t tokens : lengths)
    for (const data::Difficulty &difficulty : {data::Difficulty(), check::getHardDifficulty()}) {
      auto drawn = check::makeJudgedGradient(recurrence, {2, tokens, 4, shares ? 2 : 4}, tokens + 3, difficulty,
                                             pipeline.dataTypes);
      ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
      if (drawn->largest > *prepared->largest)
        continue;
      auto gradient = prepared->run(drawn->data, drawn->cotangents);
      ASSERT_TRUE(bool(gradient)) << llvm::toString(gradient.takeError());
      expectNearDualNumbers(recurrence, *prepared, *drawn, *gradient);
    }
}

TEST_P(GradientKernels, AreWhatDualNumbersSay) { expectWhatDualNumbersSay(GetParam(), "gradient host", {0, 1, 37}); }

// Each example by segments or with numbers of 16 bits.
class GradientKernelsBySegments : public ::testing::TestWithParam<std::string> {};
TEST_P(GradientKernelsBySegments, AreWhatDualNumbersSay) {
  expectWhatDualNumbersSay(GetParam(), "gradient host segments", {37, 70});
}

INSTANTIATE_TEST_SUITE_P(All, GradientKernels, ::testing::ValuesIn(test::listExamples()), nameOf);
INSTANTIATE_TEST_SUITE_P(Some, GradientKernelsBySegments, ::testing::ValuesIn(test::listExamplesOfTurn(0, 2)), nameOf);

class GradientKernelsOfSixteenBits : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Some, GradientKernelsOfSixteenBits, ::testing::ValuesIn(test::listExamplesOfTurn(1, 2)),
                         nameOf);
TEST_P(GradientKernelsOfSixteenBits, AreNear) {
  auto spec = openExample(GetParam(), {20, 12});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  auto stage =
      llvm::find_if(check::getGradientStages(), [](const auto &stage) { return stage.name == "gradient host"; });
  for (DataType type : {DataType::BF16, DataType::F16}) {
    PipelineOptions pipeline;
    pipeline.chunk = 16;
    pipeline.dataTypes = type;
    pipeline.effort = Effort::Quick;
    auto prepared = stage->prepare(recurrence, pipeline);
    ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    auto drawn = check::makeJudgedGradient(recurrence, {1, 37, 2, 2}, 11, {}, type);
    ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
    ASSERT_LE(drawn->largest, *prepared->largest);
    Data got = llvm::cantFail(prepared->run(drawn->data, drawn->cotangents));
    expectNearOfSixteenBits(*prepared, *drawn, got, type);
  }
}

/// Tokens [begin, end) of arrays with tokens, as a batch of one.
NamedArrays takeTokens(const NamedArrays &arrays, int64_t begin, int64_t end) {
  NamedArrays result;
  for (const auto &[name, array] : arrays) {
    int64_t width = int64_t(array.values.size()) / array.shape[1];
    Array part{array.shape, {array.values.begin() + begin * width, array.values.begin() + end * width}};
    part.shape[1] = end - begin;
    result[name] = std::move(part);
  }
  return result;
}
NamedArrays takeSequence(const NamedArrays &arrays, int64_t sequence) {
  NamedArrays result;
  for (const auto &[name, array] : arrays) {
    int64_t width = int64_t(array.values.size()) / array.shape[0];
    Array part{array.shape, {array.values.begin() + sequence * width, array.values.begin() + (sequence + 1) * width}};
    part.shape[0] = 1;
    result[name] = std::move(part);
  }
  return result;
}

void expectSame(const NamedArrays &a, const NamedArrays &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, array] : a)
    EXPECT_EQ(array.values, b.at(name).values) << name;
}
void expectSame(const Data &a, const Data &b) {
  expectSame(a.inputs, b.inputs);
  expectSame(a.params, b.params);
  expectSame(a.initial, b.initial);
}

/// A recurrence, its kernels, and data.
class GradientCalls : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override { open(Plan::Step); } // of the kernels forward, the fewest
  void open(Plan plan) {
    auto opened = openExample(std::string(RECUR_SOURCE_DIR "/examples/") + GetParam(), {20, 12});
    ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
    spec = std::move(*opened);
    PipelineOptions pipeline;
    pipeline.chunk = 16;
    pipeline.backward = true;
    pipeline.plan = plan;
    auto made = HostEngine::create(spec->getRecurrences().front(), pipeline);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    engine = std::move(*made);
  }
  Data run(const Data &data, const data::Results &cotangents, const HostCall &how) {
    auto gradient = engine->runGradient(data, cotangents, how);
    EXPECT_TRUE(bool(gradient)) << llvm::toString(gradient.takeError());
    return gradient ? std::move(*gradient) : Data{};
  }
  check::JudgedGradient draw(const Sizes &sizes) {
    return llvm::cantFail(check::makeJudgedGradient(spec->getRecurrences().front(), sizes, 5, {}, DataType::F32));
  }

  std::unique_ptr<driver::Specification> spec;
  std::shared_ptr<HostEngine> engine;
};

TEST_P(GradientCalls, DoNotDependOnThreadsOrWorkspace) {
  check::JudgedGradient drawn = draw({2, 150, 4, 2});
  Data all = run(drawn.data, drawn.cotangents, {.threads = 1});
  expectSame(all, run(drawn.data, drawn.cotangents, {.threads = 3}));
  for (int64_t bytes : {1, 200'000, 300'000})
    expectSame(all, run(drawn.data, drawn.cotangents, {.threads = 2, .workspaceBytes = bytes}));
}

TEST_P(GradientCalls, OfPackedSequencesAreThoseOfEach) {
  check::JudgedGradient drawn = draw({1, 100, 4, 2});
  HostCall packed{.threads = 2, .offsets = {0, 37, 37, 100}};
  check::JudgedGradient states = draw({3, 1, 4, 2});
  drawn.data.initial = states.data.initial;
  drawn.cotangents.final = states.cotangents.final;
  Data all = run(drawn.data, drawn.cotangents, packed);
  for (int64_t sequence = 0; sequence < 3; ++sequence) {
    int64_t begin = packed.offsets[sequence], end = packed.offsets[sequence + 1];
    Data own{{1, end - begin, 4, 2},
             takeTokens(drawn.data.inputs, begin, end),
             drawn.data.params,
             takeSequence(drawn.data.initial, sequence)};
    data::Results cotangents{takeTokens(drawn.cotangents.outputs, begin, end),
                             takeSequence(drawn.cotangents.final, sequence)};
    Data alone = run(own, cotangents, {});
    expectSame(alone.inputs, takeTokens(all.inputs, begin, end));
    expectSame(alone.initial, takeSequence(all.initial, sequence));
  }
}

/// Kept by the forward call, or computed again: the states are the same.
TEST_P(GradientCalls, TakeStatesThatTheCallForwardKept) {
  open(Plan::Auto);
  check::JudgedGradient drawn = draw({1, 100, 4, 2});
  check::JudgedGradient states = draw({3, 1, 4, 2});
  for (const std::vector<int64_t> &offsets : {std::vector<int64_t>{}, std::vector<int64_t>{0, 37, 37, 100}}) {
    if (!offsets.empty()) {
      drawn.data.initial = states.data.initial;
      drawn.cotangents.final = states.cotangents.final;
    }
    Data computed = run(drawn.data, drawn.cotangents, {.threads = 2, .offsets = offsets});
    for (int64_t interval : {16, 48, 160}) {
      std::vector<std::vector<float>> kept;
      HostCall how{.threads = 2, .offsets = offsets, .keptInterval = interval, .kept = &kept};
      ASSERT_FALSE(bool(engine->run(drawn.data, how).takeError()));
      expectSame(computed, run(drawn.data, drawn.cotangents, how));
      // They are what it takes, and not computed again after all.
      for (float &number : kept[0])
        number += 1;
      EXPECT_NE(computed.inputs.begin()->second.values,
                run(drawn.data, drawn.cotangents, how).inputs.begin()->second.values);
    }
  }
  drawn = draw({1, 100, 4, 2});
  std::vector<std::vector<float>> none;
  HostCall between{.keptInterval = 24, .kept = &none};
  EXPECT_EQ(llvm::toString(engine->runGradient(drawn.data, drawn.cotangents, between).takeError()),
            std::string(GetParam()).substr(0, std::string(GetParam()).find('.')) +
                ": kept_interval is 24; for the gradient it must be a multiple of 16");
}

TEST_P(GradientCalls, TakeWhatIsLeftOutForZero) {
  check::JudgedGradient drawn = draw({1, 20, 2, 2});
  data::Results zeros = drawn.cotangents;
  for (auto &[name, array] : zeros.final)
    std::fill(array.values.begin(), array.values.end(), 0.0);
  data::Results some = drawn.cotangents;
  some.final.clear();
  expectSame(run(drawn.data, zeros, {}), run(drawn.data, some, {}));
}

/// Each gradient by itself is what it is among all, along its own direction and by what rounding does to it.
TEST_P(GradientCalls, MayBeLeftOut) {
  dgps::RecurrenceOp recurrence = spec->getRecurrences().front();
  auto stage =
      llvm::find_if(check::getGradientStages(), [](const auto &stage) { return stage.name == "gradient host"; });
  check::JudgedGradient every = draw({1, 37, 4, 2});
  std::vector<std::string> names;
  for (const data::NamedArrays *arrays : {&every.data.inputs, &every.data.params, &every.data.initial})
    for (const auto &[name, array] : *arrays)
      names.push_back(name);
  for (const std::string &name : names) {
    PipelineOptions pipeline;
    pipeline.chunk = 16;
    pipeline.gradients = {name};
    pipeline.effort = Effort::Quick;
    auto prepared = stage->prepare(recurrence, pipeline);
    ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    auto drawn =
        llvm::cantFail(check::makeJudgedGradient(recurrence, {1, 37, 4, 2}, 5, {}, DataType::F32, pipeline.gradients));
    for (int64_t bytes : {0, 1}) { // with all states at hand, and with those of a part at a time
      Data gradient = llvm::cantFail(
          prepared->engine->runGradient(drawn.data, drawn.cotangents, {.threads = 2, .workspaceBytes = bytes}));
      EXPECT_EQ(gradient.inputs.size() + gradient.params.size() + gradient.initial.size(), 1u) << name;
      auto comparison = check::compareGradient(recurrence, *prepared, drawn, gradient);
      ASSERT_TRUE(bool(comparison)) << llvm::toString(comparison.takeError());
      EXPECT_LE(comparison->error, comparison->limit) << name;
    }
  }
}

// With shared inputs, and with params.
INSTANTIATE_TEST_SUITE_P(Some, GradientCalls, ::testing::Values("gated_delta_net.recur", "pdn.recur"));

TEST(KernelsOfGradients, AreAskedFor) {
  auto spec = openExample(RECUR_SOURCE_DIR "/examples/delta_net.recur", {8, 6});
  ASSERT_TRUE(bool(spec));
  auto engine = HostEngine::create((*spec)->getRecurrences().front(), {});
  ASSERT_TRUE(bool(engine));
  auto gradient = (*engine)->runGradient({{1, 0, 1, 1}, {}, {}, {}}, {});
  EXPECT_EQ(llvm::toString(gradient.takeError()),
            "delta_net was compiled without the kernels of its gradient; build it with --backward");
}

} // namespace
