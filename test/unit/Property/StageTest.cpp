// Every stage that `recurc check` knows computes what the token-by-token interpreter does, on random recurrences, data,
// lengths and chunk sizes. A stage joins by its row in check::getCheckStages().
#include "Check/CheckStages.h"
#include "Compile/KernelPlans.h"
#include "mlir/IR/Diagnostics.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

namespace {
/// What is wrong with a stage. The kind is what the reducer keeps.
struct Mistake {
  enum Kind { None, Refused, Crashed, Differs } kind = None;
  std::string message;
};
} // namespace

/// One of the plans that kernels of the recurrence have.
static Plan pickPlan(dgps::RecurrenceOp recurrence, uint64_t number) {
  std::vector<Plan> has = {Plan::Auto};
  if (auto kernels = compile::listKernelPlans(recurrence, {})) {
    for (Plan plan : {Plan::Step, Plan::Chunk, Plan::Segment, Plan::Scan, Plan::TokenLoop})
      if (llvm::any_of(*kernels, [wanted = compile::getRuntimePlan(plan)](const compile::KernelPlan &kernel) {
            return kernel.plan == wanted && kernel.whyNot.empty();
          }))
        has.push_back(plan);
  } else {
    llvm::consumeError(kernels.takeError()); // compiling it will say the same
  }
  return has[number % has.size()];
}

static Mistake findMistake(const check::CheckStage &stage, llvm::StringRef text, PipelineOptions options,
                           const interpreter::Data &given, uint64_t planNumber) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  interpreter::Data data = fitData(compiled->recurrence, given);
  llvm::Expected<interpreter::Results> want = judge(*compiled, data);
  if (!want) {
    llvm::consumeError(want.takeError());
    return {};
  }
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&getContext(), [&](mlir::Diagnostic &diagnostic) {
    diagnostics += "\n" + diagnostic.str();
    return mlir::success();
  });
  if (stage.needsTarget)
    options.plan = pickPlan(compiled->recurrence, planNumber);
  auto prepared = stage.prepare(compiled->recurrence, options);
  if (!prepared)
    return {Mistake::Refused, llvm::toString(prepared.takeError()) + diagnostics};
  if (!*prepared)
    return {}; // the stage does not concern this recurrence
  llvm::Expected<interpreter::Results> got = (*prepared)->run(data);
  if (!got)
    return {Mistake::Crashed, llvm::toString(got.takeError()) + diagnostics};
  double off = distance(*got, *want), limit = (*prepared)->limit;
  if (off <= limit)
    return {};
  return {Mistake::Differs, "differs by " + std::to_string(off) + ", more than " + std::to_string(limit)};
}

class Stages : public testing::TestWithParam<check::CheckStage> {};

TEST_P(Stages, ComputeWhatTheInterpreterDoes) {
  const check::CheckStage &stage = GetParam();
  unsigned failures = 0;
  Seeds seeds = pickSeeds(40000, stage.needsTarget ? 60 : 2000); // kernels are compiled for each
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    interpreter::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 15, 16, 17, 33, 70}), 2,
                             1 + int64_t(random.below(2))};
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({16, 32, 64});
    interpreter::Data data = drawData(drawn, seed, sizes);
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = disguise(drawn, 0, plainNames).text;
    Mistake mistake = findMistake(stage, text, options, data, seed);
    if (mistake.kind == Mistake::None)
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) {
      return findMistake(stage, candidate, options, data, seed).kind == mistake.kind;
    };
    ADD_FAILURE() << "T = " << sizes.tokens << ", C = " << *options.chunk << ", "
                  << describeFailure(seed, mistake.message, text, fails);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, testing::ValuesIn(check::getCheckStages().vec()), [](const auto &info) {
  std::string name = info.param.name.str();
  std::replace_if(name.begin(), name.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
  return name;
});
