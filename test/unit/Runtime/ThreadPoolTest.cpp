#include "Runtime/CPU/ThreadPool.h"
#include "TestRecurrence.h"
#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace recur::test;
using recur::runtime::runOnPool;

TEST(ThreadPool, EachIndexOnce) {
  for (int64_t count : {0, 1, 2, 3, 100}) {
    std::vector<std::atomic<int>> times(count);
    runOnPool(count, [](void *context, int64_t i) { ++static_cast<std::atomic<int> *>(context)[i]; }, times.data());
    for (auto &time : times)
      EXPECT_EQ(time, 1);
  }
}

TEST(ThreadPool, CallsWithinCalls) {
  std::atomic<int> sum = 0;
  runOnPool(
      5,
      [](void *context, int64_t) {
        runOnPool(7, [](void *inner, int64_t i) { *static_cast<std::atomic<int> *>(inner) += int(i); }, context);
      },
      &sum);
  EXPECT_EQ(sum, 5 * 21);
}

TEST(ThreadPool, SeveralCallersAtTheSameTime) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&wrong] {
      Problem problem(2, 9, 4, 2);
      Expected expected(problem);
      for (int repeat = 0; repeat < 200; ++repeat) {
        recur_argument arguments[argumentCount];
        recur_call call = problem.makeCall(arguments, nullptr, 3);
        std::fill(problem.arrays[o].begin(), problem.arrays[o].end() - 1, -1.0f);
        if (recur_forward(&attention, &call) != RECUR_OK ||
            !std::equal(expected.o.begin(), expected.o.end() - 1, problem.arrays[o].begin()))
          ++wrong;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, AMessageBelongsToItsThread) {
  EXPECT_EQ(recur_forward(nullptr, nullptr), RECUR_NULL_POINTER);
  std::string here = recur_message(), there;
  std::thread([&] { there = recur_message(); }).join();
  EXPECT_EQ(there, "no call of this thread has failed");
  EXPECT_NE(here, there);
}

TEST(ThreadPool, TheNumberOfThreadsIsSetBeforeTheyStart) {
  EXPECT_GE(recur_thread_count(), 1);
  EXPECT_EQ(recur_set_thread_count(0), 0);
  EXPECT_EQ(recur_set_thread_count(1025), 0);
  runOnPool(2, [](void *, int64_t) {}, nullptr);
  int32_t count = recur_thread_count();
  EXPECT_EQ(recur_set_thread_count(count + 1), 0); // too late
  EXPECT_EQ(recur_thread_count(), count);
}

TEST(ThreadPool, AForksChildHasAPoolOfItsOwn) {
  runOnPool(4, [](void *, int64_t) {}, nullptr);
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int> sum = 0;
    runOnPool(100, [](void *context, int64_t i) { *static_cast<std::atomic<int> *>(context) += int(i); }, &sum);
    exit(sum == 4950 ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
