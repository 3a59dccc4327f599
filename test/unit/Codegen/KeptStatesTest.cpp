// States that a call forward keeps at multiples of a length, on every plan: they are what the interpreter has there.
#include "Compile/KernelPlans.h"
#include "Engine/HostEngine.h"
#include "Judging.h"

using namespace recur;
using namespace recur::data;

namespace {

constexpr Plan everyPlan[] = {Plan::Step, Plan::Chunk, Plan::Segment, Plan::Scan, Plan::TokenLoop};

/// The first tokens of every sequence.
Data takeFirst(const Data &data, int64_t tokens) {
  Data first = data;
  first.sizes.tokens = tokens;
  for (auto &[name, array] : first.inputs) {
    const Array &all = data.inputs.at(name);
    int64_t rows = all.shape[1], width = int64_t(all.values.size()) / (all.shape[0] * rows);
    array.shape[1] = tokens;
    array.values.clear();
    for (int64_t sequence = 0; sequence < all.shape[0]; ++sequence) {
      auto begin = all.values.begin() + sequence * rows * width;
      array.values.insert(array.values.end(), begin, begin + tokens * width);
    }
  }
  return first;
}

/// Whether the plan has kernels of this recurrence.
bool hasPlan(dgps::RecurrenceOp recurrence, const PipelineOptions &pipeline, Plan plan) {
  auto plans = llvm::cantFail(compile::listKernelPlans(recurrence, pipeline));
  return llvm::any_of(plans, [&](const compile::KernelPlan &known) {
    return known.plan == compile::getRuntimePlan(plan) && known.whyNot.empty();
  });
}

class KeptStates : public ::testing::TestWithParam<std::string> {};

TEST_P(KeptStates, AreThoseOfTheInterpreterOnEveryPlan) {
  auto spec = openExample(RECUR_SOURCE_DIR "/examples/" + GetParam() + ".recur", {8, 6});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.chunk = 16;
  pipeline.effort = Effort::Quick;
  constexpr int64_t tokens = 70, sequences = 2, heads = 2;
  auto drawn = check::makeJudgedData(recurrence, {sequences, tokens, heads, heads}, 3);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  unsigned plans = 0;
  for (Plan plan : everyPlan) {
    if (!hasPlan(recurrence, pipeline, plan))
      continue;
    ++plans;
    pipeline.plan = plan;
    auto engine = engine::HostEngine::create(recurrence, pipeline);
    ASSERT_TRUE(bool(engine)) << llvm::toString(engine.takeError());
    pipeline.plan = Plan::Auto;
    for (int64_t interval : {5, 16, 48, 70, 100}) {
      std::vector<std::vector<float>> kept;
      auto results = (*engine)->run(drawn->data, {.threads = 2, .keptInterval = interval, .kept = &kept});
      ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
      EXPECT_LE(relativeRms(*results, drawn->want), 1e-5);
      int64_t rows = (tokens + interval - 1) / interval;
      for (int64_t row = 0; row < rows; ++row) {
        Results want = llvm::cantFail(interpreter::interpret(recurrence, takeFirst(drawn->data, row * interval)));
        for (auto [place, state] : llvm::enumerate(recurrence.getStates())) {
          const Array &final = want.final.at(state.getName().str());
          size_t width = final.values.size() / sequences;
          Array got{final.shape, {}};
          ASSERT_EQ(kept[place].size(), width * size_t(sequences * rows));
          for (int64_t sequence = 0; sequence < sequences; ++sequence) {
            auto begin = kept[place].begin() + (sequence * rows + row) * int64_t(width);
            got.values.insert(got.values.end(), begin, begin + int64_t(width));
          }
          EXPECT_LE(relativeRms(got, final), 1e-5) << "state " << state.getName().str() << " before token "
                                                   << row * interval << ", plan " << int(compile::getRuntimePlan(plan));
        }
      }
    }
  }
  EXPECT_GE(plans, 2u);
}

// Plans chunk and segment; the scan; the token loop; several states of which some have none of these.
INSTANTIATE_TEST_SUITE_P(Some, KeptStates, ::testing::Values("gated_delta_net", "hgrn", "slstm", "mlstm", "pgdn"),
                         [](const auto &info) { return info.param; });

} // namespace
