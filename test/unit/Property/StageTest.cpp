// Every stage that `recurc check` knows computes what the token-by-token interpreter does, on random recurrences, data,
// lengths and chunk sizes; kernels with every type of data on every target. A stage joins by its row in
// check::getCheckStages().
#include "Check/CheckStages.h"
#include "Check/RandomData.h"
#include "Check/Starts.h"
#include "DrawKernels.h"
#include "Engine/HostEngine.h"
#include "Interpreter/DGPSInterpreter.h"
#include "mlir/IR/Diagnostics.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "llvm/ADT/StringExtras.h"
#include <fstream>
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

/// What rounding the operands of products to the type alone does to the results, as the interpreter of chunks has it.
static double measureRounding(dgps::RecurrenceOp recurrence, PipelineOptions options, const data::Data &data,
                              const data::Results &want) {
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

/// What errors like those of the stage's rounding do to the results token by token, where terms cancel.
static double measureTokenwise(dgps::RecurrenceOp recurrence, const interpreter::Disturbance &rounding,
                               const data::Data &data, const data::Results &want) {
  if (auto disturbed = interpreter::interpretDisturbed(recurrence, data, rounding))
    return distance(*disturbed, want);
  else
    llvm::consumeError(disturbed.takeError());
  return 0;
}

/// What storing exact final states in their own types does to them.
static double measureStoring(const DataTypes &types, const data::Results &want) {
  data::Results stored = want;
  for (auto &[name, array] : stored.final)
    for (double &value : array.values)
      value = roundTo(value, types.of(name, /*isState=*/true));
  return distance(stored, want);
}

static double outputDistance(data::Results got, data::Results want) {
  got.final.clear();
  want.final.clear();
  return distance(got, want);
}

static Mistake findMistake(const check::CheckStage &stage, llvm::StringRef text, PipelineOptions options,
                           const data::Data &given, uint64_t seed) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  drawArrayTypes(compiled->recurrence, seed, options);
  bool isF32 = !options.dataTypes.contain(DataType::BF16) && !options.dataTypes.contain(DataType::F16);
  data::Data data = fitData(compiled->recurrence, given);
  if (!isF32)
    engine::roundData(data, options.dataTypes);
  llvm::Expected<data::Results> want = judge(*compiled, data);
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
  if (!*prepared || !(*prepared)->run)
    return {}; // the stage does not concern this recurrence, or this machine cannot run what was compiled
  llvm::Expected<data::Results> got = (*prepared)->run(data);
  if (!got)
    return {Mistake::Crashed, llvm::toString(got.takeError()) + diagnostics};
  if ((*prepared)->stored) {
    data = llvm::cantFail(check::completeStarts(compiled->recurrence, data, (*prepared)->stored));
    want = llvm::cantFail(judge(*compiled, data));
  }
  double off = distance(*got, *want), limit = (*prepared)->limit;
  if (!isF32) {
    if (!(check::findLargest(*want) <= (*prepared)->largest.value_or(INFINITY)))
      return {}; // the results leave the range of the type
    limit = std::max(limit, 3 * measureRounding(compiled->recurrence, options, data, *want));
  } else if (off > limit) {
    limit = std::max(limit, 4 * measureTokenwise(compiled->recurrence, (*prepared)->rounding, data, *want));
  }
  if (off <= limit)
    return {};
  // Final states of 16 bits are rounded once more, at the end, and outputs are not: as in check::RoundingErrors.
  if (stage.needsTarget && outputDistance(*got, *want) <= limit &&
      off <= std::max(limit, 2 * measureStoring(options.dataTypes, *want)))
    return {};
  return {Mistake::Differs, "of " + options.dataTypes.print() + ": differs by " + std::to_string(off) + ", more than " +
                                std::to_string(limit)};
}

class Stages : public testing::TestWithParam<check::CheckStage> {};

TEST_P(Stages, ComputeWhatTheInterpreterDoes) {
  const check::CheckStage &stage = GetParam();
  unsigned failures = 0;
  Seeds seeds = pickSeeds(40000, stage.needsTarget ? 120 : 2000); // kernels are compiled for each
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    data::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 15, 16, 17, 33, 70}), 2,
                      1 + int64_t(random.below(2))};
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({16, 32, 64});
    if (seed % 5 == 2)
      options.chunk = 1 + int64_t(seed / 5 % 7);
    if (stage.needsTarget)
      drawKernelOptions(random, options);
    data::Data data = drawData(drawn, seed, sizes);
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

static std::string getTestName(const testing::TestParamInfo<check::CheckStage> &info) {
  std::string name = info.param.name.str();
  std::replace_if(name.begin(), name.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, Stages, testing::ValuesIn(check::getCheckStages().vec()), getTestName);

/// Plans for a GPU, by the interpreter of tiles; and kernels, which the assembler must have nothing against, and which
/// run where there is a GPU. RECUR_PROPERTY_LEAVE=DIR leaves the recurrences as files, for `gpu-test`.
class CUDAStages : public testing::TestWithParam<check::CheckStage> {};

TEST_P(CUDAStages, ComputeWhatTheInterpreterDoes) {
  const check::CheckStage &stage = GetParam();
  unsigned failures = 0;
  Seeds seeds = pickSeeds(90000, stage.needsTarget ? 6 : 60);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    if (seed % 2) // sizes of which tiles have more, and several parts
      for (auto &[name, size] : drawn.dims)
        if (name == "K" || name == "V")
          size = random.pick<int64_t>({7, 20, 33, 70, 72, 100, 129});
    data::Sizes sizes{1 + int64_t(random.below(2)), random.pick<int64_t>({0, 1, 5, 17, 33, 70}), 2,
                      1 + int64_t(random.below(2))};
    PipelineOptions options;
    options.target = *findTarget("sm_90a");
    options.dataTypes = random.pick<DataType>({DataType::F32, DataType::BF16, DataType::F16});
    options.chunk = random.pick<std::optional<int64_t>>({std::nullopt, 16, 32, 64});
    data::Data data = drawData(drawn, seed, sizes);
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = disguise(drawn, 0, plainNames).text;
    if (const char *folder = std::getenv("RECUR_PROPERTY_LEAVE"))
      std::ofstream(std::string(folder) + "/drawn_" + std::to_string(seed) + ".recur") << text;
    Mistake mistake = findMistake(stage, text, options, data, seed);
    if (mistake.kind == Mistake::None)
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) {
      return findMistake(stage, candidate, options, data, seed).kind == mistake.kind;
    };
    ADD_FAILURE() << "T = " << sizes.tokens << ", " << describeOptions(options) << ", "
                  << describeFailure(seed, mistake.message, text, fails);
  }
}

static std::vector<check::CheckStage> listCUDAStages() {
  std::vector<check::CheckStage> stages;
  for (const check::CheckStage &stage : check::getCheckStages())
    if (llvm::is_contained({"tile", "tile plain", "tile step", "tile segments", "kernels"}, stage.name))
      stages.push_back(stage);
  return stages;
}
INSTANTIATE_TEST_SUITE_P(All, CUDAStages, testing::ValuesIn(listCUDAStages()), getTestName);
