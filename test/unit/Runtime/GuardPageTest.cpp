// Nothing outside of the arrays is touched: each lies against a page that may not be read or written.
#include "GuardedPages.h"
#include "TestRecurrence.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace recur::test;

TEST(GuardPage, NothingOutsideOfTheArraysIsTouched) {
  for (bool upper : {false, true})
    for (int32_t transposed : {0, 1})
      for (int64_t T : {0, 1, 9}) {
        Problem problem(2, T, 4, 2);
        recur_argument arguments[argumentCount];
        recur_call call = problem.makeCall(arguments, nullptr, 3);
        call.states_transposed = transposed;
        std::vector<std::unique_ptr<GuardedPages>> guarded;
        for (int i = 0; i < argumentCount; ++i) {
          size_t bytes = (problem.arrays[i].size() - 1) * sizeof(float);
          guarded.push_back(std::make_unique<GuardedPages>(bytes, upper));
          memcpy(guarded.back()->data, problem.arrays[i].data(), bytes);
          arguments[i].data = guarded.back()->data;
        }
        call.workspace_bytes = recur_workspace_size(&attention, &call);
        GuardedPages workspace(call.workspace_bytes, upper);
        call.workspace = workspace.data;
        ASSERT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
        if (!transposed) {
          Expected expected(problem);
          EXPECT_EQ(memcmp(arguments[o].data, expected.o.data(), (expected.o.size() - 1) * sizeof(float)), 0);
          EXPECT_EQ(memcmp(arguments[finalS].data, expected.S.data(), (expected.S.size() - 1) * sizeof(float)), 0);
        }
      }
}

TEST(GuardPageDeathTest, ThePagesDoGuard) {
  GuardedPages guarded(4, /*flushWithUpper=*/true);
  EXPECT_DEATH(*static_cast<volatile char *>(guarded.data + 4) = 1, "");
}
