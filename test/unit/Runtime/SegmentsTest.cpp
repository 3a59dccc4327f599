// The plan `segment`: when it is chosen, how sequences are cut, what workspace that takes, and that segments give what
// the whole sequence does.
#include "Runtime/CPU/Segments.h"
#include "TestRecurrence.h"
#include <gmock/gmock.h>

using namespace recur::runtime;
using namespace recur::test;

namespace {

/// As if the machine had so many processors, for a test.
struct Processors {
  explicit Processors(int32_t count) : before(getProcessors()) { setProcessors(count); }
  ~Processors() { setProcessors(before); }
  int32_t before;
};

recur_kernel_info makeKernel(const recur_summary_info &summary) {
  return {nullptr, 0, 0, RECUR_PLAN_SEGMENT, 64, &summary, 1, 0, nullptr, nullptr, 0, nullptr, nullptr};
}

recur_summary_info makeCosts(float cost, float applyCost) {
  recur_summary_info summary = {};
  summary.cost = cost;
  summary.apply_cost = applyCost;
  return summary;
}

constexpr int64_t longOne = 65536;
constexpr int64_t stateElements = 64 * 64;

} // namespace

TEST(SegmentChoice, IsForFewHeadsOfLongSequences) {
  recur_summary_info additive = makeCosts(0.4f, 0.1f);
  recur_kernel_info kernel = makeKernel(additive);
  EXPECT_NE(chooseCut(kernel, 1, longOne, 2, stateElements, false).rest, 0);
  EXPECT_EQ(chooseCut(kernel, 2, longOne, 2, stateElements, false).rest, 0) << "every processor has a head";
  EXPECT_EQ(chooseCut(kernel, 1, longOne, 1, stateElements, false).rest, 0);
  EXPECT_EQ(chooseCut(kernel, 3, longOne, 4, stateElements, false).rest, 0)
      << "three of four processors are busy anyway";
  EXPECT_NE(chooseCut(kernel, 3, longOne, 16, stateElements, false).rest, 0);
  EXPECT_EQ(chooseCut(kernel, 1, 4 * 64, 2, stateElements, false).rest, 0) << "too short to gain";
  EXPECT_EQ(chooseCut(kernel, 0, longOne, 2, stateElements, false).rest, 0);
}

TEST(SegmentChoice, IsByTheCosts) {
  recur_summary_info erasing = makeCosts(1.2f, 0.5f), dear = makeCosts(12, 0.5f), slow = makeCosts(0.4f, 1000);
  EXPECT_NE(chooseCut(makeKernel(erasing), 1, longOne, 2, stateElements, false).rest, 0);
  EXPECT_EQ(chooseCut(makeKernel(dear), 1, longOne, 2, stateElements, false).rest, 0);
  EXPECT_NE(chooseCut(makeKernel(dear), 1, longOne, 16, stateElements, false).rest, 0);
  EXPECT_EQ(chooseCut(makeKernel(slow), 1, longOne, 16, stateElements, false).rest, 0);
}

TEST(SegmentChoice, IsRarerWhereTokensOneByOneAreFaster) {
  recur_summary_info additive = makeCosts(0.4f, 0.1f);
  recur_kernel_info kernel = makeKernel(additive);
  EXPECT_EQ(chooseCut(kernel, 1, longOne, 2, stateElements, false, .6).rest, 0);
  EXPECT_NE(chooseCut(kernel, 1, longOne, 8, stateElements, false, .6).rest, 0);
}

TEST(SegmentChoice, IsLaterForSmallStatesWhichWaitLonger) {
  recur_summary_info additive = makeCosts(0.4f, 0.1f);
  recur_kernel_info kernel = makeKernel(additive);
  int64_t small = 16 * 16, large = 128 * 128;
  EXPECT_EQ(chooseCut(kernel, 1, 16 * 64, 2, small, false).rest, 0);
  EXPECT_NE(chooseCut(kernel, 1, 16 * 64, 2, large, false).rest, 0);
  EXPECT_NE(chooseCut(kernel, 1, longOne, 2, small, false).rest, 0);
}

TEST(SegmentChoice, IsForNoFewerTokensThanTheKernelSays) {
  recur_summary_info additive = makeCosts(0.4f, 0.1f);
  recur_kernel_info kernel = makeKernel(additive);
  kernel.tokens_from = 1000;
  for (bool isForced : {false, true}) {
    EXPECT_EQ(chooseCut(kernel, 1, 999, 8, stateElements, isForced).rest, 0);
    EXPECT_NE(chooseCut(kernel, 1, 1000, 8, stateElements, isForced).rest, 0);
  }
}

TEST(SegmentChoice, CanBeForcedFromThreeChunksOn) {
  recur_summary_info dear = makeCosts(3, 100);
  recur_kernel_info kernel = makeKernel(dear);
  for (int64_t tokens : {0, 1, 63, 64, 128})
    EXPECT_EQ(chooseCut(kernel, 1, tokens, 1, stateElements, true).rest, 0) << tokens;
  for (int64_t tokens : {129, 192, 200, 1000000}) {
    Cut cut = chooseCut(kernel, 1000, tokens, 1, stateElements, true);
    EXPECT_GE(countSegments(cut, tokens), 3) << tokens;
  }
}

TEST(SegmentCut, CoversTheSequenceWithWholeChunks) {
  for (float cost : {0.0f, 0.3f, 1.0f, 2.5f})
    for (int32_t processors : {1, 2, 7, 64, 1000})
      for (int64_t tokens : {129, 200, 640, 5000, 1000000}) {
        SCOPED_TRACE(testing::Message() << "cost " << cost << ", " << processors << " processors, T " << tokens);
        recur_summary_info summary = makeCosts(cost, 0.1f);
        Cut cut = chooseCut(makeKernel(summary), 1, tokens, processors, stateElements, true);
        int64_t count = countSegments(cut, tokens), end = 0;
        EXPECT_LE(count, 1 + mostSegments);
        for (int64_t i = 0; i < count; ++i) {
          Segment segment = getSegment(cut, tokens, i);
          EXPECT_EQ(segment.begin, end);
          EXPECT_GT(segment.tokens, 0);
          EXPECT_TRUE(i + 1 == count || segment.tokens % 64 == 0);
          end = segment.begin + segment.tokens;
        }
        EXPECT_EQ(end, tokens);
      }
  EXPECT_EQ(countSegments({64, 128}, 192), 1) << "two segments gain nothing";
  EXPECT_EQ(countSegments({64, 128}, 193), 3);
  EXPECT_EQ(countSegments({}, longOne), 1);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void expectNear(const std::vector<float> &got, const std::vector<float> &want, const char *what) {
  for (size_t i = 0; i + 1 < want.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 1e-5f * (1 + std::abs(want[i]))) << what << ' ' << i;
}

static void expectResults(const Problem &problem, const Expected &expected) {
  expectNear(problem.arrays[o], expected.o, "o");
  expectNear(problem.arrays[seen], expected.seen, "seen");
  expectNear(problem.arrays[finalS], expected.S, "S");
  expectNear(problem.arrays[finalN], expected.N, "N");
}

TEST(SegmentRuns, GiveWhatTheWholeSequenceDoes) {
  for (int32_t processors : {1, 3, 100})
    for (int64_t T : {0, 1, 4, 5, 9, 12, 30, 61}) {
      SCOPED_TRACE(testing::Message() << "T " << T << ", " << processors << " processors");
      Processors set(processors);
      Problem problem(2, T, 4, 2);
      Expected expected(problem);
      std::vector<float> first;
      for (int32_t threads : {1, 2, 3, 7}) {
        recur_argument arguments[argumentCount];
        recur_call call = problem.makeCall(arguments, nullptr, threads, &segmented);
        call.plan = RECUR_PLAN_SEGMENT;
        problem.makeSpace(call, &segmented);
        ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
        expectResults(problem, expected);
        if (first.empty())
          first = problem.arrays[o];
        EXPECT_EQ(problem.arrays[o], first) << threads << " threads";
      }
    }
}

TEST(SegmentRuns, PackedSequencesInPlaceAndTransposed) {
  Processors set(5);
  const int64_t offsets[] = {0, 3, 3, 40, 41, 60};
  Problem problem(1, 60, 4, 2, 5);
  Expected expected(problem, offsets);
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments, offsets, 3, &segmented);
  call.plan = RECUR_PLAN_SEGMENT;
  arguments[finalS].data = arguments[initialS].data;
  arguments[finalN].data = arguments[initialN].data;
  problem.makeSpace(call, &segmented);
  ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  expectNear(problem.arrays[o], expected.o, "o");
  expectNear(problem.arrays[initialS], expected.S, "S");
  expectNear(problem.arrays[initialN], expected.N, "N");

  // Once more from there, with states that lie transposed, and without what is not wanted.
  Problem again(1, 60, 4, 2, 5);
  Expected straight(again, offsets);
  auto transpose = [](std::vector<float> &states, int64_t rows, int64_t columns) {
    std::vector<float> old = states;
    for (size_t state = 0; state + rows * columns <= states.size(); state += rows * columns)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          states[state + column * rows + row] = old[state + row * columns + column];
  };
  transpose(again.arrays[initialS], V, K);
  call = again.makeCall(arguments, offsets, 2, &segmented);
  call.plan = RECUR_PLAN_SEGMENT;
  call.states_transposed = 1;
  arguments[o].data = arguments[finalN].data = nullptr;
  again.makeSpace(call, &segmented);
  ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  transpose(again.arrays[finalS], K, V);
  expectNear(again.arrays[finalS], straight.S, "S");
  expectNear(again.arrays[seen], straight.seen, "seen");
}

TEST(SegmentRuns, AreChosenByProcessorsAndNotByThreads) {
  auto runs = [](int32_t processors, int64_t H, int32_t threads) {
    Processors set(processors);
    Problem problem(1, 400, H, 1);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments, nullptr, threads, &segmented);
    chunkRuns = 0;
    EXPECT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
    return chunkRuns;
  };
  EXPECT_EQ(runs(1, 1, 4), 1);
  EXPECT_EQ(runs(4, 4, 4), 4);
  int64_t cut = runs(4, 1, 4);
  EXPECT_GE(cut, 3);
  EXPECT_EQ(runs(4, 1, 1), cut);
}

TEST(SegmentRuns, TakeAWorkspaceThatIsBounded) {
  Processors set(64);
  auto bytes = [](int64_t T, int32_t plan, int32_t threads, const int64_t *offsets = nullptr, int64_t sequences = 0) {
    recur_call call = {};
    call.B = call.H = 1;
    call.T = T;
    call.plan = plan;
    call.threads = threads;
    call.sequence_offsets = offsets;
    call.sequence_count = sequences;
    return recur_workspace_size(&segmented, &call);
  };
  // States of 64 bytes each (5 times 3 floats and one), and a map and an offset of 64.
  constexpr int64_t record = 4 * 64;
  EXPECT_EQ(bytes(1000000, RECUR_PLAN_CHUNK, 1), 64);
  EXPECT_LE(bytes(1000000, RECUR_PLAN_SEGMENT, 1), 64 + mostSegments * record);
  EXPECT_EQ(bytes(8, RECUR_PLAN_SEGMENT, 1), 64) << "too short to be cut";
  EXPECT_EQ(bytes(12, RECUR_PLAN_SEGMENT, 1), 64 + 2 * record);
  const int64_t even[] = {0, 500, 1000}, odd[] = {0, 1, 1000};
  EXPECT_EQ(bytes(1000, RECUR_PLAN_AUTO, 2, even, 2), bytes(1000, RECUR_PLAN_AUTO, 2, odd, 2));
}
