// What a recurrence means does not depend on how it is written: random ones, each in several disguises, against the
// plain text, token by token.
#include "property/Failure.h"
#include "property/Judge.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

static constexpr uint64_t kDisguises = 2;
static constexpr double kLimit = 1e-10;

static data::Sizes pickSizes(uint64_t seed) {
  Random random(seed);
  return {1, random.pick<int64_t>({1, 2, 6, 9}), 2, 1 + int64_t(random.below(2))};
}

TEST(Disguise, EveryTextCompilesAndKeepsTheValues) {
  unsigned failures = 0, changed = 0;
  Seeds seeds = pickSeeds(0, 2000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && failures < 3; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    data::Data data = drawData(drawn, seed, pickSizes(seed));
    std::string plain = writePlainly(drawn).text;
    llvm::Expected<data::Results> want = judge(plain, data);
    if (!want) {
      ADD_FAILURE() << describeFailure(seed, llvm::toString(want.takeError()), plain);
      ++failures;
      continue;
    }
    for (uint64_t variant = 0; variant < kDisguises; ++variant) {
      Disguise disguised = disguise(drawn, variant);
      changed += disguised.changes;
      auto findDifference = [&](const Disguise &candidate) -> std::string {
        llvm::Expected<data::Results> got = judge(candidate.text, candidate.rename(data));
        if (!got)
          return llvm::toString(got.takeError());
        double off = distance(candidate.restore(*got), *want);
        return off <= kLimit ? "" : "the values differ by " + std::to_string(off);
      };
      std::string difference = findDifference(disguised);
      if (difference.empty())
        continue;
      ADD_FAILURE() << describeFailingDisguise(drawn, variant, {}, difference,
                                               [&](const Disguise &d) { return !findDifference(d).empty(); });
      ++failures;
    }
  }
  // The disguises do disguise.
  EXPECT_GT(changed, failures ? 0 : seeds.count * kDisguises * 10);
}

// Equality to 1e-10 would hold of anything if the results were all zero, and of nothing if they grew without bound.
TEST(Disguise, ResultsAreOfOrdinarySize) {
  unsigned tiny = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    DrawnRecurrence drawn = drawRecurrence(seed);
    llvm::Expected<data::Results> results = judge(writePlainly(drawn).text, drawData(drawn, seed, {1, 65, 1, 1}));
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    double largest = 0;
    for (const auto *arrays : {&results->outputs, &results->final})
      for (const auto &[name, array] : *arrays)
        for (double value : array.values) {
          ASSERT_TRUE(std::isfinite(value)) << "seed " << seed << " " << name;
          largest = std::max(largest, std::abs(value));
        }
    EXPECT_LT(largest, 1e6) << "seed " << seed << "\n" << writePlainly(drawn).text;
    tiny += largest < 1e-3;
  }
  EXPECT_LT(tiny, 6u);
}

TEST(Disguise, AllIsDecidedByTheSeed) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::string text = disguise(drawRecurrence(seed), 1).text;
    EXPECT_EQ(text, disguise(drawRecurrence(seed), 1).text);
    texts.insert(text);
  }
  EXPECT_GT(texts.size(), 45u);
}

// A law that does not hold is found, and shown as the one change that matters.
TEST(Disguise, AFailureIsTracedToOneChange) {
  DrawnRecurrence drawn = drawRecurrence(1);
  unsigned wanted = disguise(drawn, 0).changes / 2;
  std::string message =
      describeFailingDisguise(drawn, 0, {}, "too many changes", [&](const Disguise &d) { return d.changes >= wanted; });
  EXPECT_NE(message.find("seed 1, disguise 0: too many changes\nfrom change " + std::to_string(wanted) + " on."),
            std::string::npos)
      << message;
}
