// A token's output never depends on later tokens, whatever they hold: NaN, infinities and numbers that overflow are
// planted in later tokens of random recurrences, and what comes before keeps its bits, in kernels of every plan, type
// and target.
#include "DrawKernels.h"
#include "Engine/HostEngine.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

/// The data with `number` in every input of the tokens from `first` on.
static data::Data plant(data::Data data, int64_t first, double number) {
  for (auto &[name, array] : data.inputs) {
    int64_t perToken = *countElements(llvm::ArrayRef(array.shape).drop_front(2));
    for (int64_t batch = 0; batch < array.shape[0]; ++batch)
      for (int64_t i = first * perToken; i < array.shape[1] * perToken; ++i)
        array.values[batch * array.shape[1] * perToken + i] = number;
  }
  return data;
}

/// The first output in which a token before `first` differs; empty if none does.
static std::string findLeak(const data::Results &clean, const data::Results &planted, int64_t first) {
  for (const auto &[name, array] : clean.outputs) {
    const Array &other = planted.outputs.at(name);
    int64_t perToken = *countElements(llvm::ArrayRef(array.shape).drop_front(2));
    for (int64_t batch = 0; batch < array.shape[0]; ++batch)
      for (int64_t i = 0; i < first * perToken; ++i) {
        int64_t at = batch * array.shape[1] * perToken + i;
        if (llvm::bit_cast<uint64_t>(array.values[at]) != llvm::bit_cast<uint64_t>(other.values[at]))
          return "output " + name + " at token " + std::to_string(i / perToken);
      }
  }
  return {};
}

static std::string findLeak(llvm::StringRef text, PipelineOptions options, const data::Data &given, uint64_t seed) {
  llvm::Expected<Compiled> compiled = property::compile(text);
  if (!compiled) {
    llvm::consumeError(compiled.takeError());
    return {}; // the other tests' business
  }
  data::Data data = fitData(compiled->recurrence, given, /*startsAreGiven=*/true);
  Random random(seed);
  options.plan = pickPlan(compiled->recurrence, options, random);
  auto engine = engine::HostEngine::create(compiled->recurrence, options);
  if (!engine) {
    llvm::consumeError(engine.takeError());
    return {};
  }
  auto run = [&](const data::Data &data) { return llvm::cantFail((*engine)->run(data)); };
  data::Results clean = run(data);
  for (double number : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e38}) {
    int64_t first = 1 + int64_t(random.below(data.sizes.tokens - 1));
    if (std::string leak = findLeak(clean, run(plant(data, first, number)), first); !leak.empty())
      return leak + " meets " + std::to_string(number) + " of token " + std::to_string(first);
  }
  return {};
}

TEST(Causality, LaterTokensReachNoEarlierOnes) {
  unsigned failures = 0;
  Seeds seeds = pickSeeds(70000, 100);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    Random random(seed);
    data::Sizes sizes{1, random.pick<int64_t>({17, 50, 83}), 2, 1};
    PipelineOptions options;
    options.chunk = random.pick<int64_t>({5, 16, 32});
    drawKernelOptions(random, options);
    data::Data data = drawData(drawn, seed, sizes);
    DisguiseOptions plainNames;
    plainNames.renameDeclarations = false;
    std::string text = disguise(drawn, 0, plainNames).text;
    std::string leak = findLeak(text, options, data, seed);
    if (leak.empty())
      continue;
    ++failures;
    auto fails = [&](llvm::StringRef candidate) { return !findLeak(candidate, options, data, seed).empty(); };
    ADD_FAILURE() << "T = " << sizes.tokens << ", C = " << *options.chunk << ", " << describeOptions(options) << ", "
                  << describeFailure(seed, leak, text, fails);
  }
}
