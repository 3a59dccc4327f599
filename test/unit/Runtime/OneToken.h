// Calls of one token each, by which a call on pools that goes over several tokens is judged.
#pragma once
#include "TestRecurrence.h"
#include <cstring>
#include <functional>
#include <gmock/gmock.h>

namespace recur::test {

/// How a call on pools is made.
struct PoolsOfCall {
  int32_t plan = RECUR_PLAN_AUTO;
  bool isTransposed = false;
  bool isInPlace = true; // else states go to pools of their own
};

inline const PoolsOfCall everyWay[] = {{},
                                       {RECUR_PLAN_STEP, true},
                                       {RECUR_PLAN_CHUNK},
                                       {RECUR_PLAN_SEGMENT},
                                       {RECUR_PLAN_AUTO, false, false},
                                       {RECUR_PLAN_AUTO, true, false}};

/// A problem whose tokens are gone over one by one.
class OneByOne {
public:
  OneByOne(Problem &problem, const PoolsOfCall &how, std::vector<float> (&pools)[argumentCount])
      : problem(problem), how(how), pools(pools), before{{}, {}, {}, {}, {}, pools[initialS], pools[initialN]} {}

  /// A sequence begins with the states of the row as they were before the call, or with zeros.
  void begin(int32_t row) {
    for (auto [initial, final] : statePairs) {
      int64_t numbers = problem.H * countStateNumbers(initial);
      states[initial].assign(size_t(numbers), 0.0f);
      if (row >= 0)
        std::memcpy(states[initial].data(), before[initial].data() + row * numbers, size_t(numbers) * sizeof(float));
    }
  }

  /// Takes the states over the token. The outputs go to a place among those of all; a negative one: nowhere.
  void goOver(int64_t token, int64_t outputPlace) {
    Problem one(1, 1, problem.H, problem.Hq);
    recur_argument arguments[argumentCount];
    recur_call call = one.makeCall(arguments, nullptr, 1, &segmented);
    call.plan = how.plan;
    call.states_transposed = how.isTransposed;
    for (int argument : {q, k, v, g})
      arguments[argument].data = find(argument, token);
    for (int argument : {o, seen})
      arguments[argument].data = outputPlace < 0 ? nullptr : find(argument, outputPlace);
    arguments[mu].data = problem.arrays[mu].data();
    for (auto [initial, final] : statePairs)
      arguments[initial].data = arguments[final].data = states[initial].data();
    one.makeSpace(call, &segmented);
    ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  }

  /// Stores the states in the row; a negative one: nowhere.
  void keep(int32_t row) {
    for (auto [initial, final] : statePairs)
      if (int64_t numbers = problem.H * countStateNumbers(initial); row >= 0)
        std::memcpy(pools[how.isInPlace ? initial : final].data() + row * numbers, states[initial].data(),
                    size_t(numbers) * sizeof(float));
  }

private:
  /// Where a token lies among all of an array.
  char *find(int argument, int64_t token) {
    int64_t elements = argument == q || argument == k   ? problem.Hq * K
                       : argument == v || argument == o ? problem.H * V
                                                        : problem.H;
    return reinterpret_cast<char *>(problem.arrays[argument].data() + token * elements);
  }

  Problem &problem;
  const PoolsOfCall &how;
  std::vector<float> (&pools)[argumentCount];
  const std::vector<float> before[argumentCount];
  std::vector<float> states[argumentCount];
};

/// Compares outputs and all of the pools. `run` goes over a sequence that has the tokens from `first` on up to `end`;
/// `complete` gives the call its rows.
inline void
expectSameAsOneByOne(const Problem &given, const PoolsOfCall &how, int64_t poolRows, const int64_t *offsets,
                     const std::function<void(OneByOne &own, int64_t sequence, int64_t first, int64_t end)> &run,
                     const std::function<void(recur_call &call)> &complete) {
  Problem own = given, whole = given;
  std::vector<float> pools[argumentCount], expected[argumentCount];
  for (auto [initial, final] : statePairs)
    for (int i : {initial, final}) {
      for (int64_t j = 0; j < poolRows * given.H * countStateNumbers(initial); ++j)
        pools[i].push_back(float(j % 97) / 64 + float(i));
      expected[i] = pools[i];
    }
  OneByOne oneByOne(own, how, expected);
  for (int64_t i = 0; i < given.sequences; ++i) {
    int64_t first = offsets ? offsets[i] : i * given.T;
    run(oneByOne, i, first, offsets ? offsets[i + 1] : first + given.T);
  }
  recur_argument arguments[argumentCount];
  recur_call call = whole.makeCall(arguments, offsets, 3, &segmented);
  call.plan = how.plan;
  call.states_transposed = how.isTransposed;
  call.pool_rows = poolRows;
  complete(call);
  for (auto [initial, final] : statePairs) {
    arguments[initial].data = pools[initial].data();
    arguments[final].data = pools[how.isInPlace ? initial : final].data();
  }
  whole.makeSpace(call, &segmented);
  ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  for (int argument : {o, seen})
    EXPECT_EQ(whole.arrays[argument], own.arrays[argument]);
  for (auto [initial, final] : statePairs)
    for (int i : {initial, final})
      EXPECT_EQ(pools[i], expected[i]) << "of the pool " << i;
}

} // namespace recur::test
