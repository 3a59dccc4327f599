// States as rows of pools: the bits of a call whose states are its own, and nothing else of the pool is touched.
#include "PooledCall.h"
#include "Runtime/CPU/Numbers.h"
#include "Runtime/CPU/Segments.h"
#include <cstring>

using namespace recur::test;
using namespace recur::runtime;

namespace {

constexpr int64_t poolRows = 7;

/// How a call is made.
struct How {
  int32_t plan = RECUR_PLAN_AUTO;
  bool isTransposed = false;
  bool isInPlace = true; // else final states go to pools of their own
  bool hasStart = true;  // else initial states are left out
};

/// Makes the call with states in pools and with the same states as its own, and compares all that is written.
void expectSame(const Problem &given, const recur_recurrence &recurrence, const How &how,
                const std::vector<int32_t> &states, const std::vector<int32_t> *finals,
                const int64_t *offsets = nullptr) {
  Problem own = given, pooled = given;
  const std::vector<int32_t> &written = finals ? *finals : states;
  std::vector<float> pools[argumentCount];
  int64_t sequences = given.sequences, heads = given.H;
  for (auto [initial, final] : statePairs) {
    int64_t row = heads * countStateNumbers(initial);
    for (int i : {initial, final})
      for (int64_t j = 0; j < poolRows * row; ++j)
        pools[i].push_back(float(j % 97) / 64 + float(i));
    for (int64_t i = 0; i < sequences; ++i) {
      float *state = own.arrays[initial].data() + i * row;
      if (states[size_t(i)] >= 0)
        std::memcpy(state, pools[initial].data() + states[size_t(i)] * row, size_t(row) * sizeof(float));
      else
        std::fill_n(state, row, 0.0f);
    }
  }
  std::vector<float> before[argumentCount];
  std::copy(std::begin(pools), std::end(pools), std::begin(before));
  recur_argument arguments[argumentCount];
  for (bool isPooled : {false, true}) {
    Problem &problem = isPooled ? pooled : own;
    recur_call call = problem.makeCall(arguments, offsets, 3, &recurrence);
    call.plan = how.plan;
    call.states_transposed = how.isTransposed;
    if (isPooled) {
      call.state_indices = states.data();
      call.final_indices = finals ? finals->data() : nullptr;
      call.pool_rows = poolRows;
    }
    for (auto [initial, final] : statePairs) {
      if (isPooled) {
        arguments[initial].data = pools[initial].data();
        arguments[final].data = pools[how.isInPlace ? initial : final].data();
      }
      if (!how.hasStart)
        arguments[initial].data = nullptr;
    }
    problem.makeSpace(call, &recurrence);
    ASSERT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message();
  }
  EXPECT_EQ(pooled.arrays[o], own.arrays[o]);
  EXPECT_EQ(pooled.arrays[seen], own.arrays[seen]);
  for (auto [initial, final] : statePairs) {
    int64_t row = heads * countStateNumbers(initial);
    int place = how.isInPlace ? initial : final;
    for (int64_t i = 0; i < sequences; ++i)
      if (int32_t to = written[size_t(i)]; to >= 0)
        std::memcpy(before[place].data() + to * row, own.arrays[final].data() + i * row, size_t(row) * sizeof(float));
    EXPECT_EQ(pools[initial], before[initial]) << "of state " << initial;
    EXPECT_EQ(pools[final], before[final]) << "of state " << final;
  }
}

const How everyWay[] = {{},
                        {RECUR_PLAN_STEP},
                        {RECUR_PLAN_CHUNK, true},
                        {RECUR_PLAN_AUTO, false, false},
                        {RECUR_PLAN_AUTO, true, false},
                        {RECUR_PLAN_AUTO, false, true, false}};

struct PoolMisuse : PooledCall {
  std::vector<int32_t> states{2, 0, 5}, finals{1, 0, 6};

  PoolMisuse() : PooledCall({3, 2, 2, 1}, poolRows) { call.state_indices = states.data(); }
};

} // namespace

TEST(Pools, HaveTheBitsOfStatesOfTheCallsOwn) {
  const std::vector<int32_t> states{4, 0, 6}, others{5, 0, 2}, some{3, -1, 1}, none{-1, -1, -5};
  for (int64_t T : {0, 1, 2, 30})
    for (const How &how : everyWay) {
      Problem problem(3, T, 4, 2);
      expectSame(problem, attention, how, states, nullptr);
      expectSame(problem, attention, how, states, &others);
      expectSame(problem, attention, how, some, nullptr);
      expectSame(problem, attention, how, some, &others);
      expectSame(problem, attention, how, states, &none);
    }
}

TEST(Pools, AreReadAndWrittenBySegments) {
  setProcessors(5);
  for (int64_t T : {3, 40, 61})
    for (How how : everyWay) {
      how.plan = RECUR_PLAN_SEGMENT;
      expectSame(Problem(2, T, 2, 1), segmented, how, {4, -1}, nullptr);
      expectSame(Problem(2, T, 2, 1), segmented, how, {4, 1}, nullptr);
    }
  setProcessors(0);
}

TEST(Pools, AreOfPackedSequences) {
  const int64_t offsets[] = {0, 0, 3, 20, 20};
  const std::vector<int32_t> finals{1, 2, 3, 6};
  for (const How &how : everyWay) {
    expectSame(Problem(1, 20, 2, 1, 4), attention, how, {4, 0, -1, 5}, nullptr, offsets);
    expectSame(Problem(1, 20, 2, 1, 4), attention, how, {4, 0, -1, 5}, &finals, offsets);
  }
}

/// As of a prefix that several requests begin with.
TEST(Pools, RowsMayBeReadForSeveralSequences) {
  const std::vector<int32_t> finals{1, 2, 3};
  expectSame(Problem(3, 5, 2, 1), attention, {}, {4, 4, 4}, &finals);
  expectSame(Problem(3, 5, 2, 1), attention, {RECUR_PLAN_AUTO, false, false}, {1, 1, 2}, &finals);
}

/// Pools may be slices of a larger block for each request.
TEST(Pools, HaveStridesOfTheirOwn) {
  Problem problem(2, 3, 2, 1), own = problem;
  constexpr int64_t stride = 2 * V * K + 2 + 5;
  std::vector<float> block(poolRows * stride);
  for (size_t i = 0; i < block.size(); ++i)
    block[i] = float(i) / 16;
  std::vector<float> before = block;
  const int32_t rows[] = {5, 2};
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);
  call.state_indices = rows;
  call.pool_rows = poolRows;
  for (int i : {initialS, finalS})
    arguments[i] = {block.data(), {stride, 0, 0}};
  for (int i : {initialN, finalN})
    arguments[i] = {block.data() + 2 * V * K, {stride, 0, 0}};
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  for (int64_t i : {0, 1}) {
    std::memcpy(own.arrays[initialS].data() + i * 2 * V * K, before.data() + rows[i] * stride,
                2 * V * K * sizeof(float));
    std::memcpy(own.arrays[initialN].data() + i * 2, before.data() + rows[i] * stride + 2 * V * K, 2 * sizeof(float));
  }
  call = own.makeCall(arguments);
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(problem.arrays[o], own.arrays[o]);
  for (int64_t i : {0, 1}) {
    std::memcpy(before.data() + rows[i] * stride, own.arrays[finalS].data() + i * 2 * V * K, 2 * V * K * sizeof(float));
    std::memcpy(before.data() + rows[i] * stride + 2 * V * K, own.arrays[finalN].data() + i * 2, 2 * sizeof(float));
  }
  EXPECT_EQ(block, before);
}

/// Only final states may be in pools, as when a prompt's begin as the call says.
TEST(Pools, MayBeOfFinalStatesAlone) {
  Problem problem(2, 3, 2, 1), own = problem;
  std::vector<float> pool(poolRows * 2 * V * K), counts(poolRows * 2);
  const int32_t rows[] = {5, 2};
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);
  call.final_indices = rows;
  call.pool_rows = poolRows;
  arguments[finalS].data = pool.data();
  arguments[finalN].data = counts.data();
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  call = own.makeCall(arguments);
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(problem.arrays[o], own.arrays[o]);
  for (int64_t i : {0, 1})
    EXPECT_EQ(std::memcmp(pool.data() + rows[i] * 2 * V * K, own.arrays[finalS].data() + i * 2 * V * K,
                          2 * V * K * sizeof(float)),
              0);
}

TEST_F(PoolMisuse, IndicesBeyondThePool) {
  expectTaken();
  states[1] = poolRows;
  expectRefused(RECUR_BAD_INDEX, "state_indices[1] is 7, and the pools have 7 rows; a negative index stands for none");
  states[1] = -3;
  expectTaken();
  call.final_indices = finals.data();
  finals[2] = 100;
  expectRefused(RECUR_BAD_INDEX, "final_indices[2] is 100, and the pools have 7 rows");
  call.pool_rows = 0;
  expectRefused(RECUR_BAD_INDEX, "state_indices[0] is 2, and the pools have 0 rows");
  call.pool_rows = -1;
  expectRefused(RECUR_BAD_SIZE, "pool_rows is -1; it must be at least 0");
}

TEST_F(PoolMisuse, RowsThatAreWrittenTwice) {
  states[2] = 2;
  expectRefused(RECUR_BAD_INDEX, "state_indices[2] is 2, and so is [0]; no row is written for two sequences");
  states[2] = states[0] = -1; // of which nobody writes
  expectTaken();
  states = {2, 2, 2};
  finals = {1, 3, 1};
  call.final_indices = finals.data();
  expectRefused(RECUR_BAD_INDEX, "final_indices[2] is 1, and so is [0]");
  finals[2] = 6;
  expectTaken();
  arguments[finalS].data = arguments[finalN].data = nullptr; // nothing is written
  call.final_indices = nullptr;
  expectTaken();
}

TEST_F(PoolMisuse, RowsThatAreReadForOneAndWrittenForAnother) {
  call.final_indices = finals.data();
  finals = {0, 1, 6};
  expectRefused(RECUR_BAD_INDEX, "state_indices[1] is 0, and so is final_indices[0]; no row is read for one "
                                 "sequence and written for another");
  std::vector<float> other(pool.size()), otherCounts(counts.size());
  arguments[finalS].data = other.data(); // which is another pool's row
  arguments[finalN].data = otherCounts.data();
  expectTaken();
}

TEST_F(PoolMisuse, WhatPoolsDoNotGoWith) {
  call.state_indices = nullptr;
  expectRefused(RECUR_NULL_POINTER, "pool_rows is 7, but state_indices and final_indices are null");
  call.state_indices = reinterpret_cast<int32_t *>(pool.data());
  expectRefused(RECUR_OVERLAP, "'state_indices' lies in the final state 'S'");
  call.state_indices = states.data();
  arguments[finalS].data = pool.data() + 2 * V * K;
  expectRefused(RECUR_OVERLAP, "the final state 'S' shares memory with the initial state 'S'");
  Problem other(3, 2, 2, 1);
  call.plan = RECUR_PLAN_AUTO;
  EXPECT_EQ(recur_summarise(&segmented, &call, 0, {}), RECUR_NO_PLAN);
  EXPECT_STREQ(recur_message(), "attention: summaries are of states of the call's own sequences, not of rows of pools");
}
