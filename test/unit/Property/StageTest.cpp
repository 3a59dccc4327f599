// Every stage that `recurc check` knows computes what the token-by-token interpreter does, on random recurrences, data,
// lengths and chunk sizes; kernels with every type of data on every target. A stage joins by its row in
// check::getCheckStages().
#include "Check/CheckStages.h"
#include "DrawKernels.h"
#include "Engine/HostEngine.h"
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

static double findLargest(const interpreter::Results &results) {
  double largest = 0;
  for (const interpreter::NamedArrays *arrays : {&results.outputs, &results.final})
    for (const auto &[name, array] : *arrays)
      for (double value : array.values)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : INFINITY;
  return largest;
}

/// What rounding the operands of products to the type alone does to the results, as the interpreter of chunks has it.
static double measureRounding(dgps::RecurrenceOp recurrence, PipelineOptions options, const interpreter::Data &data,
                              const interpreter::Results &want) {
  auto rounded =
      llvm::find_if(check::getCheckStages(), [](const auto &stage) { return stage.name == "chunk rounded"; });
  auto prepared = rounded->prepare(recurrence, options);
  if (prepared && *prepared)
    if (auto results = (*prepared)->run(data))
      return distance(*results, want);
    else
      llvm::consumeError(results.takeError());
  else if (!prepared)
    llvm::consumeError(prepared.takeError());
  return 0;
}

static Mistake findMistake(const check::CheckStage &stage, llvm::StringRef text, PipelineOptions options,
                           const interpreter::Data &given, uint64_t seed) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  interpreter::Data data = fitData(compiled->recurrence, given);
  if (options.dataType != DataType::F32)
    engine::roundData(data, options.dataType);
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
  Random random(seed);
  if (stage.needsTarget)
    options.plan = pickPlan(compiled->recurrence, options, random);
  auto prepared = stage.prepare(compiled->recurrence, options);
  if (!prepared)
    return {Mistake::Refused, llvm::toString(prepared.takeError()) + diagnostics};
  if (!*prepared)
    return {}; // the stage does not concern this recurrence
  llvm::Expected<interpreter::Results> got = (*prepared)->run(data);
  if (!got)
    return {Mistake::Crashed, llvm::toString(got.takeError()) + diagnostics};
  double off = distance(*got, *want), limit = (*prepared)->limit;
  if (options.dataType != DataType::F32) {
    if (!(findLargest(*want) <= (*prepared)->largest.value_or(INFINITY)))
      return {}; // the results leave the range of the type
    limit = std::max(limit, 3 * measureRounding(compiled->recurrence, options, data, *want));
  }
  if (off <= limit)
    return {};
  return {Mistake::Differs, "differs by " + std::to_string(off) + ", more than " + std::to_string(limit)};
}

class Stages : public testing::TestWithParam<check::CheckStage> {};

TEST_P(Stages, ComputeWhatTheInterpreterDoes) {
  const check::CheckStage &stage = GetParam();
  unsigned failures = 0;
  Seeds seeds = pickSeeds(40000, stage.needsTarget ? 120 : 2000); // kernels are compiled for each
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    interpreter::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 15, 16, 17, 33, 70}), 2,
                             1 + int64_t(random.below(2))};
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({16, 32, 64});
    if (seed % 5 == 2)
      options.chunk = 1 + int64_t(seed / 5 % 7);
    if (stage.needsTarget)
      drawKernelOptions(random, options);
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
    ADD_FAILURE() << "T = " << sizes.tokens << ", C = " << *options.chunk << ", " << describeOptions(options) << ", "
                  << describeFailure(seed, mistake.message, text, fails);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Stages, testing::ValuesIn(check::getCheckStages().vec()), [](const auto &info) {
  std::string name = info.param.name.str();
  std::replace_if(name.begin(), name.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
  return name;
});
