// Calls backward on a GPU: which launches a call becomes, what each is given, and what lies where in the workspace.
#include "ABI/LaunchWords.h"
#include "FakeCUDA.h"
#include "recur/Runtime.h"
#include "gmock/gmock.h"
#include <cstring>

using ::testing::ElementsAre;

namespace {

constexpr int64_t chunk = 64, heads = 4, groups = 2, keys = 8, values = 6, state = keys * values;

constexpr recur_array_info arrays[] = {{"q", RECUR_INPUT, RECUR_BF16, 1, 1, {keys, 0}},
                                       {"v", RECUR_INPUT, RECUR_BF16, 0, 1, {values, 0}},
                                       {"mu", RECUR_PARAM, RECUR_BF16, 0, 0, {0, 0}},
                                       {"S", RECUR_STATE, RECUR_F32, 0, 2, {values, keys}},
                                       {"o", RECUR_OUTPUT, RECUR_BF16, 0, 1, {values, 0}}};
// The arguments of a call backward,
enum { q, v, mu, initial, cotangent, finalCotangent, gradientQ, gradientV, gradientMu, initialGradient, argumentCount };
// and the arrays of its kernels.
enum { statesInitial = 3, statesFinal, statesKept, statesCount };
enum { runCotangent = 2, runMu, runS, runSum, runQ, runV, runSBefore, runSumBefore, runKept, runCount };

class Gradient : public ::testing::Test {
protected:
  Gradient() {
    fakeCUDA = FakeCUDA();
    fakeCUDA.context = &fakeCUDA;
    fakeCUDA.wordCount = recur::abi::countWords(runCount);
    call.B = 2;
    call.T = 300; // five chunks
    call.H = heads;
    call.Hq = groups;
    for (int i = 0; i < argumentCount; ++i)
      given[i].data = memory[i];
    call.arguments = given;
    call.argument_count = argumentCount;
    call.device = RECUR_CUDA;
    call.stream = this;
  }
  ~Gradient() override { recur_unload(&recurrence); }

  /// With the workspace that the query says, or that is given.
  recur_status backward(int64_t budget = 0) {
    call.workspace_bytes = budget;
    call.workspace_bytes = recur_backward_workspace_size(&recurrence, &call);
    space.assign(size_t(call.workspace_bytes + 64), 0);
    call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
    fakeCUDA.all.clear();
    return recur_backward(&recurrence, &call);
  }
  std::vector<std::string> symbols() {
    std::vector<std::string> all;
    for (const FakeLaunch &launch : fakeCUDA.all)
      all.push_back(launch.symbol);
    return all;
  }
  void pack() {
    call.B = 1;
    call.sequence_offsets = offsets;
    call.device_offsets = onDevice;
    call.sequence_count = 3;
  }
  void keep(int64_t interval) {
    call.kept_interval = interval;
    call.kept_states = keptStates;
  }

  static int64_t at(const void *data, int64_t bytes = 0) { return reinterpret_cast<int64_t>(data) + bytes; }
  static std::vector<int64_t> wordsOf(const FakeLaunch &launch, int array) {
    auto begin = launch.words.begin() + recur::abi::getWord(array, recur::abi::DataWord);
    return {begin, begin + recur::abi::arrayWords};
  }
  static int64_t dataOf(const FakeLaunch &launch, int array) {
    return launch.words[size_t(recur::abi::getWord(array, recur::abi::DataWord))];
  }
  int64_t inSpace(int64_t bytes) const { return at(call.workspace, bytes); }

  recur_launch_info forward = {"gdn", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info states = {"gdn_states", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info run = {"gdn_gradient", 256, 1000, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_launch_info sum = {"recur_sum", 128, 0, 0, 0, 0, nullptr, 0, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info forwardKernel = {nullptr,  0,       0, RECUR_PLAN_CHUNK, 64,     nullptr, 0, 1,
                                     &forward, nullptr, 0, nullptr,          nullptr};
  recur_kernel_info statesKernel = {nullptr, 64,      0, RECUR_PLAN_CHUNK, chunk,  nullptr, 0, 1,
                                    &states, nullptr, 0, nullptr,          nullptr};
  recur_kernel_info runKernel = {nullptr, 192,     0, RECUR_PLAN_CHUNK, chunk,  nullptr, 0, 1,
                                 &run,    nullptr, 0, nullptr,          nullptr};
  int32_t carried[2] = {0, -1}, kept[1] = {0};
  recur_gradient_info gradient = {nullptr, nullptr, 0,       carried, kept,    2, 1, chunk,         0,
                                  nullptr, nullptr, nullptr, 0,       0,       0, 0, &statesKernel, &runKernel,
                                  &sum,    nullptr, nullptr, nullptr, nullptr, 0, 0, nullptr,       nullptr,
                                  0,       0};
  // A call forward that hands states over has them behind its arguments.
  recur_launch_array handingArrays[7] = {{0, -1, 0, 0}, {1, -1, 0, 0}, {2, -1, 0, 0}, {3, -1, 0, 0},
                                         {4, -1, 0, 0}, {5, -1, 0, 0}, {6, -1, 0, 0}};
  recur_launch_info handing = {"gdn_handing", 256, 1000, 0, 1, 0, handingArrays, 7, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info handingKernel = {nullptr,  0,       0, RECUR_PLAN_CHUNK, chunk,  nullptr, 0, 1,
                                     &handing, nullptr, 0, nullptr,          nullptr};
  int32_t bf16[1] = {RECUR_BF16};
  void handOver() {
    gradient.kept_dtypes = bf16;
    gradient.handing_launches = &handingKernel;
    call.handed_states = handedStates;
  }
  // What its launches leave to each other: a matrix, numbers that are not handed over, and numbers that are, which
  // lie first there. The gradient takes both, behind its twelve arguments and the kept state.
  recur_left_info handingLeft[3] = {
      {chunk, 2, 1, {chunk, 0}, chunk * 4, 1}, {chunk, 4, 0, {0, 0}, 0, 0}, {chunk, 4, 0, {0, 0}, 0, 1}};
  recur_left_info takingLeft[2] = {handingLeft[0], handingLeft[2]};
  recur_launch_array leavingArrays[3] = {{7, -1, 0, 0}, {8, -1, 0, 0}, {9, -1, 0, 0}};
  recur_launch_array takingArrays[2] = {{runKept + 1, -1, 0, 0}, {runKept + 2, -1, 0, 0}};
  recur_launch_info handingPair[2] = {
      {"gdn_handing", 256, 1000, 0, 1, 1, leavingArrays, 3, 0, 0, 0, 0, 0, nullptr, 0},
      {"gdn_handing_chain", 256, 1000, 0, 1, 0, handingArrays, 7, 0, 0, 0, 0, 0, nullptr, 0}};
  recur_launch_info takingOne = {"gdn_taking", 256, 1000, 0, 1, 0, takingArrays, 2, 0, 0, 0, 0, 0, nullptr, 0};
  recur_kernel_info takingKernel = {nullptr,    0,          0, RECUR_PLAN_CHUNK, chunk,  nullptr, 0, 1,
                                    &takingOne, takingLeft, 2, nullptr,          nullptr};
  void handValues() {
    handingKernel.launches = handingPair;
    handingKernel.launch_count = 2;
    handingKernel.left = handingLeft;
    handingKernel.left_count = 3;
    gradient.taking_launches = &takingKernel;
    gradient.handed_bytes = chunk * chunk * 2 + chunk * 4;
  }
  int64_t inForwardSpace(int64_t bytes) const {
    return at(space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64, bytes);
  }
  /// The call forward that the one backward goes with.
  recur_status callForward() {
    recur_argument own[6] = {given[q], given[v], given[mu], given[initial], given[cotangent], given[finalCotangent]};
    recur_call forwards = call;
    forwards.arguments = own;
    forwards.argument_count = 6;
    forwards.workspace_bytes = recur_workspace_size(&recurrence, &forwards);
    space.assign(size_t(forwards.workspace_bytes + 64), 0);
    forwards.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
    fakeCUDA.all.clear();
    return recur_forward(&recurrence, &forwards);
  }
  recur_recurrence recurrence = {RECUR_ABI_VERSION, 90,         5,         1,       arrays,
                                 &forwardKernel,    "gdn",      "sm_90a",  "0.1",   nullptr,
                                 "image",           RECUR_CUDA, &gradient, nullptr, nullptr};
  recur_call call = {};
  recur_argument given[argumentCount] = {};
  int64_t offsets[4] = {0, 100, 100, 300}, onDevice[4];
  alignas(64) char memory[argumentCount][2 * 300 * heads * keys * 2];
  alignas(64) float keptStates_[10 * heads * state];
  float *keptStates[1] = {keptStates_};
  void *handedStates[1] = {keptStates_};
  std::vector<char> space;
};

// What launches need, and then the states at the start of the chunks of both sequences.
constexpr int64_t tiles = 2 * heads * 192, keptBytes = 2 * 5 * heads * state * 4;
// Behind these the gradients of mu of each sequence, and those of q of each head.
constexpr int64_t sumsOfMu = tiles + keptBytes, headsOfQ = sumsOfMu + 64;

TEST_F(Gradient, OfStatesOfSixteenBitsAreRefused) {
  std::vector<recur_array_info> own(arrays, arrays + 5);
  own[3].dtype = RECUR_BF16;
  recurrence.arrays = own.data();
  EXPECT_EQ(backward(), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "gdn: the state 'S' is of 16 bits, with which there are no gradients on a GPU; build "
                                "with it in f32");
  EXPECT_TRUE(fakeCUDA.all.empty());
  recurrence.arrays = arrays;
}

TEST_F(Gradient, StatesComeFirstAndSumsLast) {
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  EXPECT_EQ(call.workspace_bytes, headsOfQ + 2 * 300 * heads * keys * 2 + 64);
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient", "recur_sum", "recur_sum"));
  for (const FakeLaunch &launch : fakeCUDA.all)
    EXPECT_FALSE(launch.isEarly);
  EXPECT_EQ(fakeCUDA.stream, this);
  constexpr int64_t row = heads * state;

  const FakeLaunch &before = fakeCUDA.all[0];
  EXPECT_THAT(before.grid, ElementsAre(2 * heads, 1, 1));
  EXPECT_EQ(before.words[recur::abi::TokensWord], 300);
  EXPECT_EQ(before.words[recur::abi::WorkspaceWord], inSpace(0));
  EXPECT_EQ(before.words[recur::abi::WorkspaceStrideWord], 64);
  EXPECT_EQ(dataOf(before, statesInitial), at(memory[initial]));
  EXPECT_EQ(dataOf(before, statesFinal), 0) << "nobody wants them";
  EXPECT_THAT(wordsOf(before, statesKept), ElementsAre(inSpace(tiles), 5 * row, row, state, 1, keys, 1, 0, chunk, row));

  const FakeLaunch &back = fakeCUDA.all[1];
  EXPECT_EQ(back.words[recur::abi::WorkspaceStrideWord], 192);
  EXPECT_THAT(wordsOf(back, q),
              ElementsAre(at(memory[q]), 300 * groups * keys, groups * keys, keys, 2, 1, 1, 0, 1, groups * keys));
  EXPECT_EQ(dataOf(back, runCotangent), at(memory[cotangent]));
  EXPECT_EQ(dataOf(back, runMu), at(memory[mu]));
  EXPECT_THAT(wordsOf(back, runS), ElementsAre(at(memory[finalCotangent]), row, 0, state, 1, keys, 1, 0, 1, 0));
  EXPECT_EQ(dataOf(back, runSum), 0) << "zeros";
  EXPECT_THAT(wordsOf(back, runQ),
              ElementsAre(inSpace(headsOfQ), 300 * heads * keys, heads * keys, keys, 1, 1, 1, 0, 1, heads * keys));
  EXPECT_EQ(dataOf(back, runV), at(memory[gradientV])) << "of each head anyway";
  EXPECT_THAT(wordsOf(back, runSBefore), ElementsAre(at(memory[initialGradient]), row, 0, state, 1, keys, 1, 0, 1, 0));
  EXPECT_THAT(wordsOf(back, runSumBefore), ElementsAre(inSpace(sumsOfMu), heads, 0, 1, 1, 1, 1, 0, 1, 0));
  EXPECT_EQ(wordsOf(back, runKept), wordsOf(before, statesKept));
}

std::vector<int64_t> wordsOfSum(const FakeLaunch &launch) {
  return {launch.words.begin(), launch.words.begin() + recur::abi::sumWords};
}

TEST_F(Gradient, SumsAreOverHeadsOfAGroupAndOverSequences) {
  given[gradientQ].strides = {10000, 20, 9};
  std::memset(memory, 0, sizeof memory);
  call.T = 100; // with strides it would not fit
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_EQ(fakeCUDA.all.size(), 4u);
  constexpr int64_t ofQ = 2 * heads * 192 + 2 * 2 * heads * state * 4 + 64;
  EXPECT_THAT(wordsOfSum(fakeCUDA.all[2]),
              ElementsAre(inSpace(ofQ), at(memory[gradientQ]), RECUR_BF16, RECUR_BF16, 2, keys, 0, 2, 100, groups, keys,
                          100 * heads * keys, heads * keys, 2 * keys, 10000, 20, 9, 0, 0));
  EXPECT_THAT(fakeCUDA.all[2].grid, ElementsAre(2 * 100 * groups * keys / 128, 1, 1));
  EXPECT_THAT(wordsOfSum(fakeCUDA.all[3]), ElementsAre(inSpace(ofQ - 64), at(memory[gradientMu]), RECUR_F32, RECUR_BF16,
                                                       2, heads, 0, 1, 1, heads, 1, 0, 0, 1, heads, heads, 1, 0, 0));
  EXPECT_THAT(fakeCUDA.all[3].grid, ElementsAre(1, 1, 1));
}

TEST_F(Gradient, WithAGroupForEachHeadGoesToTheCaller) {
  call.Hq = 0;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient", "recur_sum"));
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runQ), at(memory[gradientQ]));
}

TEST_F(Gradient, WithoutCotangentsHasZeros) {
  given[cotangent].data = given[finalCotangent].data = nullptr;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("recur_sum", "gdn_states", "gdn_gradient", "recur_sum", "recur_sum"));
  int64_t zeros = inSpace(headsOfQ + 2 * 300 * heads * keys * 2);
  std::vector<int64_t> words = wordsOfSum(fakeCUDA.all[0]);
  EXPECT_EQ(words[recur::abi::SumToWord], zeros);
  EXPECT_EQ(words[recur::abi::SumSlicesWord], 0);
  EXPECT_EQ(words[recur::abi::SumElementsWord], values * 2 / 4);
  EXPECT_THAT(wordsOf(fakeCUDA.all[2], runCotangent), ElementsAre(zeros, 0, 0, 0, 1, 1, 1, 0, 1, 0));
  EXPECT_EQ(dataOf(fakeCUDA.all[2], runS), 0);
}

TEST_F(Gradient, ThatIsNotWantedIsNotWritten) {
  given[gradientQ].data = given[gradientMu].data = given[initialGradient].data = nullptr;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient"));
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runQ), 0);
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runSBefore), 0);
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runSumBefore), inSpace(sumsOfMu)) << "the kernel adds to it";
}

TEST_F(Gradient, ThatWasLeftOutHasNoArray) {
  constexpr int32_t without[] = {0};
  gradient.without = without;
  gradient.without_count = 1;
  EXPECT_EQ(backward(), RECUR_NO_PLAN);
  given[gradientQ].data = nullptr;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient", "recur_sum"));
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runQ), at(memory[gradientV])) << "the next one is in its place";
}

/// Forward over all parts but the last, and then from the last to the first with the states of each.
TEST_F(Gradient, WithLittleWorkspaceGoesByParts) {
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  int64_t whole = call.workspace_bytes;
  ASSERT_EQ(backward(whole - 1), RECUR_OK) << recur_message();
  EXPECT_LT(call.workspace_bytes, whole);
  // Three chunks and two.
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_states", "gdn_gradient", "recur_sum", "gdn_states",
                                     "gdn_gradient", "recur_sum", "recur_sum"));
  const std::vector<FakeLaunch> &all = fakeCUDA.all;
  constexpr int64_t row = heads * state, ofPart = 3 * chunk, start = tiles + 2 * 3 * row * 4,
                    between = start + 2 * row * 4;
  const int64_t tokens[] = {192, 108, 108, 0, 192, 192};
  for (int i : {0, 1, 2, 4, 5}) {
    EXPECT_EQ(all[size_t(i)].words[recur::abi::TokensWord], tokens[i]);
    int64_t begin = tokens[i] == 108 ? ofPart : 0;
    EXPECT_EQ(dataOf(all[size_t(i)], q), at(memory[q], begin * groups * keys * 2));
    EXPECT_EQ(wordsOf(all[size_t(i)], q)[1], 300 * groups * keys) << "sequences lie as they did";
  }
  EXPECT_EQ(dataOf(all[0], statesInitial), at(memory[initial]));
  EXPECT_EQ(dataOf(all[0], statesFinal), inSpace(start));
  EXPECT_EQ(dataOf(all[0], statesKept), 0);
  EXPECT_EQ(dataOf(all[1], statesInitial), inSpace(start));
  EXPECT_EQ(dataOf(all[1], statesFinal), 0);
  EXPECT_THAT(wordsOf(all[1], statesKept), ElementsAre(inSpace(tiles), 2 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_THAT(wordsOf(all[4], statesKept), ElementsAre(inSpace(tiles), 3 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_EQ(dataOf(all[4], statesInitial), at(memory[initial]));
  // What is carried comes from the caller, goes by the workspace, and ends with the caller.
  EXPECT_EQ(dataOf(all[2], runS), at(memory[finalCotangent]));
  EXPECT_EQ(dataOf(all[2], runSBefore), inSpace(between));
  EXPECT_EQ(dataOf(all[5], runS), inSpace(between));
  EXPECT_EQ(dataOf(all[5], runSBefore), at(memory[initialGradient]));
  EXPECT_EQ(dataOf(all[2], runSum), 0);
  EXPECT_EQ(dataOf(all[5], runSum), dataOf(all[2], runSumBefore)) << "which is added to";
  EXPECT_EQ(dataOf(all[5], runSumBefore), dataOf(all[2], runSumBefore));
  EXPECT_EQ(dataOf(all[2], runV), at(memory[gradientV], ofPart * heads * values * 2));
  // The sums over heads are of the part's tokens.
  EXPECT_EQ(wordsOfSum(all[3])[recur::abi::SumToWord], at(memory[gradientQ], ofPart * groups * keys * 2));
  EXPECT_EQ(wordsOfSum(all[3])[recur::abi::SumTokensWord], 108);
  EXPECT_EQ(wordsOfSum(all[3])[recur::abi::SumFromStridesWord], 108 * heads * keys);
  EXPECT_EQ(wordsOfSum(all[6])[recur::abi::SumTokensWord], 192);
}

/// What a delay holds lies in inputs' arrays, but for what it was before the part's tokens.
TEST_F(Gradient, TakesStatesAsTheyAreBeforeTheTokens) {
  fakeCUDA.wordCount = recur::abi::countWords(runCount + 1);
  constexpr int32_t starts[] = {0};
  constexpr int runStart = runQ;
  gradient.starts = starts;
  gradient.start_count = 1;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  int64_t whole = call.workspace_bytes;
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runSum), 0);
  EXPECT_EQ(wordsOf(fakeCUDA.all[1], runStart), wordsOf(fakeCUDA.all[0], statesInitial));
  EXPECT_EQ(dataOf(fakeCUDA.all[1], runV + 1), at(memory[gradientV])) << "behind them";
  EXPECT_EQ(wordsOf(fakeCUDA.all[1], runKept + 1), wordsOf(fakeCUDA.all[0], statesKept));
  ASSERT_EQ(backward(whole - 1), RECUR_OK) << recur_message();
  const std::vector<FakeLaunch> &all = fakeCUDA.all;
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(dataOf(all[2], runStart), dataOf(all[0], statesFinal)) << "of the second part";
  EXPECT_EQ(dataOf(all[5], runStart), at(memory[initial]));
}

TEST_F(Gradient, TakesWhatTheQuerySays) {
  for (int64_t tokens : {1, 64, 65, 1000, 5000})
    for (int64_t budget : {int64_t(1), int64_t(20000), int64_t(100000), int64_t(1) << 40}) {
      call.T = tokens;
      call.workspace_bytes = budget;
      int64_t asked = recur_backward_workspace_size(&recurrence, &call);
      call.workspace_bytes = asked;
      EXPECT_EQ(recur_backward_workspace_size(&recurrence, &call), asked) << tokens << " tokens, " << budget;
    }
  call.T = 5000;
  call.workspace_bytes = 1;
  int64_t least = recur_backward_workspace_size(&recurrence, &call);
  call.workspace_bytes = least - 1;
  EXPECT_EQ(recur_backward_workspace_size(&recurrence, &call), least);
  call.workspace = memory;
  EXPECT_EQ(recur_backward(&recurrence, &call), RECUR_SMALL_WORKSPACE);
}

/// States of more bytes than the arrays have, and of more than a few.
TEST_F(Gradient, LeftToItselfTakesNoMoreThanTheArrays) {
  constexpr recur_array_info large[] = {
      arrays[0], arrays[1], arrays[2], {"S", RECUR_STATE, RECUR_F32, 0, 2, {values, 32 * keys}}, arrays[4]};
  recurrence.arrays = large;
  call.B = 4;
  call.T = 1 << 20;
  constexpr int64_t chunksOfAll = 4 * (1 << 20) / chunk, ofState = 32 * state * 4 * heads;
  constexpr int64_t ofArrays = 2 * 2 * 4 * (1 << 20) * (groups * keys + 2 * heads * values);
  static_assert(chunksOfAll * ofState > ofArrays);
  int64_t bytes = recur_backward_workspace_size(&recurrence, &call);
  int64_t ofHeads = 4 * int64_t(1 << 20) * heads * keys * 2;
  EXPECT_LT(bytes, ofArrays + ofHeads);
  call.workspace_bytes = int64_t(1) << 40;
  EXPECT_GT(recur_backward_workspace_size(&recurrence, &call), chunksOfAll * ofState);
}

TEST_F(Gradient, ReadsTheStatesThatWereKept) {
  keep(chunk);
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_gradient", "recur_sum", "recur_sum"));
  constexpr int64_t row = heads * state;
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], runKept),
              ElementsAre(at(keptStates_), 5 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_EQ(call.workspace_bytes, tiles + 64 + 2 * 300 * heads * keys * 2 + 64);
}

/// In 16 bits, as its launches take them.
TEST_F(Gradient, RoundsTheStatesThatWereKept) {
  gradient.kept_dtypes = bf16;
  keep(chunk);
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("recur_sum", "gdn_gradient", "recur_sum", "recur_sum"));
  constexpr int64_t row = heads * state;
  std::vector<int64_t> rounding = wordsOfSum(fakeCUDA.all[0]);
  EXPECT_EQ(rounding[recur::abi::SumFromWord], at(keptStates_));
  EXPECT_EQ(rounding[recur::abi::SumFromTypeWord], RECUR_F32);
  EXPECT_EQ(rounding[recur::abi::SumToWord], inSpace(tiles));
  EXPECT_EQ(rounding[recur::abi::SumToTypeWord], RECUR_BF16);
  EXPECT_EQ(rounding[recur::abi::SumTokensWord], 2 * 5);
  EXPECT_EQ(rounding[recur::abi::SumElementsWord], state);
  EXPECT_THAT(wordsOf(fakeCUDA.all[1], runKept),
              ElementsAre(inSpace(tiles), 5 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_EQ(call.workspace_bytes, tiles + keptBytes / 2 + 64 + 2 * 300 * heads * keys * 2 + 64);
}

TEST_F(Gradient, OfStatesOfSixteenBitsTakesHalfOfTheWorkspace) {
  gradient.kept_dtypes = bf16;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  EXPECT_EQ(call.workspace_bytes, headsOfQ - keptBytes / 2 + 2 * 300 * heads * keys * 2 + 64);
}

TEST_F(Gradient, TakesWhatTheCallForwardHandsOver) {
  handOver();
  ASSERT_EQ(recur_handed_rows(&recurrence, &call), 2 * 5);
  constexpr int64_t row = heads * state;
  ASSERT_EQ(callForward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_handing"));
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], 6),
              ElementsAre(at(keptStates_), 5 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_EQ(dataOf(fakeCUDA.all[0], 4), at(memory[cotangent])) << "the output";
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_gradient", "recur_sum", "recur_sum"));
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], runKept),
              ElementsAre(at(keptStates_), 5 * row, row, state, 1, keys, 1, 0, chunk, row));
  EXPECT_EQ(call.workspace_bytes, tiles + 64 + 2 * 300 * heads * keys * 2 + 64) << "which has none of them";
}

// What launches leave to each other lies in the caller's memory, where there is some, and else in the workspace.
TEST_F(Gradient, TakesWhatLaunchesOfTheCallForwardLeave) {
  handOver();
  handValues();
  constexpr int64_t matrix = int64_t(chunk) * chunk * 2, numbers = chunk * 4, bytes = matrix + numbers;
  ASSERT_EQ(recur_handed_bytes(&recurrence, &call), 2 * 5 * heads * bytes);
  alignas(64) static char values[2 * 5 * heads * bytes];
  for (bool handsThem : {true, false}) {
    call.handed_values = handsThem ? values : nullptr;
    ASSERT_EQ(callForward(), RECUR_OK) << recur_message();
    ASSERT_THAT(symbols(), ElementsAre("gdn_handing", "gdn_handing_chain"));
    constexpr int64_t all = 2 * 5 * heads, head = 2 * 5;
    int64_t there = handsThem ? at(values) : inForwardSpace(0), last = handsThem ? inForwardSpace(0) : 0;
    std::vector<int64_t> ofMatrix = wordsOf(fakeCUDA.all[0], 0), ofNumbers = wordsOf(fakeCUDA.all[0], 2);
    EXPECT_EQ(ofMatrix[0], handsThem ? there + all * numbers : there);
    EXPECT_EQ(ofMatrix[3], head * chunk * chunk) << "from head to head";
    EXPECT_EQ(ofNumbers[0], handsThem ? there : there + all * (matrix + 4 * chunk));
    if (handsThem)
      EXPECT_EQ(dataOf(fakeCUDA.all[0], 1), last) << "what is not handed over";
    ASSERT_EQ(backward(), RECUR_OK) << recur_message();
    if (!handsThem) {
      ASSERT_THAT(symbols(), ElementsAre("gdn_gradient", "recur_sum", "recur_sum"));
      continue;
    }
    ASSERT_THAT(symbols(), ElementsAre("gdn_taking", "recur_sum", "recur_sum"));
    EXPECT_EQ(wordsOf(fakeCUDA.all[0], 0), ofMatrix);
    EXPECT_EQ(wordsOf(fakeCUDA.all[0], 1), ofNumbers);
  }
}

TEST_F(Gradient, RefusesValuesThatAreNotHandedOver) {
  alignas(64) static char values[64];
  call.handed_values = values;
  EXPECT_EQ(backward(), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: handed_values are handed over beside states alone, and handed_states is null");
  handOver();
  EXPECT_EQ(recur_handed_bytes(&recurrence, &call), -1);
  EXPECT_STREQ(recur_message(),
               "gdn: it hands nothing but states over; recur_handed_bytes says 0, and handed_values must be null");
  handValues();
  call.handed_values = values + 4;
  EXPECT_EQ(callForward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: handed_values is not aligned to 16 bytes");
  call.handed_values = memory[cotangent];
  EXPECT_EQ(callForward(), RECUR_OVERLAP);
  EXPECT_STREQ(recur_message(), "gdn: 'handed_values' shares memory with the output 'o'");
}

/// Packed sequences go together, by offsets that the GPU alone knows.
TEST_F(Gradient, TakesWhatIsHandedOverOfPackedSequences) {
  handOver();
  pack();
  call.sequence_offsets = nullptr;
  ASSERT_EQ(recur_handed_rows(&recurrence, &call), 300 / chunk + 3);
  constexpr int64_t row = heads * state;
  ASSERT_EQ(callForward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_handing"));
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], 6), ElementsAre(at(keptStates_), row, row, state, 1, keys, 1, 0, chunk, row));
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_gradient", "recur_sum", "recur_sum"));
  EXPECT_THAT(wordsOf(fakeCUDA.all[0], runKept),
              ElementsAre(at(keptStates_), row, row, state, 1, keys, 1, 0, chunk, row));
}

TEST_F(Gradient, RefusesWhatIsNotHandedOver) {
  auto refused = [&](const std::string &message) {
    EXPECT_EQ(callForward(), RECUR_NO_PLAN);
    EXPECT_EQ(recur_message(), "gdn: " + message);
  };
  call.handed_states = handedStates;
  EXPECT_EQ(recur_handed_rows(&recurrence, &call), -1);
  refused("it has no kernel that hands states over to a gradient; recur_handed_rows says 0, and handed_states must be "
          "null");
  call.handed_states = nullptr;
  EXPECT_EQ(recur_handed_rows(&recurrence, &call), 0);
  handOver();
  keep(chunk);
  refused("states go to handed_states, or to kept_states, not to both");
  call.kept_interval = 0;
  call.plan = RECUR_PLAN_STEP;
  refused("the plan step hands no states over");
  call.plan = RECUR_PLAN_AUTO;
  int32_t rows[2] = {0, 1};
  call.state_indices = rows;
  call.pool_rows = 2;
  refused("a call on pools hands no states over");
  call.state_indices = nullptr;
  call.pool_rows = 0;
  call.device = RECUR_CPU;
  EXPECT_NE(callForward(), RECUR_OK);
  call.device = RECUR_CUDA;
  handedStates[0] = nullptr;
  EXPECT_EQ(callForward(), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the kept state 'S' is null");
}

TEST_F(Gradient, FindsTheStatesBetweenThoseThatWereKept) {
  keep(2 * chunk);
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 2 * 3);
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient", "recur_sum", "gdn_states", "gdn_gradient",
                                     "recur_sum", "gdn_states", "gdn_gradient", "recur_sum", "recur_sum"));
  constexpr int64_t row = heads * state;
  for (int part = 0; part < 3; ++part) {
    const FakeLaunch &launch = fakeCUDA.all[size_t(3 * (2 - part))];
    EXPECT_EQ(launch.words[recur::abi::TokensWord], part < 2 ? 128 : 44);
    EXPECT_THAT(wordsOf(launch, statesInitial),
                ElementsAre(at(keptStates_, part * row * 4), 3 * row, 0, state, 1, keys, 1, 0, 1, 0));
    EXPECT_EQ(dataOf(launch, statesKept), inSpace(tiles));
  }
}

/// Whoever launches need not know the offsets: each sequence begins at a chunk of its own, wherever it begins.
TEST_F(Gradient, OfPackedSequencesGoesByOffsetsOnTheGPU) {
  pack();
  call.sequence_offsets = nullptr;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_gradient", "recur_sum", "recur_sum"));
  constexpr int64_t row = heads * state, places = 3 * heads * 192;
  for (size_t i : {0, 1}) {
    EXPECT_EQ(fakeCUDA.all[i].words[recur::abi::OffsetsWord], at(onDevice));
    EXPECT_EQ(fakeCUDA.all[i].words[recur::abi::TokensWord], 300);
    EXPECT_THAT(fakeCUDA.all[i].grid, ElementsAre(3 * heads, 1, 1));
    EXPECT_THAT(wordsOf(fakeCUDA.all[i], i ? int(runKept) : int(statesKept)),
                ElementsAre(inSpace(places), row, row, state, 1, keys, 1, 0, chunk, row));
  }
  EXPECT_THAT(wordsOf(fakeCUDA.all[1], runSumBefore),
              ElementsAre(inSpace(places + (300 / 64 + 3) * row * 4), heads, 0, 1, 1, 1, 1, 0, 1, 0));
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[2])[recur::abi::SumOffsetsWord], at(onDevice)) << "other tokens are left alone";
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[2])[recur::abi::SumLastOffsetWord], 3);
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[3])[recur::abi::SumOffsetsWord], 0);
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[3])[recur::abi::SumSlicesWord], 3);
  int64_t whole = call.workspace_bytes;
  ASSERT_EQ(backward(1), RECUR_OK) << recur_message();
  EXPECT_EQ(call.workspace_bytes, whole) << "they are not cut into parts";
}

TEST_F(Gradient, OfPackedSequencesWithKeptStatesGoesOneByOne) {
  pack();
  keep(chunk);
  ASSERT_EQ(recur_kept_rows(&recurrence, &call), 2 + 0 + 4);
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(),
              ElementsAre("gdn_gradient", "recur_sum", "gdn_gradient", "gdn_gradient", "recur_sum", "recur_sum"));
  constexpr int64_t row = heads * state;
  const int64_t tokens[] = {100, 0, 200}, begin[] = {0, 100, 100}, rows[] = {0, 2, 2}, place[] = {0, 2, 3};
  for (int i = 0; i < 3; ++i) {
    const FakeLaunch &launch = fakeCUDA.all[size_t(place[i])];
    EXPECT_EQ(launch.words[recur::abi::TokensWord], tokens[i]);
    EXPECT_EQ(launch.words[recur::abi::OffsetsWord], 0);
    EXPECT_EQ(dataOf(launch, q), at(memory[q], begin[i] * groups * keys * 2));
    EXPECT_EQ(dataOf(launch, runS), at(memory[finalCotangent], i * row * 4));
    EXPECT_EQ(dataOf(launch, runSBefore), at(memory[initialGradient], i * row * 4));
    EXPECT_EQ(dataOf(launch, runKept), tokens[i] ? at(keptStates_, rows[i] * row * 4) : 0);
    EXPECT_EQ(dataOf(launch, runSumBefore) - dataOf(fakeCUDA.all[0], runSumBefore), i * heads * 4);
  }
}

TEST_F(Gradient, OfNoTokensTakesCotangentsToTheInitialStates) {
  call.T = 0;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_gradient", "recur_sum"));
  EXPECT_EQ(dataOf(fakeCUDA.all[0], runS), at(memory[finalCotangent]));
  EXPECT_EQ(dataOf(fakeCUDA.all[0], runSBefore), at(memory[initialGradient]));
  EXPECT_EQ(dataOf(fakeCUDA.all[0], runKept), 0);
  call.B = 0; // of no sequences the gradient of mu is zero
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("recur_sum"));
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[0])[recur::abi::SumSlicesWord], 0);
  EXPECT_EQ(wordsOfSum(fakeCUDA.all[0])[recur::abi::SumToWord], at(memory[gradientMu]));
}

TEST_F(Gradient, OfTransposedStatesSwapsTheSidesOfTheCallersAlone) {
  call.states_transposed = 1;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  constexpr int64_t row = heads * state;
  EXPECT_THAT(wordsOf(fakeCUDA.all[1], runS),
              ElementsAre(at(memory[finalCotangent]), row, 0, state, 1, 1, values, 0, 1, 0));
  EXPECT_THAT(wordsOf(fakeCUDA.all[1], runSBefore),
              ElementsAre(at(memory[initialGradient]), row, 0, state, 1, 1, values, 0, 1, 0));
  EXPECT_THAT(wordsOf(fakeCUDA.all[1], runKept),
              ElementsAre(inSpace(tiles), 5 * row, row, state, 1, keys, 1, 0, chunk, row));
}

/// The launches of phases have what they leave behind the arrays, and a workspace of the part.
TEST_F(Gradient, InPhasesLeavesBehindTheArrays) {
  recur_launch_array first[2] = {{q, -1, 0, 0}, {runCount, -1, 0, 0}},
                     second[2] = {{runCount, -1, 0, 0}, {runQ, -1, 0, 0}};
  recur_left_info left[1] = {{chunk, 4, 0, {0, 0}, 0, 0}};
  recur_launch_info phases[2] = {{"gdn_apart", 256, 1000, 0, 1, 1, first, 2, 0, 0, 0, 0, 0, nullptr, 0},
                                 {"gdn_back", 256, 1000, 0, 1, 0, second, 2, 0, 0, 0, 0, 0, nullptr, 0}};
  runKernel = {nullptr, 0, 0, RECUR_PLAN_CHUNK, chunk, nullptr, 0, 2, phases, left, 1, nullptr, nullptr};
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_states", "gdn_apart", "gdn_back", "recur_sum", "recur_sum"));
  EXPECT_THAT(fakeCUDA.all[1].grid, ElementsAre(2 * heads, 5, 1));
  EXPECT_EQ(dataOf(fakeCUDA.all[1], 1), inSpace(0));
  EXPECT_EQ(dataOf(fakeCUDA.all[2], 0), inSpace(0));
  EXPECT_EQ(wordsOf(fakeCUDA.all[2], 0)[1], 5 * chunk);
  constexpr int64_t leftBytes = 2 * 5 * heads * chunk * 4;
  EXPECT_EQ(dataOf(fakeCUDA.all[0], statesKept), inSpace(leftBytes));
  EXPECT_EQ(dataOf(fakeCUDA.all[2], 1), inSpace(leftBytes + keptBytes + 64));
}

TEST_F(Gradient, OfMoreElementsThan32BitsCount) {
  call.B = 1;
  call.T = int64_t(1) << 29;
  call.H = call.Hq = 8;
  call.workspace_bytes = 0;
  call.workspace_bytes = recur_backward_workspace_size(&recurrence, &call);
  ASSERT_GT(call.workspace_bytes, int64_t(1) << 32);
  // Memory that nobody looks at.
  char *far = reinterpret_cast<char *>(int64_t(1) << 44);
  for (int i = 0; i < argumentCount; ++i)
    given[i].data = far + (int64_t(i) << 40);
  call.workspace = far + (int64_t(argumentCount) << 40);
  ASSERT_EQ(recur_backward(&recurrence, &call), RECUR_OK) << recur_message();
  const FakeLaunch &back = fakeCUDA.all[1];
  EXPECT_EQ(back.words[recur::abi::TokensWord], call.T);
  EXPECT_EQ(wordsOf(back, runV)[1], call.T * 8 * values);
  call.B = 100000; // more than a grid's second and third sizes
  call.T = 1;
  ASSERT_EQ(recur_backward(&recurrence, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.all.back().words[recur::abi::SumSlicesWord], 100000);
}

TEST_F(Gradient, IsLoadedBeforeAGraphCapturesIt) {
  ASSERT_EQ(recur_load(&recurrence, RECUR_CUDA), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
  EXPECT_EQ(fakeCUDA.launches, 0);
  fakeCUDA.errorOfLoad = 209; // what a capture refuses
  fakeCUDA.sharedBytes = -1;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  EXPECT_EQ(fakeCUDA.loads, 1);
  EXPECT_EQ(fakeCUDA.sharedBytes, -1) << "no function was looked for";
}

TEST_F(Gradient, LiesInTheGPUsMemory) {
  fakeCUDA.hostMemory = memory[gradientV];
  EXPECT_EQ(backward(), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "gdn: the gradient of input 'v' is not memory of a GPU");
  fakeCUDA.hostMemory = nullptr;
  pack();
  call.device_offsets = nullptr;
  EXPECT_EQ(backward(), RECUR_NULL_POINTER);
  EXPECT_TRUE(fakeCUDA.all.empty());
  call.plan = RECUR_PLAN_STEP;
  EXPECT_EQ(recur_backward_workspace_size(&recurrence, &call), -1);
}

/// Of states that start as something of the params, these have a part of their gradients from there.
TEST_F(Gradient, OfStartsIsAddedToThoseOfParams) {
  recur_array_info startArrays[] = {arrays[2], arrays[3]};
  recur_launch_info startForward = forward, startRun = run;
  startForward.symbol = "gdn_start";
  startRun.symbol = "gdn_start_gradient";
  recur_kernel_info startKernel = forwardKernel, startRunKernel = runKernel;
  startKernel.launches = &startForward;
  startRunKernel.launches = &startRun;
  recur_gradient_info startGradient = gradient;
  startGradient.kept_count = 0;
  startGradient.states_launches = nullptr;
  startGradient.run_launches = &startRunKernel;
  recur_recurrence start = recurrence;
  start.array_count = 2;
  start.arrays = startArrays;
  start.kernels = &startKernel;
  start.gradient = &startGradient;
  start.name = "gdn_start";
  recurrence.start = &start;
  given[initial].data = given[initialGradient].data = nullptr;
  ASSERT_EQ(backward(), RECUR_OK) << recur_message();
  ASSERT_THAT(symbols(), ElementsAre("gdn_start", "gdn_states", "gdn_gradient", "recur_sum", "recur_sum",
                                     "gdn_start_gradient", "recur_sum", "recur_sum"));
  const std::vector<FakeLaunch> &all = fakeCUDA.all;
  EXPECT_EQ(dataOf(all[1], statesInitial), dataOf(all[0], 2)) << "what was made";
  // The start's cotangents of states are the gradients of the initial states.
  EXPECT_EQ(dataOf(all[5], 1), dataOf(all[2], runSBefore));
  std::vector<int64_t> own = wordsOfSum(all[6]), both = wordsOfSum(all[7]);
  EXPECT_EQ(both[recur::abi::SumFromWord], own[recur::abi::SumToWord]);
  EXPECT_EQ(both[recur::abi::SumToWord], at(memory[gradientMu]));
  EXPECT_EQ(both[recur::abi::SumAddsWord], 1);
  EXPECT_EQ(both[recur::abi::SumSlicesWord], 1);
  recurrence.start = nullptr;
  recur_unload(&start);
}

} // namespace
