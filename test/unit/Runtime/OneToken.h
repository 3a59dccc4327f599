// A call of one token of a larger problem, by which others are judged that go over several.
#pragma once
#include "TestRecurrence.h"
#include <gmock/gmock.h>

namespace recur::test {

/// Where a token of a sequence lies among all of an array.
inline char *findToken(Problem &problem, int argument, int64_t token) {
  int64_t elements = argument == q || argument == k   ? problem.Hq * K
                     : argument == v || argument == o ? problem.H * V
                                                      : problem.H;
  return reinterpret_cast<char *>(problem.arrays[argument].data() + token * elements);
}

/// Takes the states of one sequence over the token, and writes its outputs to a place among all.
inline void runOneToken(Problem &problem, int64_t token, int64_t outputPlace, int32_t plan, bool isTransposed,
                        std::vector<float> (&states)[argumentCount]) {
  Problem one(1, 1, problem.H, problem.Hq);
  recur_argument arguments[argumentCount];
  recur_call call = one.makeCall(arguments, nullptr, 1, &segmented);
  call.plan = plan;
  call.states_transposed = isTransposed;
  for (int argument : {q, k, v, g})
    arguments[argument].data = findToken(problem, argument, token);
  for (int argument : {o, seen})
    arguments[argument].data = outputPlace < 0 ? nullptr : findToken(problem, argument, outputPlace);
  arguments[mu].data = problem.arrays[mu].data();
  for (auto [initial, final] : statePairs)
    arguments[initial].data = arguments[final].data = states[initial].data();
  one.makeSpace(call, &segmented);
  ASSERT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
}

} // namespace recur::test
