// What a call on a GPU's memory becomes: the words that a kernel is launched with, and what is refused before.
#include "ABI/LaunchWords.h"
#include "FakeCUDA.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"

using ::testing::ElementsAre;

namespace {

constexpr recur_array_info arrays[] = {{"q", RECUR_INPUT, RECUR_BF16, 1, 1, {8, 0}},
                                       {"mu", RECUR_PARAM, RECUR_BF16, 0, 0, {0, 0}},
                                       {"S", RECUR_STATE, RECUR_F32, 0, 2, {6, 8}},
                                       {"o", RECUR_OUTPUT, RECUR_BF16, 0, 1, {6, 0}}};
constexpr recur_launch_info launches[] = {{"gdn", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0}};
constexpr recur_kernel_info kernelInfo = {nullptr, 640, 0, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1, launches, nullptr, 0};
constexpr recur_recurrence recurrence = {RECUR_ABI_VERSION, 90,    4,       1,       arrays,     &kernelInfo, "gdn",
                                         "sm_90a",          "0.1", nullptr, "image", RECUR_CUDA, nullptr,     nullptr};

class Launch : public ::testing::Test {
protected:
  Launch() {
    fakeCUDA = FakeCUDA();
    fakeCUDA.context = &fakeCUDA;
    fakeCUDA.wordCount = recur::abi::countWords(5);
    call.B = 2;
    call.T = 70;
    call.H = 4;
    call.Hq = 2;
    arguments[0].data = q;
    arguments[1].data = mu;
    arguments[3].data = o;
    arguments[4].data = S;
    call.arguments = arguments;
    call.argument_count = 5;
    call.workspace = workspace;
    call.workspace_bytes = sizeof workspace;
    call.device = RECUR_CUDA;
    call.stream = this;
  }
  ~Launch() override { recur_unload(&recurrence); }

  recur_status forward(const int64_t *deviceOffsets = nullptr) {
    call.device_offsets = deviceOffsets;
    return recur_forward(&recurrence, &call);
  }
  std::vector<int64_t> wordsOf(int array) const {
    auto begin = fakeCUDA.words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }
  static int64_t at(const void *data) { return reinterpret_cast<int64_t>(data); }

  recur_call call = {};
  recur_argument arguments[5] = {};
  alignas(64) char q[2 * 70 * 2 * 8 * 2], mu[4 * 2], o[2 * 70 * 4 * 6 * 2], S[2 * 4 * 48 * 4], workspace[8 * 640];
};

TEST_F(Launch, ACTAForEachHeadOfEachSequence) {
  EXPECT_EQ(recur_workspace_size(&recurrence, &call), 8 * 640);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 8u);
  EXPECT_EQ(fakeCUDA.threads, 256u);
  EXPECT_EQ(fakeCUDA.launchShared, 1000u);
  EXPECT_EQ(fakeCUDA.sharedBytes, 1000);
  EXPECT_EQ(fakeCUDA.stream, this);
}

TEST_F(Launch, WordsSayWhereArraysLie) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(std::vector(fakeCUDA.words.begin(), fakeCUDA.words.begin() + 5),
              ElementsAre(70, 4, 0, at(workspace), 640));
  EXPECT_THAT(wordsOf(0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16)); // two heads share a value
  EXPECT_THAT(wordsOf(1), ElementsAre(at(mu), 0, 0, 1, 1, 1, 1, 0, 1, 0));
  EXPECT_THAT(wordsOf(2), ElementsAre(0, ::testing::_, 0, ::testing::_, 1, 8, 1, 0, 1, 0)); // absent: zeros
  EXPECT_THAT(wordsOf(3), ElementsAre(at(o), 70 * 24, 24, 6, 1, 1, 1, 0, 1, 24));
  EXPECT_THAT(wordsOf(4), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 0, 1, 0));
}

TEST_F(Launch, TransposedStatesAreReadAcross) {
  call.states_transposed = 1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(wordsOf(4), ElementsAre(at(S), 4 * 48, 0, 48, 1, 1, 6, 0, 1, 0));
}

TEST_F(Launch, PackedSequencesBeginWhereTheirOffsetsSay) {
  int64_t offsets[] = {0, 5, 5, 70}, onDevice[4];
  call.B = 1;
  call.sequence_offsets = offsets;
  call.sequence_count = 3;
  alignas(64) static char states[3 * 4 * 48 * 4], larger[12 * 640];
  arguments[4].data = states;
  call.workspace = larger;
  call.workspace_bytes = sizeof larger;
  ASSERT_EQ(forward(onDevice), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 12u);
  EXPECT_EQ(fakeCUDA.words[2], at(onDevice));
  EXPECT_EQ(wordsOf(0)[1], 0) << "tokens of all sequences lie one behind another";
  EXPECT_EQ(wordsOf(4)[1], 4 * 48);
  EXPECT_EQ(forward(), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(),
               "gdn: offsets are given twice, as sequence_offsets in memory of the host and as device_offsets in "
               "memory of the GPU; one of them is null");
}

/// Keys are the same for every part of the values; a launch leaves the state, in bf16, and one number a token.
class PhasedLaunch : public Launch {
protected:
  PhasedLaunch() {
    fakeCUDA.wordCount = recur::abi::countWords(4);
    call.workspace = larger;
    call.workspace_bytes = sizeof larger;
  }
  ~PhasedLaunch() override { recur_unload(&phased); }
  recur_status forwardPhases(const int64_t *deviceOffsets = nullptr) {
    call.device_offsets = deviceOffsets;
    return recur_forward(&phased, &call);
  }
  std::vector<int64_t> wordsOf(int launch, int array) const {
    auto begin = fakeCUDA.all[launch].words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }

  recur_launch_array chainArrays[4] = {{0, -1, 0}, {4, 0, 2}, {5, 0, 2}, {6, -1, 0}};
  recur_launch_array lateArrays[4] = {{0, -1, 0}, {3, -1, 0}, {5, -1, 0}, {6, -1, 0}};
  recur_launch_info phases[2] = {{"gdn_chain", 256, 1000, 0, 3, 0, chainArrays, 4, 0, 0, 0, 0, 0},
                                 {"gdn_late", 128, 2000, 100, 1, 1, lateArrays, 4, 0, 0, 0, 0, 0}};
  recur_left_info left[2] = {{1, 2, 2, {6, 8}}, {64, 4, 0, {0, 0}}};
  recur_kernel_info phasedKernel = {nullptr, 0, 0, RECUR_PLAN_CHUNK, 64, nullptr, 0, 2, phases, left, 2};
  recur_recurrence phased = {RECUR_ABI_VERSION, 90,    4,       1,       arrays,     &phasedKernel, "gdn",
                             "sm_90a",          "0.1", nullptr, "image", RECUR_CUDA, nullptr,       nullptr};
  alignas(64) char larger[200000];
};

TEST_F(PhasedLaunch, EachHasItsArraysAndParts) {
  // Two chunks of a state of 96 bytes, and of 64 numbers, for each of 8 heads; 128 bytes for each of 16 CTAs.
  int64_t states = 8 * 2 * 96, numbers = 8 * 2 * 64 * 4;
  EXPECT_EQ(recur_workspace_size(&phased, &call), states + numbers + 16 * 128);
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 2u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(8, 1, 3));
  EXPECT_THAT(fakeCUDA.all[1].grid, ElementsAre(8, 2, 1));
  EXPECT_THAT(wordsOf(0, 0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16));
  EXPECT_THAT(wordsOf(0, 1), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 16, 1, 0));
  EXPECT_THAT(wordsOf(0, 2), ElementsAre(at(larger), 2 * 48, 48, 4 * 48, 1, 8, 1, 16, 64, 48));
  EXPECT_THAT(wordsOf(0, 3), ElementsAre(at(larger) + states, 2 * 64, 1, 4 * 64, 1, 1, 1, 0, 64, 64));
  EXPECT_THAT(wordsOf(1, 2), ElementsAre(at(larger), 2 * 48, 48, 4 * 48, 1, 8, 1, 0, 64, 48));
  EXPECT_EQ(fakeCUDA.all[1].words[3], at(larger) + states + numbers);
  EXPECT_EQ(fakeCUDA.all[1].words[4], 128);
}

/// A launch of parts that makes everything is a phase as well, with the arrays of its parts.
TEST_F(PhasedLaunch, MayLeaveNothing) {
  recur_launch_array own[2] = {{0, -1, 0}, {4, 0, 2}};
  recur_launch_info only = {"gdn_chain", 384, 1000, 0, 3, 0, own, 2, 0, 0, 0, 0, 0};
  phasedKernel.launches = &only;
  phasedKernel.launch_count = 1;
  phasedKernel.left = nullptr;
  phasedKernel.left_count = 0;
  EXPECT_EQ(recur_workspace_size(&phased, &call), 0);
  fakeCUDA.wordCount = recur::abi::countWords(2);
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(8, 1, 3));
  EXPECT_THAT(wordsOf(0, 0), ElementsAre(at(q), 70 * 16, 16, 8, 2, 1, 1, 0, 1, 16));
  EXPECT_THAT(wordsOf(0, 1), ElementsAre(at(S), 4 * 48, 0, 48, 1, 8, 1, 16, 1, 0));
  recur_unload(&phased);
}

TEST_F(PhasedLaunch, PackedSequencesBeginAtChunksOfTheirOwn) {
  int64_t offsets[] = {0, 5, 70}, onDevice[3];
  call.B = 1;
  call.sequence_offsets = offsets;
  call.sequence_count = 2;
  ASSERT_EQ(forwardPhases(onDevice), RECUR_OK) << recur_message();
  // Room for one whole chunk and one more for each of the two sequences.
  EXPECT_THAT(wordsOf(0, 2), ElementsAre(at(larger), 48, 48, 3 * 48, 1, 8, 1, 16, 64, 48));
}

TEST_F(PhasedLaunch, NoTokensHaveNoChunks) {
  call.T = 0;
  ASSERT_EQ(forwardPhases(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u) << "the states are still given back";
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_chain");
}

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

  recur_launch_array firstArrays[2] = {{0, -1, 0}, {5, -1, 0}};
  recur_launch_array secondArrays[2] = {{5, -1, 0}, {4, 0, 3}};
  recur_launch_info launchPair[2] = {{"gdn_early", 128, 1024, 0, 1, 1, firstArrays, 2, 3, 0, 2, 0, 0},
                                     {"gdn_chain", 256, 1000, 0, 2, 0, secondArrays, 2, 0, 1, 0, 0, 0}};
  recur_left_info left[1] = {{64, 4, 0, {0, 0}}};
  recur_kernel_info pairKernel = {nullptr, 0, 0, RECUR_PLAN_CHUNK, 64, nullptr, 0, 2, launchPair, left, 1};
  recur_recurrence pair = {RECUR_ABI_VERSION, 90,    4,       1,       arrays,     &pairKernel, "gdn",
                           "sm_90a",          "0.1", nullptr, "image", RECUR_CUDA, nullptr,     nullptr};
  alignas(64) char q[640 * 2 * 8 * 2], o[640 * 2 * 6 * 2], larger[100000];
  static constexpr int64_t leftBytes = 2 * 10 * 64 * 4;
};

TEST_F(SideBySide, TheFirstLeavesMultiprocessorsToTheSecond) {
  // Four of ten are the second's, for two heads in two parts. The others have 18 teams, nine rows for each head, which
  // have ten chunks of cost 2 in two rounds, 12 chunks' time, and the second goes over the last one then. One behind
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
  EXPECT_THAT(std::vector(words(0).begin() + recur::abi::UnitsWord, words(0).begin() + recur::abi::launchWords),
              ElementsAre(2, 9, 9, 0));
  // A flag of four bytes for each chunk of each head, behind what is left.
  EXPECT_EQ(recur_workspace_size(&pair, &call), leftBytes + 256);
  EXPECT_EQ(flags(0), at(larger) + leftBytes);
  EXPECT_EQ(flags(1), flags(0));
  EXPECT_EQ(words(1)[recur::abi::getWord(2, recur::abi::HeadStrideWord)], 10);
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
  EXPECT_THAT(std::vector(words(0).begin() + recur::abi::UnitsWord, words(0).begin() + recur::abi::launchWords),
              ElementsAre(2, 15, 9, 4));
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
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2, 5, 1)); // ten multiprocessors for two heads, in a round
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

TEST_F(Launch, AKernelIsLoadedOnceInAContext) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 1);
  int other;
  fakeCUDA.context = &other;
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 2);
  EXPECT_EQ(fakeCUDA.launches, 3);
}

TEST_F(Launch, AGraphCanCaptureACallOfWhatWasLoaded) {
  ASSERT_EQ(recur_load(&recurrence, RECUR_CUDA), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
  EXPECT_EQ(fakeCUDA.launches, 0);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
}

TEST_F(Launch, WhatIsUnloadedIsLoadedAgain) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  recur_unload(&recurrence);
  EXPECT_EQ(fakeCUDA.unloads, 1);
  ASSERT_EQ(forward(), RECUR_OK);
  EXPECT_EQ(fakeCUDA.loads, 2);
}

TEST_F(Launch, AKernelIsForOneKindOfMachine) {
  fakeCUDA.capability = 80;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for 'sm_90a', a GPU of compute capability 9.0, and the current "
                                "context's has 8.0");
  call.device = RECUR_CPU;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for 'sm_90a' alone; set the call's device to RECUR_CUDA, with arrays "
                                "in memory of a GPU, or add a processor to --target");
  call.device = 2;
  EXPECT_EQ(forward(), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn: there is no device of the number 2; see recur_device");
}

TEST_F(Launch, OfSeveralTargetsTheCallsDeviceDecides) {
  recur_recurrence processor = recurrence;
  processor.features = 0;
  processor.device = RECUR_CPU;
  processor.target = "x86-64";
  processor.next = &recurrence;
  EXPECT_EQ(recur_select_for(&processor, RECUR_CUDA), &recurrence);
  EXPECT_EQ(recur_select(&processor), &processor);
  EXPECT_EQ(recur_forward(&processor, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.launches, 1);
  processor.next = nullptr;
  EXPECT_EQ(recur_forward(&processor, &call), RECUR_WRONG_MACHINE);
  EXPECT_STREQ(recur_message(), "gdn was compiled for processors alone; add a GPU, such as sm_90a, to --target");
}

TEST_F(Launch, AKernelOfOneTokenHasNoChunks) {
  recur_kernel_info step = {nullptr, 640, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, launches, nullptr, 0};
  recur_recurrence stepwise = recurrence;
  stepwise.kernels = &step;
  ASSERT_EQ(recur_forward(&stepwise, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.grid, 8u);
  recur_unload(&stepwise);
}

/// Eight heads are most of ten multiprocessors; of four CTAs share each head, so that chunks are sooner worth their
/// while.
TEST_F(Launch, FewHeadsTakeChunksOfHalfAsManyTokens) {
  recur_launch_info one = launches[0], many = launches[0];
  one.symbol = "gdn_step";
  many.symbol = "gdn_chunk";
  recur_kernel_info kernels[] = {{nullptr, 640, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &one, nullptr, 0},
                                 {nullptr, 640, 8, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1, &many, nullptr, 0}};
  recur_recurrence both = recurrence;
  both.kernels = kernels;
  both.kernel_count = 2;
  auto choose = [&](int64_t sequences, int64_t tokens) {
    call.B = sequences;
    call.T = tokens;
    EXPECT_EQ(recur_forward(&both, &call), RECUR_OK) << recur_message();
    return fakeCUDA.all.back().symbol;
  };
  EXPECT_EQ(choose(2, 7), "gdn_step");
  EXPECT_EQ(choose(2, 8), "gdn_chunk");
  EXPECT_EQ(choose(1, 3), "gdn_step");
  EXPECT_EQ(choose(1, 4), "gdn_chunk");
  fakeCUDA.multiprocessors = 0; // nobody knows
  EXPECT_EQ(choose(1, 7), "gdn_step");
  recur_unload(&both);
}

TEST_F(Launch, NothingToDoIsNoLaunch) {
  call.B = 0;
  EXPECT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.launches, 0);
}

TEST_F(Launch, MemoryOfTheHostIsRefused) {
  fakeCUDA.hostMemory = o;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the output 'o' is not memory of a GPU");
  fakeCUDA.hostMemory = workspace;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the workspace is not memory of a GPU");
  EXPECT_EQ(fakeCUDA.launches, 0);
}

TEST_F(Launch, WhatIsCheckedOnACPUIsCheckedHere) {
  arguments[3].data = q;
  EXPECT_EQ(forward(), RECUR_OVERLAP);
  EXPECT_STREQ(recur_message(), "gdn: the output 'o' shares memory with the input 'q'");
  call.workspace_bytes = 100;
  EXPECT_EQ(forward(), RECUR_SMALL_WORKSPACE);
  EXPECT_STREQ(recur_message(), "gdn: the workspace has 100 bytes; 5120 are needed");
}

TEST_F(Launch, WhatTheDriverRefusesIsSaid) {
  fakeCUDA.errorOfLoad = 209;
  EXPECT_EQ(forward(), RECUR_DEVICE_ERROR);
  EXPECT_STREQ(recur_message(), "gdn: the kernels cannot be loaded: CUDA_ERROR_NO_BINARY_FOR_GPU");
  fakeCUDA.context = nullptr;
  EXPECT_EQ(forward(), RECUR_DEVICE_ERROR);
  EXPECT_STREQ(recur_message(), "gdn: no context is current: CUDA_ERROR_INVALID_CONTEXT");
}

} // namespace
