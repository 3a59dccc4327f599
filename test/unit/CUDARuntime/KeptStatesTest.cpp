// States on the way that calls on a GPU leave: by one launch, where its kernel has arrays for them, or from row to row.
#include "ABI/LaunchWords.h"
#include "FakeCUDA.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"

using ::testing::ElementsAre;

namespace {

constexpr recur_array_info arrays[] = {{"q", RECUR_INPUT, RECUR_BF16, 1, 1, {8, 0}},
                                       {"S", RECUR_STATE, RECUR_F32, 0, 2, {6, 8}},
                                       {"o", RECUR_OUTPUT, RECUR_BF16, 0, 1, {6, 0}}};
constexpr int arguments = 4, keptArray = 4, initialArray = 1, finalArray = 3, outputArray = 2;
constexpr int64_t stateElements = 48, heads = 4;

class KeptStates : public ::testing::Test {
protected:
  KeptStates() {
    fakeCUDA = FakeCUDA();
    fakeCUDA.context = &fakeCUDA;
    fakeCUDA.wordCount = recur::abi::countWords(arguments + 1);
    call.B = 2;
    call.T = 7;
    call.H = heads;
    call.Hq = 2;
    given[0].data = q;
    given[initialArray].data = initial;
    given[outputArray].data = o;
    given[finalArray].data = final;
    call.arguments = given;
    call.argument_count = arguments;
    call.kept_interval = 1;
    call.kept_states = keptStates;
    call.workspace = workspace;
    call.workspace_bytes = sizeof workspace;
    call.device = RECUR_CUDA;
  }
  ~KeptStates() override { recur_unload(&recurrence); }

  recur_status forward() {
    fakeCUDA.all.clear();
    return recur_forward(&recurrence, &call);
  }
  void pack() {
    call.B = 1;
    call.sequence_offsets = offsets;
    call.device_offsets = onDevice;
    call.sequence_count = 3;
  }
  static int64_t at(const void *data, int64_t bytes = 0) { return reinterpret_cast<int64_t>(data) + bytes; }
  static std::vector<int64_t> wordsOf(const FakeLaunch &launch, int array) {
    auto begin = launch.words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }
  static int64_t dataOf(const FakeLaunch &launch, int array) {
    return launch.words[recur::abi::getWord(array, recur::abi::DataWord)];
  }
  int64_t row(int64_t number) const { return at(kept, number * heads * stateElements * 4); }

  recur_launch_array all[5] = {{0, -1, 0, 0}, {1, -1, 0, 0}, {2, -1, 0, 0}, {3, -1, 0, 0}, {4, -1, 0, 0}};
  recur_launch_info step = {"gdn_step", 256, 1000, 0, 0, 0, all, 5, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info chunk = {"gdn_chunk", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info kernels[2] = {
      {nullptr, 0, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &step, nullptr, 0, nullptr, nullptr},
      {nullptr, 64, 2, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1, &chunk, nullptr, 0, nullptr, nullptr}};
  recur_recurrence recurrence = {RECUR_ABI_VERSION, 90,         3,        2,       arrays,
                                 kernels,           "gdn",      "sm_90a", "0.1",   nullptr,
                                 "image",           RECUR_CUDA, nullptr,  nullptr, nullptr};
  recur_call call = {};
  recur_argument given[arguments] = {};
  int64_t offsets[4] = {0, 3, 3, 7}, onDevice[4];
  alignas(64) char q[2 * 7 * 2 * 8 * 2], o[2 * 7 * heads * 6 * 2], initial[3 * heads * stateElements * 4],
      final[3 * heads * stateElements * 4], workspace[4096];
  alignas(64) float kept[14 * heads * stateElements];
  float *keptStates[1] = {kept};
};

TEST_F(KeptStates, OfEveryTokenAreLeftByOneLaunch) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step") << "though there are so many tokens";
  constexpr int64_t row = heads * stateElements;
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], keptArray), ElementsAre(at(kept), 7 * row, row, 48, 1, 8, 1, 0, 1, row));
  call.states_transposed = 1; // which goes for the states before and behind all
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], keptArray), ElementsAre(at(kept), 7 * row, row, 48, 1, 8, 1, 0, 1, row));
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], finalArray), ElementsAre(at(final), row, 0, 48, 1, 1, 6, 0, 1, 0));
}

TEST_F(KeptStates, OfPackedSequencesLieOneBehindAnother) {
  pack();
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], keptArray), ElementsAre(at(kept), 0, 192, 48, 1, 8, 1, 0, 1, 192));
}

/// Kernels count rows from the first token, which is none of a sequence here: rows of the caller's begin with the first
/// sequence. Where the GPU alone knows there is one for each token.
TEST_F(KeptStates, OfPackedSequencesBeginWithTheFirst) {
  pack();
  offsets[0] = 2;
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 5);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(dataOf(fakeCUDA.all[0], keptArray), at(kept) - 2 * heads * stateElements * 4);
  call.sequence_offsets = nullptr;
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 7);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(dataOf(fakeCUDA.all[0], keptArray), at(kept));
}

TEST_F(KeptStates, AreNotWantedByOtherCalls) {
  call.kept_interval = 0;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all.back().symbol, "gdn_chunk");
  call.T = 1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all.back().symbol, "gdn_step");
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], keptArray), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0, 1, 0));
}

TEST_F(KeptStates, AtMultiplesAreTheEndsOfPieces) {
  call.kept_interval = 3;
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 2 * 3);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 4u);
  const int64_t tokens[] = {0, 3, 3, 1}, begin[] = {0, 0, 3, 6};
  const char *symbols[] = {"gdn_step", "gdn_chunk", "gdn_chunk", "gdn_step"};
  for (int i = 0; i < 4; ++i) {
    const FakeLaunch &launch = fakeCUDA.all[i];
    EXPECT_EQ(launch.symbol, symbols[i]);
    EXPECT_EQ(launch.grid[0], 8u);
    EXPECT_EQ(launch.words[recur::abi::TokensWord], tokens[i]);
    EXPECT_EQ(dataOf(launch, 0), at(q, begin[i] * 2 * 8 * 2));
    EXPECT_EQ(dataOf(launch, outputArray), at(o, begin[i] * heads * 6 * 2));
    EXPECT_EQ(wordsOf(launch, 0)[1], 7 * 2 * 8) << "sequences lie as they did";
    EXPECT_EQ(dataOf(launch, initialArray), i ? row(i - 1) : at(initial));
    EXPECT_EQ(dataOf(launch, finalArray), i < 3 ? row(i) : at(final));
    EXPECT_EQ(wordsOf(launch, initialArray)[1], i ? 3 * 192 : 192) << "each has three rows";
    EXPECT_EQ(wordsOf(launch, finalArray)[1], i < 3 ? 3 * 192 : 192);
  }
}

TEST_F(KeptStates, OfAForcedPlanAreTheEndsOfPieces) {
  call.plan = RECUR_PLAN_CHUNK;
  call.T = 2;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 3u);
  for (const FakeLaunch &launch : fakeCUDA.all)
    EXPECT_EQ(launch.symbol, "gdn_chunk");
}

TEST_F(KeptStates, AtMultiplesOfPackedSequencesGoOneByOne) {
  pack();
  call.kept_interval = 2;
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 2 + 0 + 2);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 3u + 1u + 3u);
  const int64_t begin[] = {0, 0, 2, 3, 3, 3, 5}, tokens[] = {0, 2, 1, 0, 0, 2, 2};
  const int64_t before[] = {-1, 0, 1, -1, -1, 2, 3}, behind[] = {0, 1, -1, -1, 2, 3, -1},
                sequence[] = {0, 0, 0, 1, 2, 2, 2};
  for (int i = 0; i < 7; ++i) {
    const FakeLaunch &launch = fakeCUDA.all[i];
    auto stateOf = [&](const int64_t *rows, const char *states) {
      return rows[i] < 0 ? at(states, sequence[i] * heads * stateElements * 4) : row(rows[i]);
    };
    EXPECT_EQ(launch.grid[0], 4u);
    EXPECT_EQ(launch.words[recur::abi::TokensWord], tokens[i]);
    EXPECT_EQ(launch.words[recur::abi::OffsetsWord], 0);
    EXPECT_EQ(dataOf(launch, 0), at(q, begin[i] * 2 * 8 * 2));
    EXPECT_EQ(dataOf(launch, initialArray), stateOf(before, initial));
    EXPECT_EQ(dataOf(launch, finalArray), stateOf(behind, final));
  }
}

/// Rows are float32, and a kernel of states in 16 bits cannot begin with one.
TEST_F(KeptStates, OfSixteenBitsAreThoseOfEveryToken) {
  std::vector<recur_array_info> own(recurrence.arrays, recurrence.arrays + recurrence.array_count);
  for (recur_array_info &info : own)
    if (info.kind == RECUR_STATE)
      info.dtype = RECUR_BF16;
  recurrence.arrays = own.data();
  call.kept_interval = 2;
  EXPECT_EQ(forward(), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn: kept states are float32, and on a GPU a kernel that begins with one takes 'S' in "
                                "16 bits; keep those before every token (kept_interval 1), by plan step, or build with "
                                "the state in f32");
  EXPECT_TRUE(fakeCUDA.all.empty());
  call.kept_interval = 0;
  EXPECT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(dataOf(fakeCUDA.all[0], initialArray), at(initial));
  recurrence.arrays = arrays;
}

TEST_F(KeptStates, OfNoTokensAreNone) {
  for (int64_t interval : {1, 2}) {
    call.T = 0;
    call.kept_interval = interval;
    ASSERT_EQ(forward(), RECUR_OK) << recur_message();
    ASSERT_EQ(fakeCUDA.all.size(), 1u) << "final states are the initial ones";
    EXPECT_EQ(dataOf(fakeCUDA.all[0], finalArray), at(final));
  }
}

TEST_F(KeptStates, LieInTheGPUsMemory) {
  fakeCUDA.hostMemory = kept;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the kept state 'S' is not memory of a GPU");
}

/// Summaries of segments have room for so many sequences together, and fewer at once are cut into more segments.
TEST_F(KeptStates, HaveTheWorkspaceThatPiecesNeed) {
  recur_launch_array own[1] = {{0, -1, 0, 0}};
  recur_left_info left[1] = {{64, 4, 0, {0, 0}, 0, 0}};
  recur_launch_info phases[2] = {{"gdn_summaries", 256, 1000, 6400, 1, 0, own, 1, 0, 0, 1, 1, 1, nullptr, 0},
                                 {"gdn_chain", 256, 1000, 6400, 1, 0, own, 1, 0, 0, 0, 1, 0, nullptr, 0}};
  recur_kernel_info phased = {nullptr, 0, 0, RECUR_PLAN_CHUNK, 64, nullptr, 0, 2, phases, left, 1, nullptr, nullptr};
  recurrence.kernels = &phased;
  recurrence.kernel_count = 1;
  std::vector<int64_t> many(101, 0);
  call.B = 1;
  call.T = 640;
  call.sequence_offsets = many.data();
  call.sequence_count = 100;
  call.kept_interval = 0;
  int64_t without = recur_workspace_size(&recurrence, &call);
  call.kept_interval = 640;
  EXPECT_GE(recur_workspace_size(&recurrence, &call), heads * 8 * 6400);
  EXPECT_LT(without, heads * 8 * 6400) << "else this shows nothing";
}

} // namespace
