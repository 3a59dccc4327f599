// Summaries of parts of sequences on a GPU: which launches a call becomes, and what each is given.
#include "LaunchTesting.h"
#include <cstring>

using ::testing::ElementsAre;
namespace words = recur::abi;

namespace {

constexpr int64_t units = 8, keys = 8, values = 6, mapSize = keys * keys + values, stateSize = values * keys;

constexpr recur_launch_info summaryLaunch = {"gdn_summary", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr};
constexpr recur_launch_info compose = {"gdn_compose", 128, 0, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr};
constexpr recur_kernel_info summaryKernel = {nullptr,        100,     0, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1,
                                             &summaryLaunch, nullptr, 0, nullptr};
constexpr recur_summary_info rightMap = {nullptr, nullptr,           nullptr,       0, 0, keys, 0, 0, 1, 1, values,
                                         0,       RECUR_NO_EXTREMUM, &summaryKernel};
constexpr recur_summary_info maximum = {nullptr, nullptr, nullptr, 0, 0, 0,         0,
                                        -1,      1,       1,       0, 0, RECUR_MAX, &summaryKernel};

class Summaries : public Launch {
protected:
  Summaries() {
    fakeCUDA.wordCount = size_t(words::countWords(8));
    use(rightMap);
    arguments[2].data = initial;
    space.resize(size_t(2 * units * mapSize * 4 + 4096));
    call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
    call.workspace_bytes = units * mapSize * 4;
    for (auto *summary : {&first, &second, &result})
      *summary = {maps[summary == &first    ? 0
                       : summary == &second ? 1
                                            : 2],
                  offsets[summary == &first    ? 0
                          : summary == &second ? 1
                                               : 2]};
  }
  ~Summaries() override { recur_unload(&own); }

  void use(const recur_summary_info &info) {
    summary = info;
    parts = {&summary, &compose, 1};
    own = recurrence;
    own.parts = &parts;
  }
  std::vector<std::string> symbols() {
    std::vector<std::string> all;
    for (const FakeLaunch &launch : fakeCUDA.all)
      all.push_back(launch.symbol);
    return all;
  }
  static int64_t word(const FakeLaunch &launch, int number) { return launch.words[size_t(number)]; }
  static std::vector<int64_t> dataOf(const FakeLaunch &launch, int arrays) {
    std::vector<int64_t> data;
    for (int i = 0; i < arrays; ++i)
      data.push_back(launch.words[size_t(words::getWord(i, words::DataWord))]);
    return data;
  }

  recur_summary_info summary;
  recur_parts_info parts;
  recur_recurrence own;
  recur_summary first, second, result;
  alignas(64) float maps[3][units * mapSize], offsets[3][units * stateSize], states[2][units * stateSize];
  alignas(64) char initial[units * stateSize * 4];
  std::vector<char> space;
};

TEST_F(Summaries, BeginAsTheIdentity) {
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose", "gdn_compose", "gdn_summary"));
  const FakeLaunch &map = fakeCUDA.all[0], &scales = fakeCUDA.all[1], &offset = fakeCUDA.all[2];
  int64_t m = word(map, words::ComposeResultWord), s = m + keys * keys * 4, o = word(offset, words::ComposeResultWord);
  EXPECT_EQ(word(map, words::ComposeOperationWord), words::IdentityOperation);
  EXPECT_EQ(word(map, words::ComposeRowsWord), keys);
  EXPECT_EQ(word(map, words::ComposeColumnsWord), keys);
  EXPECT_EQ(word(map, words::ComposeUnitsWord), 1) << "all units begin alike";
  EXPECT_GE(m, at(call.workspace) + units * 128) << "behind what the launches need";
  EXPECT_EQ(word(scales, words::ComposeOperationWord), words::FillOperation);
  EXPECT_EQ(word(scales, words::ComposeResultWord), s);
  EXPECT_EQ(word(scales, words::ComposeRowsWord), values);
  EXPECT_EQ(word(offset, words::ComposeRowsWord), stateSize);
  EXPECT_GE(o, m + mapSize * 4);
  EXPECT_LE(o + stateSize * 4, at(call.workspace) + call.workspace_bytes);
  const FakeLaunch &run = fakeCUDA.all[3];
  EXPECT_EQ(run.grid.front(), unsigned(units));
  EXPECT_THAT(dataOf(run, 8),
              ElementsAre(at(q), at(mu), s, m, o, at(result.maps + keys * keys), at(result.maps), at(result.offsets)));
  auto strides = [&](int array, words::ArrayWord which) { return word(run, words::getWord(array, which)); };
  EXPECT_EQ(strides(3, words::SequenceStrideWord), 0);
  EXPECT_EQ(strides(3, words::HeadStrideWord), 0);
  EXPECT_EQ(strides(3, words::RowStrideWord), keys);
  EXPECT_EQ(strides(6, words::SequenceStrideWord), 4 * mapSize);
  EXPECT_EQ(strides(6, words::HeadStrideWord), mapSize);
  EXPECT_EQ(strides(7, words::HeadStrideWord), stateSize);
  EXPECT_EQ(fakeCUDA.stream, this);
}

TEST_F(Summaries, OfNoTokensAreWhatTheyBeginAs) {
  call.T = 0;
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 7u);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeResultWord), at(result.maps));
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeUnitsWord), units);
}

TEST_F(Summaries, TakeStatesThroughThem) {
  ASSERT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0], states[1]), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose"));
  const FakeLaunch &product = fakeCUDA.all[0];
  EXPECT_EQ(word(product, words::ComposeOperationWord), words::ProductOperation);
  EXPECT_EQ(word(product, words::ComposeResultWord), at(states[1]));
  EXPECT_EQ(word(product, words::ComposeLeftWord), at(states[0]));
  EXPECT_EQ(word(product, words::ComposeRightWord), at(first.maps));
  EXPECT_EQ(word(product, words::ComposeScaleWord), at(first.maps + keys * keys));
  EXPECT_EQ(word(product, words::ComposeAddWord), at(first.offsets));
  EXPECT_EQ(word(product, words::ComposeRowsWord), values);
  EXPECT_EQ(word(product, words::ComposeColumnsWord), keys);
  EXPECT_EQ(word(product, words::ComposeInnerWord), keys);
  EXPECT_EQ(word(product, words::ComposeRightInnerWord), keys);
  EXPECT_EQ(word(product, words::ComposeRightColumnWord), 1);
  EXPECT_EQ(word(product, words::ComposeScaleRowWord), 1);
  EXPECT_EQ(word(product, words::ComposeScaleColumnWord), 0);

  // Cotangents go through the map's other side; in their place only by way of the workspace.
  fakeCUDA.all.clear();
  ASSERT_EQ(recur_apply_summary(&own, &call, 0, 1, first, states[0], states[0]), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose"));
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeRightInnerWord), 1);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeRightColumnWord), keys);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeResultWord), at(call.workspace));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeOperationWord), words::ScaledOperation);
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeLeftWord), at(call.workspace));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeResultWord), at(states[0]));
}

TEST_F(Summaries, OfTwoPartsAreProductsWithMoreDigits) {
  ASSERT_EQ(recur_combine_summaries(&own, &call, 0, 0, first, second, result), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 3u);
  const FakeLaunch &offset = fakeCUDA.all[0], &map = fakeCUDA.all[1], &scales = fakeCUDA.all[2];
  EXPECT_EQ(word(offset, words::ComposeLeftWord), at(first.offsets));
  EXPECT_EQ(word(offset, words::ComposeRightWord), at(second.maps));
  EXPECT_EQ(word(offset, words::ComposeAddWord), at(second.offsets));
  EXPECT_EQ(word(map, words::ComposeOperationWord), words::PreciseProductOperation);
  EXPECT_EQ(word(map, words::ComposeLeftWord), at(first.maps)) << "rows go through the first part and then the second";
  EXPECT_EQ(word(map, words::ComposeRightWord), at(second.maps));
  EXPECT_EQ(word(scales, words::ComposeRowsWord), values);
  EXPECT_EQ(word(scales, words::ComposeLeftWord), at(first.maps + keys * keys));
}

TEST_F(Summaries, OfExtremaAreSumsAndExtrema) {
  use(maximum);
  ASSERT_EQ(recur_combine_summaries(&own, &call, 0, 0, first, second, result), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeOperationWord), words::MaxOperation);
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeOperationWord), words::SumOperation);
  fakeCUDA.all.clear();
  ASSERT_EQ(recur_apply_summary(&own, &call, 0, 1, first, states[0], states[0]), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u) << "each element goes by itself";
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeOperationWord), words::KeptOperation);
}

TEST_F(Summaries, AreDescribedWithoutAGPU) {
  fakeCUDA.capability = 80;
  recur_summary_shape shape;
  EXPECT_EQ(recur_summary_count(&own), 1);
  ASSERT_EQ(recur_describe_summary(&own, 0, &shape), RECUR_OK) << recur_message();
  EXPECT_EQ(shape.map_size, mapSize);
  EXPECT_EQ(shape.offset_size, stateSize);
  EXPECT_EQ(shape.has_backward_map, 0);
}

TEST_F(Summaries, ThatAreNotThereOrNotOnTheGPUAreRefused) {
  EXPECT_EQ(recur_summarise(&recurrence, &call, 0, result), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn has no summaries for a GPU: it was built without them (--summaries), or a state's "
                                "update is no map that chunks can be summarised by; recurc explain says which state "
                                "it is");
  EXPECT_EQ(recur_summary_count(&recurrence), -1);
  fakeCUDA.hostMemory = states[1];
  EXPECT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0], states[1]), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: summaries and states are not memory of a GPU");
  fakeCUDA.hostMemory = nullptr;
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0) - 1;
  EXPECT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0], states[1]), RECUR_SMALL_WORKSPACE);
  EXPECT_TRUE(fakeCUDA.all.empty());
}

} // namespace
