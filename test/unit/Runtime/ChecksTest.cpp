// Every misuse is refused with a status and a message, and nothing is written.
#include "TestRecurrence.h"
#include <cstring>
#include <functional>
#include <gmock/gmock.h>

using namespace recur::test;
using testing::StartsWith;

namespace {
struct Misuse : testing::Test {
  Problem problem{2, 5, 4, 2};
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);

  void expectRefused(recur_status status, const std::string &message, const recur_recurrence *recurrence = &attention) {
    std::vector<std::vector<float>> before(std::begin(problem.arrays), std::end(problem.arrays));
    EXPECT_EQ(recur_forward(recurrence, &call), status);
    EXPECT_THAT(recur_message(), StartsWith(message));
    for (int i = 0; i < argumentCount; ++i)
      EXPECT_EQ(problem.arrays[i], before[i]) << i;
  }
};
} // namespace

TEST_F(Misuse, TheUsualCallIsAccepted) { EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message(); }

TEST_F(Misuse, NullPointers) {
  expectRefused(RECUR_NULL_POINTER, "the recurrence is null; pass the address of NAME_recurrence", nullptr);
  EXPECT_EQ(recur_forward(&attention, nullptr), RECUR_NULL_POINTER);
  EXPECT_STREQ(recur_message(), "attention: the call is null");
  arguments[k].data = nullptr;
  expectRefused(RECUR_NULL_POINTER, "attention: the input 'k' is null");
  call = problem.makeCall(arguments);
  arguments[mu].data = nullptr;
  expectRefused(RECUR_NULL_POINTER, "attention: the param 'mu' is null");
  call = problem.makeCall(arguments);
  call.workspace = nullptr;
  expectRefused(RECUR_NULL_POINTER, "attention: the workspace is null; 64 bytes are needed");
  call = problem.makeCall(arguments);
  call.arguments = nullptr;
  expectRefused(RECUR_NULL_POINTER, "attention: 'arguments' is null");
  call = problem.makeCall(arguments);
  call.sequence_count = 3;
  expectRefused(RECUR_NULL_POINTER, "attention: sequence_count is 3, but sequence_offsets is null");
}

TEST_F(Misuse, KeptStates) {
  call.kept_interval = -1;
  expectRefused(RECUR_BAD_SIZE, "attention: kept_interval is -1; it must be at least 0");
  EXPECT_EQ(recur_kept_rows(&attention, &call), -1);
  call.kept_interval = 2;
  EXPECT_EQ(recur_kept_rows(&attention, &call), 2 * 3);
  expectRefused(RECUR_NULL_POINTER, "attention: kept_interval is 2, but kept_states is null");
  std::vector<float> keptS(6 * 4 * V * K), keptN(6 * 4);
  float *kept[] = {keptS.data(), nullptr};
  call.kept_states = kept;
  expectRefused(RECUR_NULL_POINTER, "attention: the kept state 'N' is null");
  kept[1] = keptS.data() + 1;
  expectRefused(RECUR_OVERLAP, "attention: the kept state 'N' shares memory with the kept state 'S'");
  kept[1] = problem.arrays[v].data();
  expectRefused(RECUR_OVERLAP, "attention: the kept state 'N' shares memory with the input 'v'");
  // Where one row is kept of each sequence it has the size of a state, and is none.
  call.kept_interval = 64;
  kept[1] = keptN.data();
  kept[0] = problem.arrays[initialS].data();
  expectRefused(RECUR_OVERLAP, "attention: the kept state 'S' shares memory with the initial state 'S'");
  kept[0] = problem.arrays[finalS].data();
  expectRefused(RECUR_OVERLAP, "attention: the kept state 'S' shares memory with the final state 'S'");
  kept[0] = keptS.data();
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
}

TEST_F(Misuse, Sizes) {
  call.B = -1;
  expectRefused(RECUR_BAD_SIZE, "attention: B is -1; it must be at least 0");
  EXPECT_EQ(recur_workspace_size(&attention, &call), -1);
  call = problem.makeCall(arguments);
  call.T = INT64_MIN;
  expectRefused(RECUR_BAD_SIZE, "attention: T is -9223372036854775808; it must be at least 0");
  call = problem.makeCall(arguments);
  call.H = -2;
  expectRefused(RECUR_BAD_SIZE, "attention: H is -2");
  call = problem.makeCall(arguments);
  call.Hq = 3;
  expectRefused(RECUR_BAD_SIZE, "attention: Hq = 3 does not divide H = 4");
  call.Hq = 8;
  expectRefused(RECUR_BAD_SIZE, "attention: Hq = 8 does not divide H = 4");
  call.Hq = -2;
  expectRefused(RECUR_BAD_SIZE, "attention: Hq is -2");
  call = problem.makeCall(arguments);
  call.threads = -1;
  expectRefused(RECUR_BAD_SIZE, "attention: threads is -1");
  call = problem.makeCall(arguments);
  call.T = INT64_MAX;
  expectRefused(RECUR_BAD_SIZE, "attention: B * T * H is too large");
  call.T = INT64_MAX / 16; // the product fits, the bytes do not
  expectRefused(RECUR_BAD_SIZE, "attention: the input 'q' is too large");
  call = problem.makeCall(arguments);
  call.argument_count = 9;
  expectRefused(RECUR_BAD_SIZE, "attention has 11 arguments, but argument_count is 9");
}

TEST_F(Misuse, Strides) {
  arguments[v].strides.t = -V;
  expectRefused(RECUR_BAD_STRIDE, "attention: the stride over T of the input 'v' is -5; it must be at least 0, which "
                                  "stands for dense");
  call = problem.makeCall(arguments);
  arguments[v].strides.h = INT64_MAX / 2;
  expectRefused(RECUR_BAD_SIZE, "attention: the input 'v' is too large: its sizes times its strides");
  call = problem.makeCall(arguments);
  arguments[o].strides.h = V - 1;
  expectRefused(RECUR_BAD_STRIDE, "attention: the strides of the output 'o' put elements on top of one another: B 100, "
                                  "T 20, H 4, and 5 elements at each");
  call = problem.makeCall(arguments);
  arguments[finalS].strides.b = 3 * V * K; // of 4 heads
  expectRefused(RECUR_BAD_STRIDE, "attention: the strides of the final state 'S' put elements on top of one another");
}

TEST_F(Misuse, Alignment) {
  arguments[g].data = reinterpret_cast<char *>(problem.arrays[g].data()) + 2;
  expectRefused(RECUR_BAD_POINTER, "attention: the input 'g' is not aligned to its elements of 4 bytes");
  call = problem.makeCall(arguments);
  call.workspace = static_cast<char *>(call.workspace) + 32;
  expectRefused(RECUR_BAD_POINTER, "attention: the workspace is not aligned to 64 bytes");
}

TEST_F(Misuse, Workspace) {
  call.workspace_bytes -= 1;
  expectRefused(RECUR_SMALL_WORKSPACE, "attention: the workspace has 63 bytes; 64 are needed");
  call = problem.makeCall(arguments);
  call.threads = 2;
  expectRefused(RECUR_SMALL_WORKSPACE, "attention: the workspace has 64 bytes; 128 are needed");
  call = problem.makeCall(arguments);
  arguments[o].data = call.workspace;
  expectRefused(RECUR_OVERLAP, "attention: the output 'o' lies in the workspace");
}

TEST_F(Misuse, Overlaps) {
  arguments[o].data = arguments[v].data;
  expectRefused(RECUR_OVERLAP, "attention: the output 'o' shares memory with the input 'v'");
  call = problem.makeCall(arguments);
  arguments[seen].data = problem.arrays[o].data() + 7;
  expectRefused(RECUR_OVERLAP, "attention: the output 'seen' shares memory with the output 'o'");
  call = problem.makeCall(arguments);
  arguments[finalS].data = problem.arrays[initialS].data() + 1; // in place is all or nothing
  expectRefused(RECUR_OVERLAP, "attention: the final state 'S' shares memory with the initial state 'S'");
  call = problem.makeCall(arguments);
  arguments[finalS].data = problem.arrays[initialS].data();
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
}

TEST_F(Misuse, TablesInWhatIsWritten) {
  Problem packed(1, 10, 4, 2, 2);
  const std::vector<int64_t> offsets = {0, 4, 10};
  const auto placeOffsets = [&](void *place) {
    call = packed.makeCall(arguments, offsets.data());
    call.sequence_offsets = static_cast<int64_t *>(memcpy(place, offsets.data(), sizeof(int64_t) * offsets.size()));
  };
  placeOffsets(packed.arrays[o].data() + 6);
  expectRefused(RECUR_OVERLAP, "attention: 'sequence_offsets' lies in the output 'o'");
  placeOffsets(packed.arrays[finalS].data());
  expectRefused(RECUR_OVERLAP, "attention: 'sequence_offsets' lies in the final state 'S'");
  call = packed.makeCall(arguments, offsets.data());
  call.sequence_offsets = static_cast<int64_t *>(memcpy(call.workspace, offsets.data(), sizeof(int64_t) * 3));
  expectRefused(RECUR_OVERLAP, "attention: 'sequence_offsets' lies in the workspace");

  call = packed.makeCall(arguments, offsets.data());
  call.arguments = static_cast<recur_argument *>(memcpy(packed.arrays[o].data(), arguments, sizeof arguments));
  expectRefused(RECUR_OVERLAP, "attention: 'arguments' lies in the output 'o'");
  call = packed.makeCall(arguments, offsets.data());
  const auto *moved = static_cast<recur_call *>(memcpy(packed.arrays[o].data(), &call, sizeof call));
  EXPECT_EQ(recur_forward(&attention, moved), RECUR_OVERLAP);
  EXPECT_STREQ(recur_message(), "attention: the call lies in the output 'o'");

  // Right behind the workspace they are in nobody's way.
  std::vector<int64_t> room(64);
  call = packed.makeCall(arguments, offsets.data());
  ASSERT_EQ(call.workspace_bytes, 64);
  call.workspace = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64 / sizeof(int64_t);
  call.sequence_offsets =
      static_cast<int64_t *>(memcpy(static_cast<char *>(call.workspace) + 64, offsets.data(), sizeof(int64_t) * 3));
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
}

TEST_F(Misuse, InterleavedArrays) {
  // A fused projection: each token has v of all heads, then o of all heads.
  std::vector<float> fused(2 * 5 * 2 * 4 * V + V);
  arguments[v] = {fused.data(), {0, 2 * 4 * V, 0}};
  arguments[o] = {fused.data() + 4 * V, {0, 2 * 4 * V, 0}};
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  arguments[o].data = fused.data() + 4 * V - 1;
  expectRefused(RECUR_OVERLAP, "attention: the output 'o' shares memory with the input 'v'");
  arguments[o].data = fused.data() + 4 * V + 1; // reaches into the next token
  expectRefused(RECUR_OVERLAP, "attention: the output 'o' shares memory with the input 'v'");
}

TEST_F(Misuse, Offsets) {
  const auto refuse = [&](std::vector<int64_t> offsets, recur_status status, const std::string &message) {
    Problem packed(1, 10, 4, 2, int64_t(offsets.size()) - 1);
    recur_call usual = packed.makeCall(arguments);
    call = usual;
    call.sequence_offsets = offsets.data();
    call.sequence_count = int64_t(offsets.size()) - 1;
    expectRefused(status, message);
  };
  refuse({0, 4, 3, 10}, RECUR_BAD_OFFSETS, "attention: sequence_offsets decrease: [2] is 3, after 4");
  refuse({0, 4, 11}, RECUR_BAD_OFFSETS, "attention: sequence_offsets[2] is 11, outside of 0 to T = 10");
  refuse({-1, 4, 10}, RECUR_BAD_OFFSETS, "attention: sequence_offsets[0] is -1, outside of 0 to T = 10");
  const int64_t offsets[] = {0, 5};
  call = problem.makeCall(arguments);
  call.sequence_offsets = offsets;
  call.sequence_count = 1;
  expectRefused(RECUR_BAD_SIZE, "attention: with sequence_offsets B must be 1, but it is 2");
  call.B = 1;
  call.sequence_count = -1;
  expectRefused(RECUR_BAD_SIZE, "attention: sequence_count is -1");
}

TEST_F(Misuse, Plans) {
  call.plan = RECUR_PLAN_SCAN;
  expectRefused(RECUR_NO_PLAN, "attention has no kernel of plan 'scan', only of step, chunk");
  call.plan = 17;
  expectRefused(RECUR_NO_PLAN, "attention: there is no plan of the number 17");
}

TEST_F(Misuse, KernelsOfAnotherVersionOrMachine) {
  recur_recurrence other = attention;
  other.abi_version = RECUR_ABI_VERSION + 1;
  std::string message = "the kernel is of ABI version " + std::to_string(RECUR_ABI_VERSION + 1) + ", this runtime of " +
                        std::to_string(RECUR_ABI_VERSION);
  expectRefused(RECUR_WRONG_VERSION, message, &other);
  other = attention;
  other.features = 1u << 31; // no such feature yet
  expectRefused(RECUR_WRONG_MACHINE, "attention was compiled for 'host', and this processor lacks instructions",
                &other);
  other = attention;
  other.kernel_count = 0;
  expectRefused(RECUR_WRONG_VERSION, "attention: the kernel's description is damaged", &other);
}

TEST(Select, TakesTheFirstThatTheProcessorHas) {
  recur_recurrence low = attention, high = attention, best = attention;
  low.target = "low";
  high.target = "high";
  high.next = &low;
  best.target = "best";
  best.features = 1u << 31; // no such feature yet
  best.next = &high;
  EXPECT_EQ(recur_select(&best), &high);
  EXPECT_EQ(recur_select(&low), &low);
  EXPECT_EQ(recur_select(nullptr), nullptr);
  setenv("RECUR_TARGET", "low", 1);
  EXPECT_EQ(recur_select(&best), &low);
  setenv("RECUR_TARGET", "other", 1); // of another library of the same program
  EXPECT_EQ(recur_select(&best), &high);
  setenv("RECUR_TARGET", "best", 1); // which this processor cannot run
  EXPECT_EQ(recur_select(&best), nullptr);
  Problem problem{1, 3, 1, 1};
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments);
  EXPECT_EQ(recur_forward(&best, &call), RECUR_WRONG_MACHINE);
  unsetenv("RECUR_TARGET");
  EXPECT_EQ(recur_forward(&best, &call), RECUR_OK) << recur_message();
}

TEST_F(Misuse, NothingToDoNeedsNothing) {
  call.T = 0;
  for (int i : {q, k, v, g, o, seen, initialS, initialN, finalS, finalN})
    arguments[i].data = nullptr;
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
  call.T = 5;
  call.B = 0;
  arguments[mu].data = nullptr;
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_NULL_POINTER); // mu belongs to heads, of which there are some
  call.H = call.Hq = 0;
  call.workspace = nullptr;
  EXPECT_EQ(recur_forward(&attention, &call), RECUR_OK) << recur_message();
}
