// A call whose states lie in pools, for tests of what such calls refuse.
#pragma once
#include "TestRecurrence.h"
#include <gmock/gmock.h>

namespace recur::test {

struct PooledCall : testing::Test {
  const recur_recurrence &recurrence;
  Problem problem;
  std::vector<float> pool, counts;
  recur_argument arguments[argumentCount];
  recur_call call;

  PooledCall(Problem of, int64_t rows, const recur_recurrence &recurrence = attention)
      : recurrence(recurrence), problem(std::move(of)), pool(size_t(rows * problem.H * V * K)),
        counts(size_t(rows * problem.H)), call(problem.makeCall(arguments, nullptr, 1, &recurrence)) {
    arguments[initialS].data = arguments[finalS].data = pool.data();
    arguments[initialN].data = arguments[finalN].data = counts.data();
    call.pool_rows = rows;
  }
  /// With a message that begins so behind the recurrence's name, and nothing written.
  void expectRefused(recur_status status, const std::string &message) {
    std::vector<float> before = pool, outputs = problem.arrays[o];
    EXPECT_EQ(recur_forward(&recurrence, &call), status);
    EXPECT_THAT(recur_message(), testing::StartsWith(std::string(recurrence.name) + ": " + message));
    EXPECT_EQ(pool, before);
    EXPECT_EQ(problem.arrays[o], outputs);
  }
  void expectTaken() { EXPECT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message(); }
};

} // namespace recur::test
