// What recur_forward computes: batches, shared heads, strides, packed sequences, states, plans.
#include "TestRecurrence.h"
#include <gmock/gmock.h>

using namespace recur::test;
using testing::ElementsAreArray;

/// The array without its last element, which is there so that no array is empty.
static std::vector<float> withoutLast(std::vector<float> values) {
  values.pop_back();
  return values;
}

static void expectResults(const Problem &problem, const Expected &expected) {
  EXPECT_THAT(withoutLast(problem.arrays[o]), ElementsAreArray(withoutLast(expected.o)));
  EXPECT_THAT(withoutLast(problem.arrays[seen]), ElementsAreArray(withoutLast(expected.seen)));
  EXPECT_THAT(withoutLast(problem.arrays[finalS]), ElementsAreArray(withoutLast(expected.S)));
  EXPECT_THAT(withoutLast(problem.arrays[finalN]), ElementsAreArray(withoutLast(expected.N)));
}

TEST(Forward, DenseBatchesWithSharedHeads) {
  for (int64_t B : {0, 1, 3})
    for (int64_t T : {0, 1, 2, 7})
      for (auto [H, Hq] : {std::pair<int64_t, int64_t>{1, 1}, {6, 2}, {4, 4}}) {
        SCOPED_TRACE(testing::Message() << "B " << B << " T " << T << " H " << H);
        Problem problem(B, T, H, Hq);
        recur_argument arguments[argumentCount];
        recur_call call = problem.makeCall(arguments);
        ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
        expectResults(problem, Expected(problem));
      }
}

TEST(Forward, AnyNumberOfThreadsGivesTheSame) {
  Problem problem(3, 11, 4, 2);
  Expected expected(problem);
  for (int32_t threads : {0, 1, 2, 5, 100}) {
    SCOPED_TRACE(threads);
    std::fill(problem.arrays[o].begin(), problem.arrays[o].end(), -1.0f);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments, nullptr, threads);
    ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
    expectResults(problem, expected);
  }
}

TEST(Forward, TheCallersParallelFor) {
  Problem problem(2, 4, 3, 1);
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments, nullptr, 4);
  int64_t asked = 0;
  call.parallel_context = &asked;
  call.parallel_for = [](void *context, int64_t count, void (*body)(void *, int64_t), void *bodyContext) {
    *static_cast<int64_t *>(context) = count;
    for (int64_t i = count; i-- > 0;)
      body(bodyContext, i);
  };
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  EXPECT_EQ(asked, 4);
  expectResults(problem, Expected(problem));
}

TEST(Forward, PackedSequences) {
  const int64_t offsets[] = {0, 3, 3, 4, 9, 9};
  Problem problem(1, 10, 4, 2, 5);
  problem.arrays[o].assign(problem.arrays[o].size(), -1);
  problem.arrays[seen].assign(problem.arrays[seen].size(), -1);
  Expected expected(problem, offsets);
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments, offsets, 3);
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  for (int64_t i = 9 * 4 * V; i < 10 * 4 * V; ++i)
    expected.o[i] = -1; // no sequence has the last token
  for (int64_t i = 9 * 4; i < 10 * 4; ++i)
    expected.seen[i] = -1;
  expectResults(problem, expected);
}

TEST(Forward, StridesOfTheCaller) {
  // [B, H, T, ...] for v and o, which lie interleaved in one buffer.
  Problem problem(2, 5, 4, 2);
  const int64_t T = problem.T, H = problem.H;
  Expected expected(problem);
  std::vector<float> both(problem.B * T * H * 2 * V, -1.0f);
  auto at = [&](int64_t b, int64_t t, int64_t h) { return ((b * H + h) * T + t) * 2 * V; };
  for (int64_t b = 0; b < problem.B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t i = 0; i < V; ++i)
          both[at(b, t, h) + i] = problem.arrays[v][((b * T + t) * H + h) * V + i];
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);
  recur_strides strides = {H * T * 2 * V, 2 * V, T * 2 * V};
  arguments[v] = {both.data(), strides};
  strides.b = 0; // all of a sequence
  arguments[o] = {both.data() + V, strides};
  ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  for (int64_t b = 0; b < problem.B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t i = 0; i < V; ++i) {
          EXPECT_EQ(both[at(b, t, h) + V + i], expected.o[((b * T + t) * H + h) * V + i]);
          EXPECT_EQ(both[at(b, t, h) + i], problem.arrays[v][((b * T + t) * H + h) * V + i]);
        }
}

static void transpose(std::vector<float> &states, int64_t rows, int64_t columns) {
  std::vector<float> old = states;
  for (size_t state = 0; state + rows * columns <= states.size(); state += rows * columns)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        states[state + column * rows + row] = old[state + row * columns + column];
}

TEST(Forward, TransposedStates) {
  for (int64_t T : {0, 1, 6}) {
    Problem problem(2, T, 3, 1);
    Expected expected(problem);
    transpose(problem.arrays[initialS], V, K);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments);
    int64_t plain = call.workspace_bytes;
    call.states_transposed = 1;
    EXPECT_EQ(recur_workspace_size(&attention, &call), plain + 64);
    std::vector<char> space(plain + 2 * 64);
    call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
    call.workspace_bytes = plain + 64;
    ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
    transpose(problem.arrays[finalS], K, V);
    expectResults(problem, expected);

    arguments[finalS].data = arguments[initialS].data; // and in place
    ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
    transpose(problem.arrays[initialS], K, V);
    EXPECT_THAT(withoutLast(problem.arrays[initialS]), ElementsAreArray(withoutLast(expected.S)));
  }
}

TEST(Forward, StatesThatAreNotGivenOrNotWanted) {
  for (int64_t T : {0, 4}) {
    Problem problem(1, T, 2, 2);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments);
    for (int i : {initialS, initialN}) {
      arguments[i].data = nullptr;
      problem.arrays[i].assign(problem.arrays[i].size(), 0);
    }
    arguments[seen].data = arguments[finalN].data = nullptr;
    std::vector<float> unseen = problem.arrays[seen], unwanted = problem.arrays[finalN];
    Expected expected(problem);
    ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
    EXPECT_THAT(withoutLast(problem.arrays[o]), ElementsAreArray(withoutLast(expected.o)));
    EXPECT_THAT(withoutLast(problem.arrays[finalS]), ElementsAreArray(withoutLast(expected.S)));
    EXPECT_EQ(problem.arrays[seen], unseen);
    EXPECT_EQ(problem.arrays[finalN], unwanted);
  }
}

/// Whatever the plan: what is kept is what a call of so many tokens ends with, and all else is as without.
TEST(Forward, KeepsStatesAtMultiplesOfALength) {
  const int64_t packed[] = {0, 7, 7, 30};
  for (const recur_recurrence *recurrence : {&attention, &segmented})
    for (int32_t plan : {RECUR_PLAN_STEP, RECUR_PLAN_CHUNK, RECUR_PLAN_SEGMENT})
      for (const int64_t *offsets : {static_cast<const int64_t *>(nullptr), packed})
        for (int64_t interval : {1, 4, 6, 30, 50})
          for (int32_t transposed : {0, 1}) {
            if (plan == RECUR_PLAN_SEGMENT && recurrence == &attention)
              continue;
            Problem problem(offsets ? 1 : 2, 30, 4, 2, offsets ? 3 : 2);
            recur_argument arguments[argumentCount];
            recur_call call = problem.makeCall(arguments, offsets, 3, recurrence);
            call.plan = plan;
            call.kept_interval = interval;
            int64_t rows = recur_kept_rows(recurrence, &call);
            auto countOf = [&](int64_t tokens) { return (tokens + interval - 1) / interval; };
            EXPECT_EQ(rows, offsets ? countOf(7) + countOf(23) : 2 * countOf(30));
            std::vector<float> keptS(size_t(rows * 4 * V * K + 1), -1), keptN(size_t(rows * 4 + 1), -1);
            float *kept[] = {keptS.data(), keptN.data()};
            call.kept_states = kept;
            if (transposed)
              transpose(problem.arrays[initialS], V, K);
            call.states_transposed = transposed;
            problem.makeSpace(call, recurrence);
            ASSERT_EQ(recur_forward(recurrence, &call), RECUR_OK) << recur_message();
            if (transposed) {
              transpose(problem.arrays[initialS], K, V);
              transpose(problem.arrays[finalS], K, V);
            }
            // Summaries of segments round otherwise than token by token.
            const float most = plan == RECUR_PLAN_SEGMENT ? 1e-5f : 0;
            Expected whole(problem, offsets);
            for (size_t i = 0; i + 1 < whole.o.size(); ++i)
              ASSERT_NEAR(problem.arrays[o][i], whole.o[i], most);
            for (size_t i = 0; i + 1 < whole.S.size(); ++i)
              ASSERT_NEAR(problem.arrays[finalS][i], whole.S[i], most);
            EXPECT_EQ(keptS.back(), -1);
            EXPECT_EQ(keptN.back(), -1);
            int64_t row = 0;
            for (int64_t sequence = 0; sequence < problem.sequences; ++sequence) {
              int64_t begin = offsets ? offsets[sequence] : sequence * 30;
              int64_t tokens = (offsets ? offsets[sequence + 1] : begin + 30) - begin;
              for (int64_t token = 0; token < tokens; token += interval, ++row) {
                // The same sequence, no longer than that.
                std::vector<int64_t> shorter(size_t(problem.sequences) + 1, begin);
                for (size_t i = size_t(sequence) + 1; i < shorter.size(); ++i)
                  shorter[i] += token;
                Problem flat = problem;
                flat.B = 1;
                flat.T = problem.B * problem.T;
                Expected expected(flat, shorter.data());
                for (int64_t i = 0; i < 4 * V * K; ++i)
                  ASSERT_NEAR(keptS[size_t(row * 4 * V * K + i)], expected.S[size_t(sequence * 4 * V * K + i)], most);
                for (int64_t i = 0; i < 4; ++i)
                  ASSERT_EQ(keptN[size_t(row * 4 + i)], expected.N[size_t(sequence * 4 + i)]);
              }
            }
            EXPECT_EQ(row, rows);
          }
}

TEST(Forward, APlanByTheNumberOfTokens) {
  auto run = [](int64_t T, int32_t plan) {
    Problem problem(1, T, 1, 1);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments);
    call.plan = plan;
    stepRuns = chunkRuns = 0;
    EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
    return std::pair(stepRuns, chunkRuns);
  };
  EXPECT_EQ(run(2, RECUR_PLAN_AUTO), std::pair(int64_t(1), int64_t(0)));
  EXPECT_EQ(run(3, RECUR_PLAN_AUTO), std::pair(int64_t(0), int64_t(1)));
  EXPECT_EQ(run(3, RECUR_PLAN_STEP), std::pair(int64_t(1), int64_t(0)));
  EXPECT_EQ(run(1, RECUR_PLAN_CHUNK), std::pair(int64_t(0), int64_t(1)));
}
