// Two launches of a call: side by side, with tensor maps, and cut into segments.
#include "LaunchTesting.h"

using ::testing::ElementsAre;

namespace {

/// A launch leaves one number a token for one that can run beside it, with two parts of the values.
class SideBySide : public Launch {
protected:
  SideBySide() {
    fakeCUDA.wordCount = recur::abi::countWords(3);
    call.T = 640; // ten chunks
    arguments[0].data = q;
    arguments[3].data = o;
    call.B = 1;
    call.H = call.Hq = 2;
    call.workspace = larger;
    call.workspace_bytes = sizeof larger;
  }
  ~SideBySide() override { recur_unload(&pair); }
  recur_status forwardPair() { return recur_forward(&pair, &call); }
  const std::vector<int64_t> &words(int launch) const { return fakeCUDA.all[launch].words; }
  int64_t flags(int launch) const { return words(launch)[recur::abi::getWord(2, recur::abi::DataWord)]; }

  recur_launch_array firstArrays[2] = {{0, -1, 0, 0}, {5, -1, 0, 0}};
  recur_launch_array secondArrays[2] = {{5, -1, 0, 0}, {4, 0, 3, 0}};
  recur_launch_info launchPair[2] = {{"gdn_early", 128, 1024, 0, 1, 1, firstArrays, 2, 3, 0, 2, 0, 0, nullptr, 0},
                                     {"gdn_chain", 256, 1000, 0, 2, 0, secondArrays, 2, 0, 1, 0, 0, 0, nullptr, 0}};
  recur_left_info left[1] = {{64, 4, 0, {0, 0}, 0, 0}};
  recur_kernel_info pairKernel = {nullptr,    0,    0, RECUR_PLAN_CHUNK, 64,     nullptr, 0, 2,
                                  launchPair, left, 1, nullptr,          nullptr};
  recur_recurrence pair = {RECUR_ABI_VERSION, 90,         4,        1,       arrays,
                           &pairKernel,       "gdn",      "sm_90a", "0.1",   nullptr,
                           "image",           RECUR_CUDA, nullptr,  nullptr, nullptr};
  alignas(64) char q[640 * 2 * 8 * 2], o[640 * 2 * 6 * 2], larger[100000];
  static constexpr int64_t leftBytes = 2 * 10 * 64 * 4;
};

TEST_F(SideBySide, TheFirstLeavesMultiprocessorsToTheSecond) {
  // Four of ten are the second's, for two heads in two parts. The others have 18 teams, nine for each head, which have
  // ten chunks of cost 2 in two rounds, 12 chunks' time, and the second goes over the last one then. One behind
  // the other it would be 14.
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(6, 1, 1));
  EXPECT_THAT(fakeCUDA.all[0].block, ElementsAre(128, 3, 1));
  EXPECT_EQ(fakeCUDA.all[0].sharedBytes, 3 * 1024u);
  EXPECT_FALSE(fakeCUDA.all[0].isEarly);
  EXPECT_THAT(fakeCUDA.all[1].grid, ElementsAre(2, 1, 2));
  EXPECT_THAT(fakeCUDA.all[1].block, ElementsAre(256, 1, 1));
  EXPECT_TRUE(fakeCUDA.all[1].isEarly);
  EXPECT_THAT(std::vector(words(0).begin() + recur::abi::UnitsWord, words(0).begin() + recur::abi::PoolsWord),
              ElementsAre(2, 18, 18, 0));
  // A flag of four bytes for each chunk of each head, behind what is left.
  EXPECT_EQ(recur_workspace_size(&pair, &call), leftBytes + 256);
  EXPECT_EQ(flags(0), at(larger) + leftBytes);
  EXPECT_EQ(flags(1), flags(0));
  EXPECT_EQ(words(1)[recur::abi::getWord(2, recur::abi::HeadStrideWord)], 10);
}

/// A lane finds flags like an array, and asks whether they are in a pool.
TEST_F(SideBySide, FlagsAreInNoPool) {
  const int32_t row = 0;
  call.state_indices = &row;
  call.pool_rows = 1;
  arguments[4].data = S;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  auto rowsOf = [&](int launch, int array) {
    return words(launch)[recur::abi::getPoolWord(3, array, recur::abi::RowsWord)];
  };
  EXPECT_EQ(rowsOf(0, 2), 0);
  EXPECT_EQ(rowsOf(1, 1), at(&row));
  EXPECT_EQ(rowsOf(1, 2), 0);
}

TEST_F(SideBySide, WhatTakesLongBeginsOnAllMultiprocessors) {
  // A round takes 18 chunks' time. Those that last have nine chunks for each head in it, and all ten 15. Behind four of
  // all the others have the rest of a hundred in 94, and the second launch goes over all in 100.
  launchPair[0].cost = 6;
  call.T = 6400;
  alignas(64) static char longQ[6400 * 2 * 8 * 2], longO[6400 * 2 * 6 * 2];
  alignas(64) static char longWorkspace[2 * 100 * 64 * 4 + 1024];
  arguments[0].data = longQ;
  arguments[3].data = longO;
  call.workspace = longWorkspace;
  call.workspace_bytes = sizeof longWorkspace;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(10, 1, 1));
  EXPECT_THAT(std::vector(words(0).begin() + recur::abi::UnitsWord, words(0).begin() + recur::abi::PoolsWord),
              ElementsAre(2, 30, 18, 4));
  // Of cost 20 six rounds come first, and all is done in .96 of the time that both take one behind the other: such
  // gains were none.
  fakeCUDA.all.clear();
  launchPair[0].cost = 20;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  EXPECT_FALSE(fakeCUDA.all[1].isEarly);
}

TEST_F(SideBySide, WithoutRoomOneFollowsTheOther) {
  auto isPlain = [&](unsigned rows) {
    fakeCUDA.all.clear();
    EXPECT_EQ(forwardPair(), RECUR_OK) << recur_message();
    ASSERT_EQ(fakeCUDA.all.size(), 2u);
    EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2, rows, 1));
    EXPECT_THAT(fakeCUDA.all[0].block, ElementsAre(128, 1, 1));
    EXPECT_EQ(fakeCUDA.all[0].sharedBytes, 1024u);
    EXPECT_FALSE(fakeCUDA.all[1].isEarly);
    EXPECT_EQ(flags(0), 0);
    EXPECT_EQ(flags(1), 0);
  };
  fakeCUDA.multiprocessors = 4; // all are the second's
  isPlain(5);                   // twelve CTAs have room, and two chunks each are done after one beginning
  fakeCUDA.multiprocessors = 10;
  call.T = 3 * 64; // too few chunks to gain anything
  isPlain(3);
  call.T = 640;
  launchPair[0].cost = 20;      // four multiprocessors less for all of it take longer than the second launch
  isPlain(10);                  // all CTAs have room at once
  fakeCUDA.multiprocessors = 0; // nobody knows how many have
  isPlain(10);
}

TEST_F(SideBySide, TeamsGoFromHeadToHead) {
  fakeCUDA.multiprocessors = 9; // five of which the second launch leaves
  auto teams = [&] {
    fakeCUDA.all.clear();
    EXPECT_EQ(forwardPair(), RECUR_OK) << recur_message();
    return words(0)[recur::abi::LastingTeamsWord];
  };
  EXPECT_EQ(teams(), 15);
  // A team that is alone in its CTA keeps its head, and so do those of packed sequences, which have numbers of chunks
  // of their own.
  launchPair[0].teams = 1;
  EXPECT_EQ(teams(), 4);
  launchPair[0].teams = 3;
  int64_t offsets[] = {0, 640};
  call.sequence_offsets = call.device_offsets = offsets;
  call.sequence_count = 1;
  EXPECT_EQ(teams(), 14);
}

/// Of the second launch's arrays, rows of queries come by tensor maps.
class Maps : public SideBySide {
protected:
  Maps() {
    launchPair[1].arrays = mapped;
    launchPair[1].array_count = 3;
    fakeCUDA.wordCount = recur::abi::getMapWord(4, 1);
  }
  ~Maps() override { recur_unload(&pair); }
  bool areMapped() {
    fakeCUDA.all.clear();
    fakeCUDA.maps.clear();
    EXPECT_EQ(forwardPair(), RECUR_OK) << recur_message();
    return words(1)[recur::abi::MapsWord];
  }
  recur_launch_array mapped[3] = {{0, -1, 0, 64}, {5, -1, 0, 0}, {4, 0, 3, 0}};
};

TEST_F(Maps, DescribeRowsOfTokens) {
  call.H = 2;
  call.Hq = 1;
  ASSERT_TRUE(areMapped());
  ASSERT_EQ(fakeCUDA.maps.size(), 1u);
  const FakeMap &map = fakeCUDA.maps.front();
  EXPECT_EQ(map.data, q);
  EXPECT_THAT(map.sizes, ElementsAre(8, 1, 640, 1, 1)) << "columns, micro-steps, tokens, heads, sequences";
  EXPECT_THAT(map.strides, ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(map.box, ElementsAre(64, 1, 64, 1, 1));
  EXPECT_EQ(words(1)[recur::abi::getMapWord(4, 0)], FakeMap::mark) << "behind the words, of flags as well";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(map.place) % recur::abi::mapAlignment, 0u);
  EXPECT_FALSE(words(0)[recur::abi::MapsWord]) << "the first launch has none";
}

TEST_F(Maps, DescribeHeads) {
  ASSERT_TRUE(areMapped());
  EXPECT_THAT(fakeCUDA.maps.front().sizes, ElementsAre(8, 1, 640, 2, 1));
  EXPECT_THAT(fakeCUDA.maps.front().strides, ElementsAre(16, 32, 16, 16));
}

TEST_F(Maps, AreNotThereWhereTheyCannotBe) {
  fakeCUDA.errorOfMap = 1; // which the driver says of arrays that are not aligned
  EXPECT_FALSE(areMapped());
  fakeCUDA.errorOfMap = 0;
  arguments[3].data = nullptr; // an output that nobody wants
  mapped[0].number = 3;
  EXPECT_FALSE(areMapped());
  mapped[0].number = 0;
  arguments[3].data = o;
  EXPECT_TRUE(areMapped());
  int64_t offsets[] = {0, 640};
  call.sequence_offsets = call.device_offsets = offsets;
  call.sequence_count = 1;
  EXPECT_FALSE(areMapped()) << "rows behind a sequence's end are another's";
}

TEST_F(SideBySide, NoMoreThanThreeTeamsAreBesideAnotherLaunch) {
  launchPair[0].teams = 4;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(6, 1, 1));
  EXPECT_THAT(fakeCUDA.all[0].block, ElementsAre(128, 3, 1));
  EXPECT_EQ(fakeCUDA.all[0].sharedBytes, 3 * 1024u);
}

/// The second launch can be cut. Ten chunks, which it has in two parts for each of two heads, on ten multiprocessors.
class Segments : public SideBySide {
protected:
  Segments() {
    launchPair[1].cuts = 1;
    pair.kernel_count = 2;
    pair.kernels = kernels;
    kernels[1].plan = RECUR_PLAN_SEGMENT;
  }
  ~Segments() override { recur_unload(&pair); }
  void expectGrids(std::vector<unsigned> first, std::vector<unsigned> second, bool isEarly = false) {
    fakeCUDA.all.clear();
    ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
    ASSERT_EQ(fakeCUDA.all.size(), 2u);
    EXPECT_EQ(fakeCUDA.all[0].grid, first);
    EXPECT_EQ(fakeCUDA.all[1].grid, second);
    EXPECT_EQ(fakeCUDA.all[1].isEarly, isEarly);
    EXPECT_EQ(flags(0) != 0, isEarly) << "nobody awaits chunks of a launch that has ended";
  }
  recur_kernel_info kernels[2] = {pairKernel, pairKernel};
  alignas(64) char initial[sizeof S];
};

TEST_F(Segments, FillMultiprocessorsWhereThatIsFaster) {
  // Two fit, which take 9 chunks' time where gates are strong and 10 where they are not, and .1 before. Side by side it
  // is 10.
  launchPair[0].cost = 0.05f;
  expectGrids({2, 10, 1}, {2, 2, 2});
  // What takes .4 of a chunk's time for each chunk is better not waited for.
  launchPair[0].cost = 2;
  expectGrids({6, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
}

/// A CTA within a sequence may begin with its initial state when that of the last segment has ended.
TEST_F(Segments, AreNotCutWhereStatesAreInPlace) {
  launchPair[0].cost = 0.05f;
  arguments[2].data = initial;
  expectGrids({2, 10, 1}, {2, 2, 2});
  arguments[2].data = S;
  expectGrids({6, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
  call.plan = RECUR_PLAN_SEGMENT;
  expectGrids({6, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
}

TEST_F(Segments, NeedMultiprocessorsAndChunks) {
  launchPair[0].cost = 0.05f;
  fakeCUDA.multiprocessors = 7; // of which one segment takes four
  expectGrids({3, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
  fakeCUDA.multiprocessors = 10;
  call.T = 7 * 64; // of which a segment would have fewer than what it goes over besides
  expectGrids({5, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
}

TEST_F(Segments, AreForcedByTheirPlanAndForbiddenByAnother) {
  launchPair[0].cost = 2;
  call.plan = RECUR_PLAN_SEGMENT;
  expectGrids({2, 10, 1}, {2, 2, 2});
  fakeCUDA.multiprocessors = 1; // whose three CTAs of the first launch take four chunks each
  expectGrids({2, 3, 1}, {2, 2, 2});
  fakeCUDA.multiprocessors = 1000;
  expectGrids({2, 10, 1}, {2, 10, 2}); // as many as there are chunks
  launchPair[0].cost = 0.05f;
  fakeCUDA.multiprocessors = 10;
  call.plan = RECUR_PLAN_CHUNK;
  expectGrids({6, 1, 1}, {2, 1, 2}, /*isEarly=*/true);
}

/// A launch in front that leaves what a cut one needs is not made for others.
TEST_F(Segments, BoundsAreFoundWhereTheyAreNeeded) {
  recur_launch_info three[3] = {launchPair[0], launchPair[0], launchPair[1]};
  three[0].symbol = "gdn_remains";
  three[0].teams = 0;
  three[0].bounds = 1;
  for (recur_kernel_info &kernel : kernels) {
    kernel.launches = three;
    kernel.launch_count = 3;
  }
  call.plan = RECUR_PLAN_SEGMENT;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 3u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_remains");
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2, 10, 1));
  fakeCUDA.all.clear();
  call.plan = RECUR_PLAN_CHUNK;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_early");
  recur_unload(&pair);
}

/// A launch between the two summarises segments. It has two CTAs for values, and two for what becomes of a state.
TEST_F(Segments, AreSummarisedButForTheLast) {
  recur_launch_info three[3] = {launchPair[0], launchPair[1], launchPair[1]};
  three[1].symbol = "gdn_summaries";
  three[1].awaits = 0;
  three[1].bounds = 1;
  three[1].parts = 4;
  three[1].cost = 0.5f;
  three[1].workspace_bytes = three[2].workspace_bytes = 1024;
  for (recur_kernel_info &kernel : kernels) {
    kernel.launches = three;
    kernel.launch_count = 3;
  }
  alignas(64) static char space[1 << 20];
  call.workspace = space;
  call.workspace_bytes = sizeof space;
  call.plan = RECUR_PLAN_SEGMENT;
  fakeCUDA.multiprocessors = 12; // on which three segments of two heads in two parts fit
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 3u);
  EXPECT_EQ(fakeCUDA.all[1].symbol, "gdn_summaries");
  EXPECT_THAT(fakeCUDA.all[1].grid, ElementsAre(2, 2, 4));
  EXPECT_THAT(fakeCUDA.all[2].grid, ElementsAre(2, 3, 2));
  EXPECT_FALSE(fakeCUDA.all[2].isEarly);
  EXPECT_EQ(words(1)[recur::abi::WorkspaceWord], words(2)[recur::abi::WorkspaceWord]) << "where they are looked for";
  // Of whole sequences nobody asks for summaries, and the first launch runs beside the last.
  fakeCUDA.all.clear();
  call.plan = RECUR_PLAN_CHUNK;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_TRUE(fakeCUDA.all[1].isEarly);
  recur_unload(&pair);
}

/// Of two launches over the chunks, each behind one that summarises its segments, the first is better left whole.
TEST_F(Segments, AreSummarisedForTheLaunchThatIsCut) {
  recur_launch_info five[5] = {launchPair[0], launchPair[1], launchPair[1], launchPair[1], launchPair[1]};
  const char *symbols[] = {"gdn_early", "one_summaries", "one", "other_summaries", "other"};
  for (int i = 0; i < 5; ++i) {
    five[i].symbol = symbols[i];
    five[i].awaits = i == 2;
    five[i].bounds = i == 1 || i == 3;
    five[i].workspace_bytes = i ? 1024 : 0;
  }
  five[1].cost = 100;
  five[3].cost = 0.5f;
  for (recur_kernel_info &kernel : kernels) {
    kernel.launches = five;
    kernel.launch_count = 5;
  }
  alignas(64) static char space[1 << 22], longer[2][1 << 20];
  arguments[0].data = longer[0];
  arguments[3].data = longer[1];
  call.workspace = space;
  call.workspace_bytes = sizeof space;
  call.T = 64 * 64;
  fakeCUDA.multiprocessors = 36;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 4u);
  EXPECT_EQ(fakeCUDA.all[1].symbol, "one");
  EXPECT_EQ(fakeCUDA.all[1].grid[1], 1u);
  EXPECT_EQ(fakeCUDA.all[2].symbol, "other_summaries");
  EXPECT_EQ(fakeCUDA.all[3].symbol, "other");
  EXPECT_GT(fakeCUDA.all[3].grid[1], 1u);
  EXPECT_EQ(fakeCUDA.all[2].grid[1] + 1, fakeCUDA.all[3].grid[1]) << "of the last nobody asks for one";
  recur_unload(&pair);
}

/// How long packed sequences are the GPU alone may know: a launch says for any length how one is cut, as one is that is
/// not packed.
TEST_F(Segments, AreAsManyOfPackedSequencesAsOfEachByItself) {
  alignas(64) static char longer[2][1 << 20], space[1 << 22];
  arguments[0].data = longer[0];
  arguments[3].data = longer[1];
  call.workspace = space;
  call.workspace_bytes = sizeof space;
  auto countOf = [&](int64_t sequences, int64_t tokens, const int64_t *offsets) {
    call.B = offsets ? 1 : sequences;
    call.T = tokens;
    call.sequence_offsets = call.device_offsets = offsets;
    call.sequence_count = offsets ? sequences : 0;
    fakeCUDA.all.clear();
    EXPECT_EQ(recur_forward(&pair, &call), RECUR_OK) << recur_message();
    const FakeLaunch &last = fakeCUDA.all.back();
    auto ofClass = reinterpret_cast<const uint8_t *>(&last.words[recur::abi::CutsWord]);
    return offsets ? ofClass[recur::abi::getCutClass((tokens / sequences + 63) / 64)] : last.grid[1];
  };
  int cut = 0, whole = 0;
  for (int64_t tokens : {500, 640, 1000})
    for (float cost : {0.05f, 0.2f, 0.35f, 0.5f, 0.8f, 1.2f, 2.0f})
      for (int multiprocessors = 8; multiprocessors < 40; ++multiprocessors) {
        launchPair[0].cost = cost;
        fakeCUDA.multiprocessors = multiprocessors;
        const int64_t offsets[] = {0, tokens, 2 * tokens};
        unsigned apart = countOf(2, tokens, nullptr);
        ASSERT_EQ(countOf(2, 2 * tokens, offsets), apart) << tokens << " tokens, " << cost << ", " << multiprocessors;
        ++(apart > 1 ? cut : whole);
      }
  EXPECT_GT(cut, 20);
  EXPECT_GT(whole, 20);
}

TEST_F(Segments, OfNoTokensThereIsOne) {
  call.T = 0;
  call.plan = RECUR_PLAN_SEGMENT;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2, 1, 2)) << "which gives back the states";
}

TEST_F(SideBySide, OneTeamIsACTA) {
  launchPair[0].teams = 1;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(10, 1, 1)); // all multiprocessors, in a round
  EXPECT_THAT(fakeCUDA.all[0].block, ElementsAre(128, 1, 1));
  EXPECT_TRUE(fakeCUDA.all[1].isEarly);
}

TEST_F(SideBySide, WithoutTokensNobodyIsAwaited) {
  call.T = 0;
  ASSERT_EQ(forwardPair(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_FALSE(fakeCUDA.all[0].isEarly);
  EXPECT_EQ(flags(0), 0);
}

} // namespace
