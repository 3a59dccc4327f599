// States after every so many tokens: those that a call keeps before its chunks, in their rows of the pools, with the
// bits of a call that keeps none in all else.
#include "PooledCall.h"
#include "Runtime/CPU/Segments.h"
#include <cstring>

using namespace recur::test;
using namespace recur::runtime;
using testing::FloatNear;
using testing::Pointwise;

namespace {

constexpr int64_t poolRows = 23, chunk = 4; // of the recurrence's kernels

/// How a call is made, and what it keeps.
struct How {
  int32_t plan = RECUR_PLAN_AUTO;
  bool isTransposed = false;
  int64_t interval = chunk;
  std::vector<int32_t> positions = {}; // none: all begin
};

/// What a sequence's state is after so many of its tokens.
class Known {
public:
  Known(const Problem &given, const How &how, const int64_t *offsets) : run(given), offsets(offsets) {
    recur_argument arguments[argumentCount];
    recur_call call = run.makeCall(arguments, offsets, 3, &segmented);
    call.plan = how.plan;
    call.kept_interval = chunk;
    int64_t rows = recur_kept_rows(&segmented, &call);
    std::vector<float *> all;
    for (auto [initial, final] : statePairs) {
      kept[initial].resize(size_t(rows * run.H * countStateNumbers(initial)) + 1);
      all.push_back(kept[initial].data());
    }
    call.kept_states = all.data();
    run.makeSpace(call, &segmented);
    EXPECT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  }
  int64_t countTokens(int64_t sequence) const { return offsets ? offsets[sequence + 1] - offsets[sequence] : run.T; }
  const float *find(int initial, int final, int64_t sequence, int64_t tokens) const {
    int64_t numbers = run.H * countStateNumbers(initial), row = tokens / chunk;
    if (tokens == countTokens(sequence))
      return run.arrays[final].data() + sequence * numbers;
    for (int64_t i = 0; i < sequence; ++i)
      row += (countTokens(i) + chunk - 1) / chunk;
    return kept[initial].data() + row * numbers;
  }
  Problem run;

private:
  const int64_t *offsets;
  std::vector<float> kept[argumentCount];
};

void store(const float *from, std::vector<float> &pool, int32_t row, int initial, int64_t heads, bool isTransposed) {
  int64_t numbers = countStateNumbers(initial);
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t i = 0; i < numbers; ++i) {
      int64_t to = isTransposed && initial == initialS ? i % K * V + i / K : i;
      pool[size_t((row * heads + head) * numbers + to)] = from[head * numbers + i];
    }
}

/// `indices` has as many columns for each sequence as there are.
void expectSame(const Problem &given, const How &how, const std::vector<int32_t> &indices,
                const int64_t *offsets = nullptr) {
  // Whatever sequences begin with, they do in both.
  Problem anew = given;
  for (auto [initial, final] : statePairs)
    std::fill(anew.arrays[initial].begin(), anew.arrays[initial].end(), 0.0f);
  Known known(anew, how, offsets);
  Problem kept = anew;
  std::vector<int32_t> finals;
  std::vector<float> pools[argumentCount], expected[argumentCount];
  int64_t columns = int64_t(indices.size()) / given.sequences;
  for (int64_t i = 0; i < given.sequences; ++i)
    finals.push_back(int32_t(poolRows - 1 - i));
  for (auto [initial, final] : statePairs) {
    for (int64_t j = 0; j < poolRows * given.H * countStateNumbers(initial); ++j)
      pools[final].push_back(float(j % 97) / 64);
    expected[final] = pools[final];
    for (int64_t i = 0; i < given.sequences; ++i) {
      int64_t position = how.positions.empty() ? 0 : how.positions[size_t(i)], tokens = known.countTokens(i);
      store(known.find(initial, final, i, tokens), expected[final], finals[size_t(i)], initial, given.H,
            how.isTransposed);
      int64_t column = 0;
      for (int64_t all = position / how.interval * how.interval + how.interval; all <= position + tokens;
           all += how.interval)
        if (int32_t row = indices[size_t(i * columns + column++)]; row >= 0)
          store(known.find(initial, final, i, all - position), expected[final], row, initial, given.H,
                how.isTransposed);
    }
  }
  recur_argument arguments[argumentCount];
  recur_call call = kept.makeCall(arguments, offsets, 3, &segmented);
  call.plan = how.plan;
  call.states_transposed = how.isTransposed;
  call.final_indices = finals.data();
  call.pool_rows = poolRows;
  call.interval = how.interval;
  call.interval_indices = indices.data();
  call.interval_columns = columns;
  call.positions = how.positions.empty() ? nullptr : how.positions.data();
  for (auto [initial, final] : statePairs) {
    arguments[initial].data = nullptr;
    arguments[final].data = pools[final].data();
  }
  kept.makeSpace(call, &segmented);
  ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  for (int argument : {o, seen})
    EXPECT_EQ(kept.arrays[argument], known.run.arrays[argument]);
  // What a segment begins with its summary says, and what it ends with the tokens themselves.
  float error = how.plan == RECUR_PLAN_SEGMENT ? 1e-6f : 0;
  for (auto [initial, final] : statePairs)
    EXPECT_THAT(pools[final], Pointwise(FloatNear(error), expected[final])) << "of the pool " << final;
}

const How everyWay[] = {
    {}, {RECUR_PLAN_STEP, true}, {RECUR_PLAN_CHUNK}, {RECUR_PLAN_SEGMENT}, {RECUR_PLAN_SEGMENT, true, 2 * chunk}};

struct IntervalMisuse : PooledCall {
  std::vector<int32_t> rows{2, 0, 5, 6}, states{1, 7}, others{8, 9}, positions{4, 8};

  IntervalMisuse() : PooledCall({2, 8, 2, 1}, poolRows, segmented) {
    call.state_indices = states.data();
    call.interval = chunk;
    call.interval_indices = rows.data();
    call.interval_columns = 2;
    problem.makeSpace(call, &segmented);
  }
};

} // namespace

TEST(Intervals, AreKeptInRows) {
  for (const How &how : everyWay) {
    expectSame(Problem(2, 16, 4, 2), how, {3, 0, 5, 2, 9, 8, 7, 6}); // up to the end
    expectSame(Problem(2, 15, 4, 2), how, {3, 0, 5, 9, 8, 7});
    expectSame(Problem(2, 16, 4, 2), how, {-1, 0, -5, 2, 9, -1, 7, -1, -1, -1});
    expectSame(Problem(2, 3, 4, 2), how, {1, 2});
    expectSame(Problem(2, 0, 4, 2), how, {1, 2});
  }
  expectSame(Problem(1, 400, 2, 1), {RECUR_PLAN_SEGMENT, false, 100}, {3, 0, 5, 2}); // segments have several each
}

TEST(Intervals, GoOnFromEarlierCalls) {
  for (How how : everyWay) {
    how.interval = 3 * chunk;
    how.positions = {chunk, 3 * chunk};
    expectSame(Problem(2, 26, 4, 2), how, {3, 0, 5, 2});
    how.positions = {2 * chunk, 1000 * chunk};
    expectSame(Problem(2, 26, 4, 2), how, {3, 0, 1, 5, -1, 7});
  }
}

TEST(Intervals, OfPackedSequencesAreCountedFromTheirOwnBeginning) {
  const int64_t offsets[] = {1, 6, 6, 23, 31};
  for (const How &how : everyWay)
    expectSame(Problem(1, 32, 2, 1, 4), how, {0, 88, 99, 99, 99, 99, 99, 99, 1, 2, -1, 3, 4, 5, 99, 99}, offsets);
}

TEST_F(IntervalMisuse, OfRows) {
  rows[1] = poolRows;
  expectRefused(RECUR_BAD_INDEX, "interval_indices[0][1] is 23, and the pools have 23 rows; a negative index stands");
  rows[1] = 5;
  expectRefused(RECUR_BAD_INDEX, "interval_indices[1][0] is 5, and so is [0][1]; no row is written twice");
  rows[1] = 7;
  expectRefused(RECUR_BAD_INDEX,
                "interval_indices[0][1] is 7, and so is state_indices[1]; no row is read, and written at a multiple");
  call.final_indices = others.data();
  expectRefused(RECUR_BAD_INDEX,
                "interval_indices[0][1] is 7, and so is state_indices[1]; no row is read, and written at a multiple");
  rows[1] = 9;
  expectRefused(RECUR_BAD_INDEX, "interval_indices[0][1] is 9, and so is final_indices[1]; no row is written twice");
  rows[1] = -9;
  EXPECT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
}

TEST_F(IntervalMisuse, OfNumbers) {
  call.interval = 6;
  expectRefused(RECUR_BAD_SIZE, "interval is 6; it must be a multiple of 4, the tokens in a chunk of plan 'chunk'");
  call.plan = RECUR_PLAN_STEP; // which has none
  EXPECT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  call.plan = RECUR_PLAN_AUTO;
  call.interval = -4;
  expectRefused(RECUR_BAD_SIZE, "interval is -4; it must be at least 0, and at most");
  call.interval = chunk;
  call.interval_columns = 1;
  expectRefused(RECUR_BAD_SIZE, "sequences come to 2 multiples of 4 tokens, and interval_indices has rows for 1");
  call.positions = positions.data();
  expectRefused(RECUR_BAD_SIZE, "sequence 0 comes to 2 multiples of 4 tokens, and interval_indices has rows for 1");
  call.interval_columns = 2;
  positions[1] = 6;
  expectRefused(RECUR_BAD_SIZE, "positions[1] is 6; with interval it must be a multiple of a chunk's 4 tokens");
  positions[1] = -4;
  expectRefused(RECUR_BAD_SIZE, "positions[1] is -4; it must be at least 0");
  call.interval_columns = 0;
  expectRefused(RECUR_BAD_SIZE, "interval_columns is 0; it must be at least 1");
}

TEST_F(IntervalMisuse, OfWhatGoesTogether) {
  call.interval = 0;
  expectRefused(RECUR_BAD_SIZE, "interval_indices is given, but interval is 0");
  call.interval_indices = nullptr;
  expectRefused(RECUR_BAD_SIZE, "interval_columns is given, but interval is 0");
  call.interval = chunk;
  expectRefused(RECUR_NULL_POINTER, "interval is 4, but interval_indices is null");
  call.interval_indices = rows.data();
  call.kept_interval = chunk;
  expectRefused(RECUR_NO_PLAN, "states go to interval_indices, or to kept_states, not to both");
  call.kept_interval = 0;
  call.token_indices = rows.data();
  call.token_columns = 8;
  expectRefused(RECUR_NO_PLAN, "states go to token_indices, or to interval_indices, not to both");
  call.token_indices = call.state_indices = nullptr;
  call.token_columns = 0;
  expectRefused(RECUR_NULL_POINTER, "states go to interval_indices beside the final ones, for which state_indices or");
  call.state_indices = states.data();
  call.interval_indices = reinterpret_cast<int32_t *>(pool.data());
  expectRefused(RECUR_OVERLAP, "'interval_indices' lies in the final state 'S'");
}
