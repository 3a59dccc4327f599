// Packed sequences on a GPU: launches whose sizes follow from all tokens and the number of sequences, by a list of
// their chunks.
#include "LaunchTesting.h"

using ::testing::ElementsAre;

namespace {

/// Few tokens go one after another; more in chunks: what `early` leaves of each a chain takes, in two parts.
class Packed : public Launch {
protected:
  static constexpr int64_t tokens = 6400, sequences = 50;
  Packed() {
    fakeCUDA.wordCount = recur::abi::countWords(3);
    for (int64_t i = 0; i <= sequences; ++i)
      offsets.push_back(i * i * tokens / (sequences * sequences)); // 2 tokens to 253
    call.B = 1;
    call.T = tokens;
    call.H = call.Hq = 2;
    call.sequence_count = sequences;
    call.sequence_offsets = offsets.data();
    call.device_offsets = onDevice;
    arguments[0].data = q;
    arguments[3].data = o;
    arguments[4].data = states;
    call.workspace = space;
    call.workspace_bytes = sizeof space;
  }
  ~Packed() override { recur_unload(&both); }
  void run() {
    fakeCUDA.all.clear();
    ASSERT_EQ(recur_forward(&both, &call), RECUR_OK) << recur_message();
  }
  std::vector<std::string> symbols() {
    std::vector<std::string> all;
    for (const FakeLaunch &launch : fakeCUDA.all)
      all.push_back(launch.symbol);
    return all;
  }
  int64_t word(size_t launch, int index) { return fakeCUDA.all[launch].words[size_t(index)]; }

  std::vector<int64_t> offsets;
  int64_t onDevice[sequences + 1];
  recur_launch_array earlyArrays[2] = {{0, -1, 0, 0}, {5, -1, 0, 0}};
  recur_launch_array chainArrays[2] = {{5, -1, 0, 0}, {4, 0, 3, 0}};
  recur_launch_info step = {"gdn_step", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info phases[2] = {
      {"gdn_early", 128, 1024, 0, 1, 1, earlyArrays, 2, 3, 0, 2, 0, 0, "gdn_early", 0},
      {"gdn_chain", 256, 1000, 0, 2, 0, chainArrays, 2, 0, 1, 0, 0, 0, "gdn_chain_listed", 0}};
  recur_launch_info listing = {"gdn_early_listing", 1024, 0, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_left_info left[1] = {{64, 4, 0, {0, 0}, 0, 0}};
  recur_kernel_info kernels[2] = {
      {nullptr, 0, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &step, nullptr, 0, nullptr, nullptr},
      {nullptr, 0, 8, RECUR_PLAN_CHUNK, 64, nullptr, 0, 2, phases, left, 1, &listing, nullptr}};
  recur_recurrence both = {RECUR_ABI_VERSION, 90,      4,          2,       arrays,  kernels, "gdn", "sm_90a", "0.1",
                           nullptr,           "image", RECUR_CUDA, nullptr, nullptr, nullptr};
  alignas(64) char q[tokens * 2 * 8 * 2], o[tokens * 2 * 6 * 2], states[sequences * 2 * 48 * 4], space[200000];
};

TEST_F(Packed, EachHasTheKernelThatItHasByItself) {
  run();
  EXPECT_THAT(symbols(), ElementsAre("gdn_step", "gdn_early_listing", "gdn_early", "gdn_chain_listed"));
  EXPECT_EQ(word(0, recur::abi::FromTokensWord), 0);
  EXPECT_EQ(word(0, recur::abi::BelowTokensWord), 8);
  EXPECT_EQ(word(2, recur::abi::FromTokensWord), 8);
  EXPECT_EQ(word(2, recur::abi::BelowTokensWord), INT64_MAX);
  // Few heads take chunks sooner.
  fakeCUDA.multiprocessors = 200;
  run();
  EXPECT_EQ(word(0, recur::abi::BelowTokensWord), 4);
  call.plan = RECUR_PLAN_CHUNK;
  run();
  EXPECT_THAT(symbols(), ElementsAre("gdn_early_listing", "gdn_early", "gdn_chain"));
  EXPECT_EQ(word(1, recur::abi::FromTokensWord), 0);
}

TEST_F(Packed, KernelsThatNoSequenceIsForAreNotLaunched) {
  for (size_t i = 0; i < offsets.size(); ++i)
    offsets[i] = int64_t(i) * 128;
  run();
  EXPECT_THAT(symbols(), ElementsAre("gdn_early_listing", "gdn_early", "gdn_chain_listed"));
  offsets.back() = offsets[sequences - 1] + 7;
  run();
  EXPECT_EQ(symbols()[0], "gdn_step");
  call.sequence_offsets = nullptr; // nobody knows
  run();
  EXPECT_EQ(symbols()[0], "gdn_step");
}

TEST_F(Packed, LaunchesGoByTheList) {
  call.plan = RECUR_PLAN_CHUNK;
  run();
  ASSERT_THAT(symbols(), ElementsAre("gdn_early_listing", "gdn_early", "gdn_chain_listed"));
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(1, 1, 1));
  EXPECT_THAT(fakeCUDA.all[0].block, ElementsAre(1024, 1, 1));
  // Room for each whole chunk, and one more for each sequence.
  constexpr int64_t chunks = 100 + sequences, numbers = (chunks * 2 * 64 * 4 + 255) / 256 * 256,
                    list = (8 + chunks * 8 + 255) / 256 * 256;
  EXPECT_EQ(word(1, recur::abi::ListWord), at(space) + numbers);
  EXPECT_EQ(word(1, recur::abi::OrderWord), at(space) + numbers + list);
  EXPECT_EQ(word(2, recur::abi::ListWord), word(1, recur::abi::ListWord));
  // CTAs of the first share out all chunks, and those of the second all heads, as many as there are multiprocessors.
  unsigned ctas = fakeCUDA.all[1].grid[0];
  EXPECT_GT(ctas, 10u);
  EXPECT_LE(ctas, 2 * 150u);
  EXPECT_EQ(word(1, recur::abi::TeamsWord), ctas);
  EXPECT_EQ(word(1, recur::abi::LastingTeamsWord), ctas);
  EXPECT_THAT(fakeCUDA.all[2].grid, ElementsAre(5, 1, 2));
  EXPECT_FALSE(fakeCUDA.all[2].isEarly);
}

TEST_F(Packed, WhereMostFindSomethingToDoThereIsNoList) {
  call.plan = RECUR_PLAN_CHUNK;
  fakeCUDA.multiprocessors = 2000;
  run();
  EXPECT_THAT(symbols(), ElementsAre("gdn_early", "gdn_chain"));
  EXPECT_EQ(word(0, recur::abi::ListWord), 0);
  fakeCUDA.multiprocessors = 10;
  for (recur_launch_info &launch : phases) // as where the assembler found fault with them
    launch.listed = nullptr;
  run();
  EXPECT_THAT(symbols(), ElementsAre("gdn_early", "gdn_chain"));
}

/// Lengths that the GPU alone knows change no launch but that of a kernel that no sequence is for.
TEST_F(Packed, OffsetsMayBeOnTheGPUAlone) {
  run();
  std::vector<FakeLaunch> known = fakeCUDA.all;
  int64_t bytes = recur_workspace_size(&both, &call);
  call.sequence_offsets = nullptr;
  EXPECT_EQ(recur_workspace_size(&both, &call), bytes);
  run();
  ASSERT_EQ(fakeCUDA.all.size(), known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(fakeCUDA.all[i].symbol, known[i].symbol);
    EXPECT_EQ(fakeCUDA.all[i].grid.size(), known[i].grid.size());
    for (int word : {int(recur::abi::OffsetsWord), int(recur::abi::ListWord), int(recur::abi::FromTokensWord),
                     int(recur::abi::CutsWord)})
      EXPECT_EQ(fakeCUDA.all[i].words[size_t(word)], known[i].words[size_t(word)]) << i << ", " << word;
  }
}

TEST_F(Packed, WorkspaceFollowsFromTokensAndTheNumberOfSequences) {
  int64_t bytes = recur_workspace_size(&both, &call);
  std::fill(offsets.begin(), offsets.end() - 1, 0);
  EXPECT_EQ(recur_workspace_size(&both, &call), bytes);
}

TEST_F(Packed, WhatNeedsLengthsNeedsThemOnTheHost) {
  call.sequence_offsets = nullptr;
  call.kept_interval = 64;
  EXPECT_EQ(recur_forward(&both, &call), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: states are kept every 64 tokens, for which sequence_offsets must be given beside "
                                "device_offsets");
  call.kept_interval = 0;
  call.B = 2;
  EXPECT_EQ(recur_forward(&both, &call), RECUR_BAD_SIZE);
  EXPECT_STREQ(recur_message(), "gdn: with device_offsets B must be 1, but it is 2");
}

/// A number of chunks is in the class that its least number is in, and few share one.
TEST(CutClass, OrdersNumbersOfChunks) {
  for (int own = 0; own < recur::abi::cutClasses; ++own)
    EXPECT_EQ(recur::abi::getCutClass(recur::abi::getCutChunks(own)), own);
  for (int64_t chunks = 0; chunks < 100000; ++chunks) {
    int64_t least = recur::abi::getCutChunks(recur::abi::getCutClass(chunks));
    EXPECT_LE(least, chunks);
    EXPECT_GE(least * 5, chunks * 4) << chunks;
  }
}

} // namespace
