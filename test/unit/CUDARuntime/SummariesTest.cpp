// Summaries of parts of sequences on a GPU: which launches a call becomes, and what each is given.
#include "LaunchTesting.h"
#include <algorithm>
#include <cstring>

using ::testing::ElementsAre;
namespace words = recur::abi;

namespace {

constexpr int64_t units = 8, keys = 8, values = 6, mapSize = keys * keys + values, stateSize = values * keys;

constexpr recur_launch_info summaryLaunch = {"gdn_summary", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
constexpr recur_launch_info compose = {"gdn_compose", 128, 0, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
constexpr recur_kernel_info summaryKernel = {nullptr,        100,     0, RECUR_PLAN_CHUNK, 64,     nullptr, 0, 1,
                                             &summaryLaunch, nullptr, 0, nullptr,          nullptr};
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
                                               : 2],
                  0, 0};
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
  alignas(64) float maps[3][units * mapSize], offsets[3][units * stateSize],
      states[2][units * keys * keys]; // square ones too
  alignas(64) char initial[units * stateSize * 4];
  std::vector<char> space;
};

TEST_F(Summaries, BeginAsTheIdentity) {
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose", "gdn_summary"));
  const FakeLaunch &map = fakeCUDA.all[0], &scales = fakeCUDA.all[1];
  int64_t m = word(map, words::ComposeResultWord), s = m + keys * keys * 4;
  EXPECT_EQ(word(map, words::ComposeOperationWord), words::IdentityOperation);
  EXPECT_EQ(word(map, words::ComposeRowsWord), keys);
  EXPECT_EQ(word(map, words::ComposeColumnsWord), keys);
  EXPECT_EQ(word(map, words::ComposeUnitsWord), 1) << "all units begin alike";
  EXPECT_GE(m, at(call.workspace) + units * 128) << "behind what the launches need";
  EXPECT_EQ(word(scales, words::ComposeOperationWord), words::FillOperation);
  EXPECT_EQ(word(scales, words::ComposeResultWord), s);
  EXPECT_EQ(word(scales, words::ComposeRowsWord), values);
  EXPECT_LE(m + mapSize * 4, at(call.workspace) + call.workspace_bytes);
  const FakeLaunch &run = fakeCUDA.all[2];
  EXPECT_EQ(run.words[size_t(words::LeftAloneWord)], 0);
  EXPECT_EQ(run.grid.front(), unsigned(units));
  EXPECT_THAT(dataOf(run, 8),
              ElementsAre(at(q), at(mu), s, m, 0, at(result.maps + keys * keys), at(result.maps), at(result.offsets)));
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
  ASSERT_EQ(fakeCUDA.all.size(), 6u);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeResultWord), at(result.maps));
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeUnitsWord), units);
}

// The offset of an extremum begins as the least number, and not as zero.
TEST_F(Summaries, BeginWithOffsetsThatAreNotZero) {
  use(maximum);
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose", "gdn_summary"));
  EXPECT_EQ(dataOf(fakeCUDA.all[2], 4)[3], word(fakeCUDA.all[1], words::ComposeResultWord));
}

// A few tokens before the end are tried first. Where their map leaves nothing of what was before, the head is left
// alone when all are gone over.
TEST_F(Summaries, TryTheLastTokensFirst) {
  call.T = 32768;
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  space.resize(size_t(call.workspace_bytes + 64));
  call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose",                               // what it begins as
                                     "gdn_summary", "gdn_compose", "gdn_compose", "gdn_compose", // of 512 tokens
                                     "gdn_summary", "gdn_compose", "gdn_compose", "gdn_compose", "gdn_summary"));
  const FakeLaunch &begun = fakeCUDA.all[3], &map = fakeCUDA.all[4], &scales = fakeCUDA.all[5];
  int64_t flags = word(begun, words::ComposeResultWord);
  EXPECT_EQ(word(begun, words::ComposeOperationWord), words::FillOperation);
  EXPECT_EQ(word(begun, words::ComposeUnitsWord), units);
  EXPECT_GE(flags, at(call.workspace) + units * 128) << "behind what the launches need";
  EXPECT_LE(flags + units * 4, word(fakeCUDA.all[0], words::ComposeResultWord)) << "before what summaries begin as";
  for (const FakeLaunch *judged : {&map, &scales}) {
    EXPECT_EQ(word(*judged, words::ComposeOperationWord), words::LargeOperation);
    EXPECT_EQ(word(*judged, words::ComposeResultWord), flags);
    EXPECT_EQ(word(*judged, words::ComposeResultUnitWord), 1);
    EXPECT_EQ(word(*judged, words::ComposeLeftUnitWord), mapSize);
  }
  float most[2];
  for (int i = 0; i < 2; ++i) {
    auto bits = int32_t(word(fakeCUDA.all[size_t(4 + i)], words::ComposeValueWord));
    memcpy(&most[i], &bits, sizeof bits);
  }
  EXPECT_EQ(most[0], float(words::little / keys));
  EXPECT_EQ(most[1], 1);
  int64_t tokens[] = {512, 4096, 32768};
  for (int i = 0; i < 3; ++i) {
    const FakeLaunch &run = fakeCUDA.all[size_t(2 + 4 * i)];
    int64_t tokenBytes = word(run, words::getWord(0, words::TokenStrideWord)) * 2;
    EXPECT_EQ(word(run, words::TokensWord), tokens[i]);
    EXPECT_EQ(word(run, words::getWord(0, words::DataWord)), at(q) + (32768 - tokens[i]) * tokenBytes);
    EXPECT_EQ(word(run, words::LeftAloneWord), i ? flags : 0);
    EXPECT_EQ(word(run, words::getWord(7, words::DataWord)), at(result.offsets));
  }
}

// Of an extremum no map says that nothing remains, and nobody knows states within a part that another needs.
TEST_F(Summaries, GoOverAllTokensWhereNothingIsKnownOfTheRest) {
  int32_t needed = 0;
  recur_summary_info needs = rightMap;
  needs.needs = &needed;
  needs.need_count = 1;
  arguments[2].data = initial;
  for (const recur_summary_info &info : {maximum, needs}) {
    use(info);
    call.T = 32768;
    call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
    space.resize(size_t(call.workspace_bytes + 64));
    call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
    fakeCUDA.all.clear();
    ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
    std::vector<std::string> launched = symbols();
    EXPECT_EQ(std::count(launched.begin(), launched.end(), "gdn_summary"), 1);
  }
}

// Maps and offsets may be columns of one array.
TEST_F(Summaries, MayLieBetweenOthers) {
  result.map_stride = first.map_stride = 1000;
  result.offset_stride = first.offset_stride = 2000;
  call.workspace_bytes = recur_summary_workspace_size(&own, &call, 0);
  ASSERT_EQ(recur_summarise(&own, &call, 0, result), RECUR_OK) << recur_message();
  const FakeLaunch &run = fakeCUDA.all.back();
  EXPECT_EQ(word(run, words::getWord(5, words::HeadStrideWord)), 1000) << "scales lie right behind the map";
  EXPECT_EQ(word(run, words::getWord(6, words::HeadStrideWord)), 1000);
  EXPECT_EQ(word(run, words::getWord(7, words::HeadStrideWord)), 2000);
  EXPECT_EQ(word(run, words::getWord(7, words::SequenceStrideWord)), 8000);
  fakeCUDA.all.clear();
  ASSERT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0], states[1]), RECUR_OK) << recur_message();
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeRightUnitWord), 1000);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeScaleUnitWord), 1000);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeAddUnitWord), 2000);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeLeftUnitWord), stateSize) << "states are dense";
  first.map_stride = mapSize - 1;
  EXPECT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0], states[1]), RECUR_BAD_SIZE);
  EXPECT_STREQ(recur_message(), "gdn: the maps of a head lie 69 numbers behind those before it, and have 70");
}

TEST_F(Summaries, TakeWhatTheFirstPartKnowsThroughOthers) {
  recur_summary parts[] = {first, second, result};
  ASSERT_EQ(recur_apply_summaries(&own, &call, 0, 0, parts, 3, states[0]), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_compose", "gdn_compose"));
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeLeftWord), at(first.offsets)) << "of the first the offset alone";
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeRightWord), at(second.maps));
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeResultWord), at(call.workspace));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeLeftWord), at(call.workspace));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeRightWord), at(result.maps));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeAddWord), at(result.offsets));
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeResultWord), at(states[0]));
  fakeCUDA.all.clear();
  ASSERT_EQ(recur_apply_summaries(&own, &call, 0, 0, parts, 1, states[0]), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeOperationWord), words::ScaledOperation);
  EXPECT_EQ(recur_apply_summaries(&own, &call, 0, 0, parts, 0, states[0]), RECUR_BAD_SIZE);
  EXPECT_STREQ(recur_message(), "gdn: there are 0 parts; a state goes through one at least");
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

// A thread has several rows of a column where their number is a multiple, and rows begin where vectors may.
TEST_F(Summaries, TakeStatesThroughThemInBlocks) {
  recur_array_info square[std::size(arrays)];
  std::copy(std::begin(arrays), std::end(arrays), square);
  square[2].shape[0] = keys;
  summary.scale_size = 0;
  own.arrays = square;
  for (int backward : {0, 1}) {
    fakeCUDA.all.clear();
    ASSERT_EQ(recur_apply_summary(&own, &call, 0, backward, first, states[0], states[1]), RECUR_OK) << recur_message();
    ASSERT_THAT(symbols(), ElementsAre("gdn_compose"));
    EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeOperationWord), words::BlockProductOperation);
    EXPECT_EQ(word(fakeCUDA.all[0], words::ComposeRightInnerWord), backward ? 1 : keys);
    EXPECT_EQ(fakeCUDA.all[0].grid.front(), unsigned(units * keys / words::blockRows * keys + 127) / 128);
  }
  ASSERT_EQ(recur_apply_summary(&own, &call, 0, 0, first, states[0] + 1, states[1]), RECUR_OK) << recur_message();
  EXPECT_EQ(word(fakeCUDA.all[1], words::ComposeOperationWord), words::ProductOperation)
      << "rows begin between vectors";
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
