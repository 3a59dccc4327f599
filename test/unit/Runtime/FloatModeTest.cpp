// The floating-point mode that kernels run in, and that their caller, and every thread that they run on, has back.
#include "Runtime/CPU/FloatMode.h"
#include "Runtime/CPU/Segments.h"
#include "TestRecurrence.h"
#include <gtest/gtest.h>
#include <thread>

using namespace recur::test;
using recur::runtime::FloatMode;
using recur::runtime::getFloatMode;
using recur::runtime::setFloatMode;

namespace {

/// Modes that a caller may have: the usual one, one with a flag that has stuck, one that rounds otherwise and traps,
/// one that flushes already.
#if defined(__x86_64__)
constexpr FloatMode modes[] = {0x1F80, 0x1F80 | _MM_EXCEPT_INEXACT,
                               (0x1F80 & ~_MM_MASK_DIV_ZERO) | _MM_ROUND_TOWARD_ZERO,
                               0x1F80 | _MM_FLUSH_ZERO_ON | 0x40};
#else // which need not have traps
constexpr FloatMode modes[] = {{0, 0}, {0, 1 << 4}, {uint64_t(3) << 22, 0}, {uint64_t(1) << 24, 0}};
#endif

/// Calls `test` in each of the modes, on a thread of its own, and expects that it leaves the mode as it was.
template <typename Test> void inEachMode(Test test) {
  for (const FloatMode &mode : modes) {
    SCOPED_TRACE(testing::Message() << "mode " << &mode - modes);
    FloatMode after = {};
    std::thread([&] {
      setFloatMode(mode);
      test();
      after = getFloatMode();
    }).join();
    EXPECT_EQ(after, mode);
  }
}

/// Runs of a kernel while it lives: there were some, and all in the right mode.
struct ExpectFlushing {
  int64_t runs = allRuns, flushing = flushingRuns;
  ~ExpectFlushing() {
    EXPECT_GT(allRuns, runs);
    EXPECT_EQ(flushingRuns - flushing, allRuns - runs);
  }
};

TEST(FloatMode, OfCallsOnThePool) {
  for (int32_t threads : {1, 3})
    for (int64_t T : {1, 9})
      inEachMode([&] {
        ExpectFlushing expect;
        Problem problem(2, T, 4, 2);
        recur_argument arguments[argumentCount];
        recur_call call = problem.makeCall(arguments, nullptr, threads);
        EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
      });
}

TEST(FloatMode, OfSegments) {
  recur::runtime::setProcessors(4);
  inEachMode([&] {
    ExpectFlushing expect;
    Problem problem(1, 64, 1, 1);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments, nullptr, 2, &segmented);
    call.plan = RECUR_PLAN_SEGMENT;
    problem.makeSpace(call, &segmented);
    EXPECT_EQ(recur_forward(&segmented, &call), RECUR_OK) << recur_message();
  });
}

TEST(FloatMode, OfTheThreadsOfTheCallersParallelFor) {
  inEachMode([&] {
    ExpectFlushing expect;
    Problem problem(3, 9, 4, 2);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments, nullptr, 3);
    call.parallel_for = [](void *, int64_t count, void (*body)(void *, int64_t), void *context) {
      for (int64_t i = 0; i < count; ++i)
        for (FloatMode mode : modes) // of which the first does all that there is
          std::thread([=] {
            setFloatMode(mode);
            body(context, i);
            EXPECT_EQ(getFloatMode(), mode);
          }).join();
    };
    EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  });
}

TEST(FloatMode, OfCallsThatFailOrDoNothing) {
  inEachMode([&] {
    Problem problem(2, 5, 4, 2);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments);
    call.workspace_bytes = 1;
    EXPECT_EQ(recur_forward(&attention, &call), RECUR_SMALL_WORKSPACE);
    EXPECT_EQ(recur_forward(&attention, nullptr), RECUR_NULL_POINTER);
    Problem empty(2, 0, 4, 2);
    call = empty.makeCall(arguments);
    EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  });
}

} // namespace
