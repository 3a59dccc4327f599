// Many segments of a sequence, of small chunks: as on a machine with more processors than heads.
#include "Compile/KernelPlans.h"
#include "Engine/HostEngine.h"
#include "Judging.h"
#include "gmock/gmock.h"
#include <cstdlib>

using namespace recur;
using data::Data;
using data::Results;
using engine::HostEngine;

namespace {

/// The runtime asks once, when it is first called.
[[maybe_unused]] const int processors = setenv("RECUR_PROCESSORS", "24", /*overwrite=*/0);

class ManySegments : public ::testing::TestWithParam<std::string> {};

TEST_P(ManySegments, ComputeWhatTheInterpreterDoes) {
  auto spec = openExample(GetParam(), {20, 12});
  ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
  dgps::RecurrenceOp recurrence = (*spec)->getRecurrences().front();
  PipelineOptions pipeline;
  pipeline.chunk = 16;
  pipeline.effort = Effort::Quick;
  pipeline.plan = Plan::Segment;
  auto plans = compile::listKernelPlans(recurrence, pipeline);
  ASSERT_TRUE(bool(plans)) << llvm::toString(plans.takeError());
  auto plan = llvm::find_if(*plans, [](const compile::KernelPlan &has) { return has.plan == RECUR_PLAN_SEGMENT; });
  ASSERT_NE(plan, plans->end());
  auto engine = HostEngine::create(recurrence, pipeline);
  ASSERT_EQ(bool(engine), plan->isAvailable());
  if (!engine) {
    EXPECT_THAT(llvm::toString(engine.takeError()), ::testing::HasSubstr(plan->whyNot));
    return;
  }
  for (int64_t tokens : {33, 100, 333})
    EXPECT_TRUE(compareWithInterpreter(recurrence, {1, tokens, 1, 1}, tokens, DataType::F32, /*isHard=*/false,
                                       [&](const Data &data) {
                                         auto results = (*engine)->run(data);
                                         return results ? std::move(*results) : Results{};
                                       }))
        << "T=" << tokens;
}

INSTANTIATE_TEST_SUITE_P(All, ManySegments, ::testing::ValuesIn(test::listExamples()), nameOf);

} // namespace
