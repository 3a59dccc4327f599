// Every specification of examples/ by every plan that it has, as the runtime runs it: right, and the same bits however
// the call is made.
#include "Compile/KernelPlans.h"
#include "Engine/HostEngine.h"
#include "Judging.h"
#include <cstring>

using namespace recur;
using data::Data;
using data::NamedArrays;
using data::Results;
using data::Sizes;
using engine::HostCall;
using engine::HostEngine;

namespace {

constexpr std::pair<const char *, Plan> everyPlan[] = {
    {"step", Plan::Step},       {"chunk", Plan::Chunk},          {"scan", Plan::Scan},
    {"segment", Plan::Segment}, {"token-loop", Plan::TokenLoop},
};

bool haveSameBits(const Array &a, const Array &b) {
  return a.shape == b.shape && std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

void expectSameBits(const NamedArrays &got, const NamedArrays &want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto &[name, array] : want)
    EXPECT_TRUE(haveSameBits(got.at(name), array)) << "'" << name << "'";
}

void expectSameBits(const Results &got, const Results &want) {
  expectSameBits(got.outputs, want.outputs);
  expectSameBits(got.final, want.final);
}

/// The elements from `begin` up to `end` of one dimension.
Array slice(const Array &array, unsigned dim, int64_t begin, int64_t end) {
  Array result{array.shape, {}};
  result.shape[dim] = end - begin;
  int64_t inner = *countElements(llvm::ArrayRef(array.shape).drop_front(dim + 1));
  int64_t block = array.shape[dim] * inner;
  for (int64_t start = 0; start < int64_t(array.values.size()); start += block)
    result.values.insert(result.values.end(), array.values.begin() + start + begin * inner,
                         array.values.begin() + start + end * inner);
  return result;
}

NamedArrays slice(const NamedArrays &arrays, unsigned dim, int64_t begin, int64_t end) {
  NamedArrays result;
  for (const auto &[name, array] : arrays)
    result[name] = slice(array, dim, begin, end);
  return result;
}

/// The array with all that belongs to one token, in every sequence and head, replaced by a number.
Array plant(Array array, int64_t token, double number) {
  int64_t inner = *countElements(llvm::ArrayRef(array.shape).drop_front(2)), tokens = array.shape[1];
  for (int64_t b = 0; b < array.shape[0]; ++b)
    std::fill_n(array.values.begin() + (b * tokens + token) * inner, inner, number);
  return array;
}

class ExamplePlans : public ::testing::TestWithParam<std::string> {
protected:
  void open(Dims dims) {
    auto specification = openExample(GetParam(), dims);
    ASSERT_TRUE(bool(specification)) << llvm::toString(specification.takeError());
    spec = std::move(*specification);
    recurrence = spec->getRecurrences().front();
  }

  /// Calls `test(engine, plan)` for each plan that the recurrence has a kernel of.
  template <typename Test> void forEachPlan(Test test, Effort effort, DataType type = DataType::F32) {
    auto plans = compile::listKernelPlans(recurrence, {});
    ASSERT_TRUE(bool(plans)) << llvm::toString(plans.takeError());
    unsigned tested = 0;
    for (auto [name, plan] : everyPlan) {
      auto entry = llvm::find_if(*plans, [wanted = compile::getRuntimePlan(plan)](const compile::KernelPlan &has) {
        return has.plan == wanted && has.whyNot.empty();
      });
      if (entry == plans->end())
        continue;
      SCOPED_TRACE(testing::Message() << "plan " << name);
      PipelineOptions pipeline;
      pipeline.plan = plan;
      pipeline.dataTypes = type;
      pipeline.effort = effort;
      auto engine = HostEngine::create(recurrence, pipeline);
      ASSERT_TRUE(bool(engine)) << llvm::toString(engine.takeError());
      test(**engine, plan);
      ++tested;
    }
    EXPECT_GE(tested, 2u) << "every recurrence has the plan step and one that takes a chunk of tokens";
  }

  Data draw(const Sizes &sizes, uint64_t seed) { return check::makeRandomData(recurrence, sizes, seed); }

  Results run(const HostEngine &engine, const Data &data, const HostCall &how = {}) {
    auto results = engine.run(data, how);
    if (results)
      return std::move(*results);
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }

  /// What is no number, and what overflows, in each input in turn, changes no output of a token before.
  void expectNothingOfLaterTokens(const HostEngine &engine) {
    const double infinity = std::numeric_limits<double>::infinity();
    Data data = draw({1, 131, 2, 1}, 14);
    Results whole = run(engine, data);
    for (auto &[name, input] : data.inputs)
      for (int64_t token : {3, 70, 125})
        for (double number : {std::numeric_limits<double>::quiet_NaN(), infinity, 1e38}) {
          SCOPED_TRACE(testing::Message() << number << " in '" << name << "' of token " << token);
          Array spoilt = plant(input, token, number);
          std::swap(input, spoilt);
          expectSameBits(slice(run(engine, data).outputs, 1, 0, token), slice(whole.outputs, 1, 0, token));
          std::swap(input, spoilt);
          if (HasFailure())
            return;
        }
  }

  void expectSameBitsHoweverCalled(const HostEngine &engine) {
    Data data = draw({2, 150, 4, 2}, 11);
    Results first = run(engine, data, {.threads = 1});
    for (int32_t threads : {1, 2, 3, 7}) {
      SCOPED_TRACE(testing::Message() << threads << " threads");
      expectSameBits(run(engine, data, {.threads = threads}), first);
    }
    SCOPED_TRACE("the caller's parallel-for, last index first");
    auto backwards = [](void *, int64_t count, void (*body)(void *, int64_t), void *context) {
      while (count-- > 0)
        body(context, count);
    };
    expectSameBits(run(engine, data, {.threads = 3, .parallelFor = backwards}), first);
  }

  void expectSameBitsOfPackedSequences(const HostEngine &engine) {
    const std::vector<int64_t> offsets = {0, 1, 1, 66, 150};
    Data packed = draw({1, 150, 2, 1}, 12);
    packed.initial = draw({4, 0, 2, 1}, 13).initial;
    Results together = run(engine, packed, {.offsets = offsets});
    Data spoilt = packed; // of the last sequence nothing reaches the others, nor their final states
    for (auto &[name, input] : spoilt.inputs)
      for (int64_t token = offsets[3]; token < offsets[4]; ++token)
        input = plant(input, token, std::numeric_limits<double>::quiet_NaN());
    Results others = run(engine, spoilt, {.offsets = offsets});
    expectSameBits(slice(others.outputs, 1, 0, offsets[3]), slice(together.outputs, 1, 0, offsets[3]));
    expectSameBits(slice(others.final, 0, 0, 3), slice(together.final, 0, 0, 3));
    for (int64_t i = 0; i < 4; ++i) {
      SCOPED_TRACE(testing::Message() << "sequence " << i);
      Data alone = packed;
      alone.sizes.tokens = offsets[i + 1] - offsets[i];
      alone.inputs = slice(packed.inputs, 1, offsets[i], offsets[i + 1]);
      alone.initial = slice(packed.initial, 0, i, i + 1);
      Results separate = run(engine, alone);
      expectSameBits(slice(together.outputs, 1, offsets[i], offsets[i + 1]), separate.outputs);
      expectSameBits(slice(together.final, 0, i, i + 1), separate.final);
    }
  }

  void expectSameBitsWithoutLaterTokens(const HostEngine &engine) {
    const int64_t most = 131;
    Data data = draw({1, most, 2, 1}, 14);
    Results whole = run(engine, data);
    for (int64_t tokens : {1, 7, 15, 16, 17, 63, 64, 65, 100, 127, 128, 129, 130}) {
      SCOPED_TRACE(testing::Message() << "the first " << tokens << " tokens");
      Data prefix = data;
      prefix.sizes.tokens = tokens;
      prefix.inputs = slice(data.inputs, 1, 0, tokens);
      expectSameBits(run(engine, prefix).outputs, slice(whole.outputs, 1, 0, tokens));
    }
  }

  std::unique_ptr<driver::Specification> spec;
  dgps::RecurrenceOp recurrence;
};

TEST_P(ExamplePlans, ComputeWhatTheInterpreterDoes) {
  ASSERT_NO_FATAL_FAILURE(open({16, 9}));
  forEachPlan(
      [&](const HostEngine &engine, Plan) {
        unsigned compared = 0;
        for (bool isHard : {false, true})
          for (int64_t tokens : {0, 1, 5, 63, 64, 65, 200}) {
            SCOPED_TRACE(testing::Message() << "T=" << tokens << (isHard ? ", hard data" : ""));
            compared += compareWithInterpreter(recurrence, {2, tokens, 2, 1}, tokens, DataType::F32, isHard,
                                               [&](const Data &data) { return run(engine, data); });
          }
        EXPECT_EQ(compared, 14u) << "not every case was compared";
      },
      Effort::Quick);
}

// Kernels with all of LLVM's optimisations take longer to compile than to run, so all of this is asked of the same
// ones.
TEST_P(ExamplePlans, GiveTheSameBits) {
  ASSERT_NO_FATAL_FAILURE(open({12, 20}));
  forEachPlan(
      [&](const HostEngine &engine, Plan plan) {
        EXPECT_TRUE(compareWithInterpreter(recurrence, {2, 200, 2, 1}, 15, DataType::F32, /*isHard=*/true,
                                           [&](const Data &data) { return run(engine, data); }));
        expectSameBitsHoweverCalled(engine);
        expectSameBitsOfPackedSequences(engine);
        expectNothingOfLaterTokens(engine);
        // A sequence is cut into segments by its length, so there only the rounding of a token depends on later ones.
        if (plan != Plan::Segment)
          expectSameBitsWithoutLaterTokens(engine);
      },
      Effort::Full);
}

/// With sizes that make pairs of bf16 where the processor has them.
TEST_P(ExamplePlans, GiveATokenNothingOfALaterOneThatIsNoNumber) {
  ASSERT_NO_FATAL_FAILURE(open({64, 20}));
  forEachPlan(
      [&](const HostEngine &engine, Plan plan) {
        if (plan != Plan::Step)
          expectNothingOfLaterTokens(engine);
      },
      Effort::Quick, DataType::BF16);
}

INSTANTIATE_TEST_SUITE_P(All, ExamplePlans, ::testing::ValuesIn(test::listExamples()), nameOf);

} // namespace
