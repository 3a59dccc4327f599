// All that is only another spelling has the same plans, at the same cost: layers as authors write them, the texts
// behind recur.fla, the examples and random recurrences, in random disguise and with arrays of several types.
#include "../Examples.h"
#include "property/Failure.h"
#include "property/Judge.h"
#include "property/Layers.h"
#include "property/Plans.h"
#include "property/TextLayers.h"
#include <gtest/gtest.h>

using namespace recur;
using namespace recur::property;

namespace {

constexpr double tolerance = 0.05;

/// Gates and other numbers of a token in float32, or any arrays, or none; the rest in bf16.
DataTypes drawTypes(const DrawnRecurrence &recurrence, Random &random) {
  DataTypes types = DataType::BF16;
  unsigned way = random.below(3);
  for (const auto *arrays : {&recurrence.inputs, &recurrence.params})
    for (const DrawnArray &array : *arrays)
      if (way == 1 ? array.shape.empty() : way == 2 && random.chance(0.4))
        types.named[array.name] = DataType::F32;
  return types;
}

class Spellings : public testing::TestWithParam<const char *> {
protected:
  /// Compares what is written plainly with so many disguises of it.
  void expectOnePlan(const DrawnRecurrence &recurrence, uint64_t seed, unsigned disguises = 1);
  /// The plans of a text whose arrays have names of their own.
  llvm::Expected<PlansOfTarget> findPlans(const Disguise &written, const DataTypes &types) {
    PipelineOptions options;
    options.target = *findTarget(GetParam());
    options.dataTypes.all = types.all;
    for (const auto &[name, type] : types.named)
      options.dataTypes.named[written.names.at(name)] = type;
    llvm::Expected<Compiled> compiled = compile(written.text);
    return compiled ? property::findPlans(compiled->recurrence, options) : compiled.takeError();
  }
  static DisguiseOptions drawOptions(Random &random) {
    DisguiseOptions how;
    how.law = random.pick(std::vector{Law::KeepsNormalForm, Law::KeepsClass});
    how.renameDeclarations = random.chance(0.5);
    how.reorderDeclarations = false; // which tiles have room is found in the order of states
    how.rewritesPerStatement = random.below(8);
    how.moves = random.below(8);
    return how;
  }

  unsigned compared = 0; // with plans
};

void Spellings::expectOnePlan(const DrawnRecurrence &recurrence, uint64_t seed, unsigned disguises) {
  Random random(seed);
  DataTypes types = drawTypes(recurrence, random);
  Disguise plain = writePlainly(recurrence);
  llvm::Expected<PlansOfTarget> plans = findPlans(plain, types);
  if (!plans) { // what has no plan has none in disguise; texts drawn with some of their options may be none
    llvm::consumeError(plans.takeError());
    return;
  }
  for (unsigned i = 0; i < disguises; ++i, ++compared) {
    DisguiseOptions options = drawOptions(random);
    auto findDifference = [&](const Disguise &disguise) {
      llvm::Expected<PlansOfTarget> own = findPlans(disguise, types);
      return own ? comparePlans(*plans, *own, tolerance) : llvm::toString(own.takeError());
    };
    std::string difference = findDifference(disguise(recurrence, seed + i, options));
    if (!difference.empty())
      ADD_FAILURE() << types.print() << "\n"
                    << difference
                    << describeFailingDisguise(recurrence, seed + i, options, recurrence.name,
                                               [&](const Disguise &d) { return !findDifference(d).empty(); });
  }
}

TEST_P(Spellings, OfLayersHaveOnePlan) {
  Seeds seeds = pickSeeds(110000, 44);
  std::map<unsigned, PlansOfTarget> plans; // of each layer
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    DrawnRecurrence layer = makeLayer(seed % countLayers(), seed / countLayers() % 2);
    layer.seed = seed;
    expectOnePlan(layer, seed);
    // Both orientations, which are forms of one layer.
    auto find = [&](const DrawnRecurrence &of) { return findPlans(writePlainly(of), DataType::BF16); };
    auto [known, isNew] = plans.try_emplace(seed % countLayers());
    llvm::Expected<PlansOfTarget> own = find(layer);
    ASSERT_TRUE(bool(own)) << llvm::toString(own.takeError());
    if (isNew)
      known->second = *own;
    EXPECT_EQ(comparePlans(known->second, *own, tolerance), "") << writePlainly(layer).text;
  }
  EXPECT_EQ(compared, seeds.count);
}

/// With options drawn: some have no meaning, and no plan.
TEST_P(Spellings, OfTextsOfPythonHaveOnePlan) {
  auto source = llvm::MemoryBuffer::getFile(RECUR_SOURCE_DIR "/python/recur/fla_texts.py");
  ASSERT_TRUE(source);
  std::vector<TextWithOptions> texts = readPythonTexts((*source)->getBuffer());
  ASSERT_GE(texts.size(), 15u);
  Seeds seeds = pickSeeds(111000, 48);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Random random(seed);
    std::optional<DrawnRecurrence> layer = readLayer(texts[seed % texts.size()].draw(random));
    if (!layer)
      continue;
    layer->seed = seed;
    expectOnePlan(*layer, seed);
  }
  EXPECT_GE(compared, seeds.count / 2);
}

TEST_P(Spellings, OfExamplesHaveOnePlan) {
  std::vector<std::string> paths = test::listExamples();
  Seeds seeds = pickSeeds(112000, paths.size());
  unsigned read = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    std::optional<DrawnRecurrence> layer = readLayer(test::readExample(paths[seed % paths.size()]));
    if (!layer)
      continue;
    ++read;
    layer->seed = seed;
    expectOnePlan(*layer, seed);
  }
  EXPECT_EQ(compared, read);
  EXPECT_GE(read, seeds.count / 2);
}

TEST_P(Spellings, OfRandomRecurrencesHaveOnePlan) {
  Seeds seeds = pickSeeds(113000, 40);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed)
    if (DrawnRecurrence drawn = drawRecurrence(seed); !drawn.choosesReads)
      expectOnePlan(drawn, seed);
  EXPECT_GE(compared, seeds.count / 2);
}

INSTANTIATE_TEST_SUITE_P(Targets, Spellings, testing::Values("sm_90a", "x86-64-v4"), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
