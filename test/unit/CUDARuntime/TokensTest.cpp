// What kernels of a GPU are told of tokens that are only tried: the rows of their states, and those that were accepted.
#include "ABI/LaunchWords.h"
#include "FakeCUDA.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"

using ::testing::ElementsAre;

namespace {

constexpr recur_array_info arrays[] = {{"q", RECUR_INPUT, RECUR_BF16, 1, 1, {8, 0}},
                                       {"S", RECUR_STATE, RECUR_BF16, 0, 2, {6, 8}},
                                       {"o", RECUR_OUTPUT, RECUR_BF16, 0, 1, {6, 0}}};
constexpr int arguments = 4, keptArray = 4, initialArray = 1, finalArray = 3;
constexpr int64_t heads = 4, poolRows = 9;

class Tokens : public ::testing::Test {
protected:
  Tokens() {
    fakeCUDA = FakeCUDA();
    fakeCUDA.context = &fakeCUDA;
    fakeCUDA.wordCount = recur::abi::countWords(arguments + 1);
    call.B = 2;
    call.T = 3;
    call.H = heads;
    call.Hq = 2;
    given[0].data = q;
    given[2].data = o;
    given[initialArray].data = given[finalArray].data = pool;
    call.arguments = given;
    call.argument_count = arguments;
    call.workspace = workspace;
    call.workspace_bytes = sizeof workspace;
    call.device = RECUR_CUDA;
    call.state_indices = states;
    call.token_indices = tokens;
    call.token_columns = 3;
    call.pool_rows = poolRows;
  }
  ~Tokens() override { recur_unload(&recurrence); }

  recur_status forward() {
    fakeCUDA.all.clear();
    return recur_forward(&recurrence, &call);
  }
  static int64_t at(const void *data) { return reinterpret_cast<int64_t>(data); }
  int64_t word(int index) const { return fakeCUDA.all.back().words[size_t(index)]; }
  std::vector<int64_t> rowsOf(int array) const {
    auto begin = fakeCUDA.all.back().words.begin() + recur::abi::getPoolWord(5, array, recur::abi::RowsWord);
    return {begin, begin + recur::abi::poolWords};
  }

  recur_launch_array all[5] = {{0, -1, 0, 0}, {1, -1, 0, 0}, {2, -1, 0, 0}, {3, -1, 0, 0}, {4, -1, 0, 0}};
  recur_launch_info step = {"gdn_step", 256, 1000, 0, 0, 0, all, 5, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info chunk = {"gdn_chunk", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info trees = {"gdn_step_trees", 128, 500, 0, 0, 0, all, 5, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info kernels[2] = {
      {nullptr, 64, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 1, &step, nullptr, 0, nullptr, &trees},
      {nullptr, 64, 2, RECUR_PLAN_CHUNK, 64, nullptr, 0, 1, &chunk, nullptr, 0, nullptr, nullptr}};
  recur_recurrence recurrence = {RECUR_ABI_VERSION, 90,         3,        2,       arrays,
                                 kernels,           "gdn",      "sm_90a", "0.1",   nullptr,
                                 "image",           RECUR_CUDA, nullptr,  nullptr, nullptr};
  recur_call call = {};
  recur_argument given[arguments] = {};
  int32_t tokens[6] = {2, 0, 5, 6, -1, 8}, states[2] = {1, 7}, accepted[2] = {1, 3}, parents[6] = {-1, 0, 0, -1, -1, 1};
  alignas(64) char q[2 * 7 * 2 * 8 * 2], o[2 * 7 * heads * 6 * 2], pool[poolRows * heads * 48 * 2], workspace[8192];
};

TEST_F(Tokens, AreKeptByOneLaunch) {
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step") << "though there are so many tokens";
  EXPECT_EQ(fakeCUDA.synchronized, 0);
  EXPECT_EQ(word(recur::abi::PoolsWord), recur::abi::PoolsOfTokens);
  EXPECT_EQ(word(recur::abi::getWord(keptArray, recur::abi::DataWord)), 0);
  EXPECT_THAT(rowsOf(initialArray), ElementsAre(at(states), poolRows, 0, 48, 0, 0));
  EXPECT_THAT(rowsOf(finalArray), ElementsAre(at(tokens), poolRows, 0, 48, 3, 0));
}

/// Several CTAs for a head are no phases: the launch has all arrays, and a workspace for each head.
TEST_F(Tokens, OfStatesInPartsHaveSeveralCTAs) {
  step.state_parts = 2;
  step.threads = 128;
  int64_t bytes = recur_workspace_size(&recurrence, &call);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2 * 2 * heads, 1, 1));
  EXPECT_THAT(rowsOf(initialArray), ElementsAre(at(states), poolRows, 0, 48, 0, 0));
  EXPECT_EQ(word(recur::abi::UnitsWord), 2 * heads);
  step.state_parts = 0;
  EXPECT_EQ(recur_workspace_size(&recurrence, &call), bytes);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(fakeCUDA.all[0].grid, ElementsAre(2 * heads, 1, 1));
}

TEST_F(Tokens, BeginBehindThoseThatWereAccepted) {
  call.state_indices = tokens;
  call.accepted = accepted;
  call.state_columns = 3;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(rowsOf(initialArray), ElementsAre(at(tokens), poolRows, 0, 48, 3, at(accepted)));
  EXPECT_THAT(rowsOf(finalArray), ElementsAre(at(tokens), poolRows, 0, 48, 3, 0));
  call.token_indices = nullptr; // then the state goes to where it came from, by whichever plan
  call.token_columns = 0;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all.back().symbol, "gdn_chunk");
  EXPECT_EQ(fakeCUDA.all.back().words[recur::abi::PoolsWord], recur::abi::Pools);
}

TEST_F(Tokens, OfPackedSequencesAreOneLaunchToo) {
  const int64_t onDevice[] = {0, 1, 3};
  call.B = 1;
  call.device_offsets = onDevice;
  call.sequence_count = 2;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step");
}

TEST_F(Tokens, AreCheckedWhereTheCallAsksForIt) {
  int64_t onDevice[] = {0, 1, 3};
  call.B = 1;
  call.device_offsets = onDevice;
  call.sequence_count = 2;
  call.check_indices = 1;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  tokens[3] = 2;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(), "gdn: token_indices[1][0] is 2, and so is [0][0]; no row is written twice");
  onDevice[1] = -1;
  EXPECT_EQ(forward(), RECUR_BAD_SIZE);
  EXPECT_STREQ(recur_message(), "gdn: sequence 0 has -1 tokens, and token_indices has rows for 3");
  onDevice[1] = 1;
  tokens[3] = 6;
  call.state_indices = tokens;
  call.accepted = accepted;
  call.state_columns = 3;
  accepted[0] = 0;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(), "gdn: accepted[0] is 0; it counts along the rows of state_indices, from 1 to 3");
  EXPECT_TRUE(fakeCUDA.all.empty());
}

TEST_F(Tokens, TablesOfTheHostAreRefused) {
  fakeCUDA.hostMemory = tokens;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: token_indices is not memory of a GPU");
  call.accepted = accepted;
  call.state_columns = 1;
  fakeCUDA.hostMemory = accepted;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: accepted is not memory of a GPU");
}

/// Of those that are replayed, as many as were taken lead to the one state that is stored; outputs are those of the
/// others, which kernels count from the first of all.
TEST_F(Tokens, ThatAreReplayedAreOneLaunch) {
  call.token_indices = nullptr;
  call.token_columns = 0;
  call.accepted = accepted;
  call.replayed = 2;
  accepted[1] = 0;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step");
  EXPECT_EQ(fakeCUDA.synchronized, 0);
  EXPECT_EQ(word(recur::abi::PoolsWord), recur::abi::PoolsOfTokens);
  EXPECT_EQ(word(recur::abi::ReplayedWord), 2);
  EXPECT_EQ(word(recur::abi::AcceptedWord), at(accepted));
  EXPECT_THAT(rowsOf(initialArray), ElementsAre(at(states), poolRows, 0, 48, 0, 0));
  EXPECT_THAT(rowsOf(finalArray), ElementsAre(at(states), poolRows, 0, 48, 1, 0));
  constexpr int64_t tokenBytes = heads * 6 * 2;
  EXPECT_EQ(word(recur::abi::getWord(2, recur::abi::DataWord)), at(o) - 2 * tokenBytes);
  EXPECT_EQ(word(recur::abi::getWord(2, recur::abi::SequenceStrideWord)), tokenBytes / 2)
      << "of one token that is tried";
  call.final_indices = tokens;
  const int64_t onDevice[] = {0, 3, 5};
  call.B = 1;
  call.T = 5;
  call.device_offsets = onDevice;
  call.sequence_count = 2;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_THAT(rowsOf(finalArray), ElementsAre(at(tokens), poolRows, 0, 48, 1, 0));
  EXPECT_EQ(word(recur::abi::getWord(2, recur::abi::DataWord)), at(o)) << "where the tokens lie";
}

TEST_F(Tokens, ThatAreReplayedAreCheckedWhereTheCallAsksForIt) {
  call.token_indices = nullptr;
  call.token_columns = 0;
  call.accepted = accepted;
  call.replayed = 2;
  call.check_indices = 1;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(), "gdn: accepted[1] is 3; of the tokens that are replayed it is 0 to 2");
  accepted[1] = 2;
  EXPECT_EQ(forward(), RECUR_OK) << recur_message();
}

/// By a kernel of their own, with room in the workspace for the states that several tokens begin with: of each CTA
/// those before its first two of three tokens, in float32.
TEST_F(Tokens, ThatAreTriedAsTreesAreOneLaunch) {
  constexpr int64_t rowBytes = 48 * 4, ctaBytes = 64 + 2 * rowBytes;
  call.parents = parents;
  call.parent_columns = 3;
  EXPECT_EQ(recur_workspace_size(&recurrence, &call), 2 * heads * ctaBytes);
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 1u);
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step_trees");
  EXPECT_EQ(fakeCUDA.synchronized, 0);
  EXPECT_EQ(word(recur::abi::PoolsWord), recur::abi::PoolsOfTokens);
  EXPECT_EQ(word(recur::abi::ParentsWord), at(parents));
  EXPECT_EQ(word(recur::abi::ParentColumnsWord), 3);
  EXPECT_EQ(word(recur::abi::ParentStrideWord), 0);
  EXPECT_EQ(word(recur::abi::WorkspaceStrideWord), ctaBytes);
  EXPECT_EQ(word(recur::abi::TreeOffsetWord), 64);
  call.token_indices = nullptr; // then the state after the last token goes where others do
  call.token_columns = 0;
  call.parent_stride = 3;
  ASSERT_EQ(forward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all[0].symbol, "gdn_step_trees");
  EXPECT_EQ(word(recur::abi::PoolsWord), recur::abi::Pools);
  EXPECT_EQ(word(recur::abi::ParentStrideWord), 3);
  call.T = 1; // behind which there is none
  EXPECT_EQ(recur_workspace_size(&recurrence, &call), 2 * heads * 64);
}

TEST_F(Tokens, ThatAreTriedAsTreesAreCheckedWhereTheCallAsksForIt) {
  call.parents = parents;
  call.parent_columns = call.parent_stride = 3;
  parents[5] = 2;
  EXPECT_EQ(forward(), RECUR_OK) << recur_message();
  call.check_indices = 1;
  EXPECT_EQ(forward(), RECUR_BAD_INDEX);
  EXPECT_STREQ(recur_message(), "gdn: parents[1][2] is 2; it is the number of an earlier token of its tree, of which "
                                "this one is 2, or -1");
  parents[5] = 1;
  fakeCUDA.hostMemory = parents;
  EXPECT_EQ(forward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: parents is not memory of a GPU");
  kernels[0].trees = nullptr;
  fakeCUDA.hostMemory = nullptr;
  call.check_indices = 0;
  EXPECT_EQ(forward(), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn: on a GPU a kernel of its own goes over trees of tokens, and there is no such "
                                "kernel among those that the call may take; build with --trees");
}

TEST_F(Tokens, AreOfThePlanStep) {
  call.plan = RECUR_PLAN_CHUNK;
  EXPECT_EQ(forward(), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn: on a GPU the plan step keeps the states after tokens in their rows, and there is "
                                "no such kernel among those that the call may take; build with plan auto");
  call.token_indices = nullptr;
  call.token_columns = 0;
  call.accepted = accepted;
  call.replayed = 2;
  EXPECT_EQ(forward(), RECUR_NO_PLAN) << "and so are those that are replayed";
}

} // namespace
