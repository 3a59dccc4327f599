// States that the caller has in 16 bits: kernels have them in float32, and what a call ends with is rounded once.
#include "Runtime/CPU/Numbers.h"
#include "Runtime/CPU/Segments.h"
#include "TestRecurrence.h"
#include "gmock/gmock.h"

using namespace recur::test;
using namespace recur::runtime;
using testing::ElementsAreArray;

namespace {

/// The recurrence with S in bf16 and N in f16.
struct ShortRecurrence {
  std::vector<recur_array_info> arrays;
  recur_recurrence recurrence;

  explicit ShortRecurrence(const recur_recurrence &base)
      : arrays(base.arrays, base.arrays + base.array_count), recurrence(base) {
    for (recur_array_info &info : arrays)
      if (info.kind == RECUR_STATE)
        info.dtype = info.rank ? RECUR_BF16 : RECUR_F16;
    recurrence.arrays = arrays.data();
  }
};

int32_t typeOf(int argument) { return argument == initialS || argument == finalS ? RECUR_BF16 : RECUR_F16; }

std::vector<uint16_t> narrowAll(const std::vector<float> &numbers, int32_t type) {
  std::vector<uint16_t> narrowed;
  for (float number : numbers)
    narrowed.push_back(narrow(number, type));
  return narrowed;
}

/// How a call is made.
struct How {
  int32_t plan = RECUR_PLAN_AUTO;
  bool isTransposed = false, isInPlace = false, isGiven = true;
  int64_t interval = 0;
};

/// Calls with states in 16 bits and with the same ones in float32: results have the same bits, and final states are
/// what those round to.
void expectRoundedOnce(Problem problem, const recur_recurrence &base, const How &how,
                       const int64_t *offsets = nullptr) {
  ShortRecurrence own(base);
  // Something that 16 bits do not have.
  for (int i : {initialS, initialN})
    for (float &number : problem.arrays[i])
      number = widen(narrow(number * 1.001f, typeOf(i)), typeOf(i));
  Problem wide = problem;
  std::vector<uint16_t> states[argumentCount];
  for (int i : {initialS, initialN, finalS, finalN})
    states[i] = narrowAll(problem.arrays[i], typeOf(i));
  std::vector<float> kept[2][2]; // of S and N, in either call
  for (bool isShort : {false, true}) {
    Problem &one = isShort ? problem : wide;
    const recur_recurrence *recurrence = isShort ? &own.recurrence : &base;
    recur_argument arguments[argumentCount];
    recur_call call = one.makeCall(arguments, offsets, 3, recurrence);
    call.plan = how.plan;
    call.states_transposed = how.isTransposed;
    call.kept_interval = how.interval;
    for (int i : {initialS, initialN, finalS, finalN})
      if (isShort)
        arguments[i].data = states[i].data();
    for (auto [initial, final] : {std::pair(initialS, finalS), {initialN, finalN}}) {
      if (how.isInPlace)
        arguments[final].data = arguments[initial].data;
      if (!how.isGiven)
        arguments[initial].data = nullptr;
    }
    float *places[2] = {};
    if (how.interval) {
      int64_t rows = recur_kept_rows(recurrence, &call);
      kept[isShort][0].assign(size_t(rows * call.H * K * V), -1);
      kept[isShort][1].assign(size_t(rows * call.H), -1);
      for (int state : {0, 1})
        places[state] = kept[isShort][state].data();
      call.kept_states = places;
    }
    one.makeSpace(call, recurrence);
    ASSERT_EQ(recur_forward(recurrence, &call), RECUR_OK) << recur_message();
  }
  EXPECT_THAT(problem.arrays[o], ElementsAreArray(wide.arrays[o]));
  EXPECT_THAT(problem.arrays[seen], ElementsAreArray(wide.arrays[seen]));
  for (auto [initial, final] : {std::pair(initialS, finalS), {initialN, finalN}}) {
    int place = how.isInPlace ? initial : final;
    EXPECT_THAT(states[place], ElementsAreArray(narrowAll(wide.arrays[place], typeOf(final))));
  }
  EXPECT_EQ(kept[0][0], kept[1][0]) << "kept states are not rounded";
  EXPECT_EQ(kept[0][1], kept[1][1]);
}

const How everyWay[] = {{},
                        {RECUR_PLAN_STEP},
                        {RECUR_PLAN_CHUNK, true},
                        {RECUR_PLAN_AUTO, false, true},
                        {RECUR_PLAN_AUTO, true, true},
                        {RECUR_PLAN_AUTO, false, false, false},
                        {RECUR_PLAN_AUTO, false, false, true, 4},
                        {RECUR_PLAN_CHUNK, true, true, true, 3}};

} // namespace

TEST(ShortStates, AreRoundedOnceInEveryPlan) {
  for (int64_t T : {0, 1, 2, 30})
    for (const How &how : everyWay)
      expectRoundedOnce(Problem(2, T, 4, 2), attention, how);
}

TEST(ShortStates, AreNotRoundedBetweenSegments) {
  setProcessors(5);
  for (int64_t T : {3, 40, 61})
    for (How how : everyWay) {
      how.plan = RECUR_PLAN_SEGMENT;
      expectRoundedOnce(Problem(2, T, 2, 1), segmented, how);
    }
  setProcessors(0);
}

TEST(ShortStates, OfPackedSequencesAreTheirOwn) {
  const int64_t offsets[] = {0, 7, 7, 30};
  for (const How &how : everyWay)
    expectRoundedOnce(Problem(1, 30, 4, 2, 3), attention, how, offsets);
}

TEST(ShortStates, AreAlignedToTheirOwnElements) {
  ShortRecurrence own(attention);
  Problem problem(1, 3, 1, 1);
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments, nullptr, 1, &own.recurrence);
  std::vector<uint16_t> S(size_t(K * V) + 1), N(2);
  arguments[initialS].data = arguments[finalS].data = S.data() + 1;
  arguments[initialN].data = arguments[finalN].data = N.data() + 1;
  problem.makeSpace(call, &own.recurrence);
  EXPECT_EQ(recur_forward(&own.recurrence, &call), RECUR_OK) << recur_message();
  arguments[initialS].data = reinterpret_cast<char *>(S.data()) + 1;
  EXPECT_EQ(recur_forward(&own.recurrence, &call), RECUR_BAD_POINTER);
  EXPECT_STREQ(recur_message(), "attention: the initial state 'S' is not aligned to its elements of 2 bytes");
}
