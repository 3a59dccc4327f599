// Calls backward, of kernels written by hand: whatever the arguments are, a call is refused or done, and nothing
// outside of the arrays is touched.
#include "GuardedPages.h"
#include "TestRecurrence.h"
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <memory>
#include <random>

using namespace recur::test;
using testing::StartsWith;

namespace {

constexpr int64_t chunk = 4;

float sumOf(const recur_array &array, int64_t tokens, int64_t elements) {
  float sum = 0;
  for (int64_t t = 0; array.data && t < tokens; ++t)
    for (int64_t i = 0; i < elements; ++i)
      sum += static_cast<const float *>(array.data)[t * array.token_stride + i];
  return sum;
}
void write(const recur_array &array, int64_t tokens, int64_t elements, float number) {
  for (int64_t t = 0; array.data && t < tokens; ++t)
    for (int64_t i = 0; i < elements; ++i)
      static_cast<float *>(array.data)[t * array.token_stride + i] = number;
}

/// Reads and writes all that kernels of the states do.
void runStates(const recur_array *arrays, int64_t tokens, void *workspace) {
  float sum = sumOf(arrays[0], tokens, K) + sumOf(arrays[1], tokens, K) + sumOf(arrays[2], tokens, V) +
              sumOf(arrays[3], tokens, 1) + sumOf(arrays[4], 1, 1) + sumOf(arrays[5], 1, V * K) +
              sumOf(arrays[6], 1, 1);
  memset(workspace, 1, 64);
  write(arrays[7], 1, V * K, sum);
  write(arrays[8], 1, 1, sum);
  int64_t chunks = (tokens + chunk - 1) / chunk;
  write(arrays[9], chunks, V * K, sum);
  write(arrays[10], chunks, 1, sum);
}
/// Inputs, cotangents of outputs, mu, what is carried (S, N, mu); gradients of inputs, what is carried; the kept S.
void runGradient(const recur_array *arrays, int64_t tokens, void *workspace) {
  float sum = sumOf(arrays[0], tokens, K) + sumOf(arrays[1], tokens, K) + sumOf(arrays[2], tokens, V) +
              sumOf(arrays[3], tokens, 1) + sumOf(arrays[4], tokens, V) + sumOf(arrays[5], tokens, 1) +
              sumOf(arrays[6], 1, 1) + sumOf(arrays[7], 1, V * K) + sumOf(arrays[8], 1, 1) + sumOf(arrays[9], 1, 1);
  sum += sumOf(arrays[17], (tokens + chunk - 1) / chunk, V * K);
  memset(workspace, 2, 64);
  write(arrays[10], tokens, K, sum);
  write(arrays[11], tokens, K, sum);
  write(arrays[12], tokens, V, sum);
  write(arrays[13], tokens, 1, sum);
  write(arrays[14], 1, V * K, sum);
  write(arrays[15], 1, 1, sum);
  write(arrays[16], 1, 1, sum);
}

/// Inputs, cotangents of outputs, mu, S and N; S and N; the kept S.
void runChain(const recur_array *arrays, int64_t tokens, void *workspace) {
  float sum = sumOf(arrays[0], tokens, K) + sumOf(arrays[1], tokens, K) + sumOf(arrays[2], tokens, V) +
              sumOf(arrays[3], tokens, 1) + sumOf(arrays[4], tokens, V) + sumOf(arrays[5], tokens, 1) +
              sumOf(arrays[6], 1, 1) + sumOf(arrays[7], 1, V * K) + sumOf(arrays[8], 1, 1) +
              sumOf(arrays[11], (tokens + chunk - 1) / chunk, V * K);
  memset(workspace, 3, 64);
  write(arrays[9], 1, V * K, sum);
  write(arrays[10], 1, 1, sum);
}

constexpr int32_t carried[] = {0, 1, -1}, keptStates[] = {0};
constexpr recur_gradient_info gradient = {
    runStates, runGradient, 64,      carried, keptStates, 3,       1,       chunk,   0,       nullptr,
    runChain,  keptStates,  1,       0.3f,    0.4f,       0.5f,    nullptr, nullptr, nullptr, nullptr,
    nullptr,   nullptr,     nullptr, 0,       0,          nullptr, nullptr, 0,       0};

recur_recurrence makeRecurrence() {
  recur_recurrence recurrence = segmented;
  recurrence.gradient = &gradient;
  return recurrence;
}

/// A call whose arrays lie against pages that may not be touched.
struct GuardedCall {
  recur_argument arguments[gradientArgumentCount];
  std::vector<std::unique_ptr<GuardedPages>> pages;
  std::vector<int64_t> offsets;
  float *kept[2];
  recur_call call = {};

  float *allocate(int64_t elements, bool upper) {
    pages.push_back(std::make_unique<GuardedPages>(size_t(elements) * sizeof(float), upper));
    memset(pages.back()->data, 0, size_t(elements) * sizeof(float));
    return reinterpret_cast<float *>(pages.back()->data);
  }
  GuardedCall(int64_t B, int64_t T, int64_t H, int64_t Hq, std::vector<int64_t> starts, int64_t interval, bool upper)
      : offsets(std::move(starts)) {
    recur_recurrence recurrence = makeRecurrence();
    int64_t sequences = offsets.empty() ? B : int64_t(offsets.size()) - 1;
    for (int i = 0; i < gradientArgumentCount; ++i)
      arguments[i] = {allocate(countGradientElements(i, B * T, H, Hq, sequences), upper), {0, 0, 0}};
    call.B = B;
    call.T = T;
    call.H = H;
    call.Hq = Hq;
    call.arguments = arguments;
    call.argument_count = gradientArgumentCount;
    call.sequence_offsets = offsets.empty() ? nullptr : offsets.data();
    call.sequence_count = offsets.empty() ? 0 : sequences;
    call.kept_interval = interval;
    int64_t rows = recur_kept_rows(&recurrence, &call);
    kept[0] = allocate(rows * H * V * K, upper);
    kept[1] = allocate(rows * H, upper);
    call.kept_states = interval ? kept : nullptr;
  }
  void makeSpace(bool upper) {
    recur_recurrence recurrence = makeRecurrence();
    call.workspace_bytes = recur_backward_workspace_size(&recurrence, &call);
    call.workspace = allocate(call.workspace_bytes / int64_t(sizeof(float)), upper);
  }
};

} // namespace

TEST(Backward, TouchesNothingOutsideOfTheArrays) {
  recur_recurrence recurrence = makeRecurrence();
  for (bool upper : {false, true})
    for (int64_t T : {0, 1, 4, 27})
      for (int64_t interval : {0, 4, 8, 64})
        for (auto [isPacked, plan] : {std::pair(false, RECUR_PLAN_CHUNK),
                                      {true, RECUR_PLAN_CHUNK},
                                      {false, RECUR_PLAN_SEGMENT},
                                      {true, RECUR_PLAN_SEGMENT}})
          for (int64_t bytes : {0, 1}) {
            GuardedCall guarded(isPacked ? 1 : 2, T, 4, 2,
                                isPacked ? std::vector<int64_t>{0, T / 3, T / 3, T} : std::vector<int64_t>{}, interval,
                                upper);
            guarded.call.workspace_bytes = bytes;
            guarded.call.threads = 3;
            guarded.call.plan = plan;
            guarded.makeSpace(upper);
            EXPECT_EQ(recur_backward(&recurrence, &guarded.call), RECUR_OK) << recur_message();
          }
}

TEST(Backward, WithArgumentsThatAreWrongIsRefused) {
  recur_recurrence recurrence = makeRecurrence();
  std::mt19937 random(1);
  auto below = [&](unsigned n) { return int64_t(random() % n); };
  int64_t done = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    bool isPacked = below(3) == 0;
    int64_t T = below(30), Hq = 1 + below(2);
    GuardedCall guarded(isPacked ? 1 : below(3), T, Hq * (1 + below(2)), Hq,
                        isPacked ? std::vector<int64_t>{0, T / 2, T} : std::vector<int64_t>{}, below(3) * chunk, false);
    recur_call &call = guarded.call;
    call.threads = int32_t(below(4));
    call.workspace_bytes = below(3) * 2000;
    call.plan = below(2) ? RECUR_PLAN_SEGMENT : RECUR_PLAN_AUTO;
    guarded.makeSpace(below(2));
    constexpr int64_t wild[] = {-1, 0, 1, 3, INT64_MAX, INT64_MIN, INT64_MAX / 8, int64_t(1) << 40};
    for (int64_t faults = below(3); faults-- > 0;) {
      recur_argument &argument = guarded.arguments[below(gradientArgumentCount)];
      int64_t number = wild[below(std::size(wild))], alias;
      switch (below(14)) {
      case 0:
        call.B = number < call.B ? number : -1; // no more than there are arrays for
        break;
      case 1:
        call.Hq = number ? number : -1; // 0 would be as many groups as heads
        break;
      case 2:
        call.argument_count = number;
        break;
      case 3:
        argument.data = nullptr;
        break;
      case 4:
        if (argument.data) // another fault may have taken it away
          argument.data = static_cast<char *>(argument.data) + 1;
        break;
      case 5:
        argument.strides.h = number < 0 ? number : 0;
        break;
      case 6:
        argument.strides.t = number == 1 || number == 3 ? 0 : number > 0 ? INT64_MAX : number;
        break;
      case 7:
        call.workspace = nullptr;
        break;
      case 8:
        call.workspace_bytes = number < call.workspace_bytes ? number : 1;
        break;
      case 9:
        call.plan = int32_t(number);
        break;
      case 10:
        call.kept_interval = number;
        break;
      case 11:
        call.kept_states = nullptr;
        break;
      case 12:
        for (int64_t &offset : guarded.offsets)
          offset = number < 0 || number > T ? number : offset;
        break;
      case 13: // a gradient in place of what it is of
        alias = below(gradientArgumentCount - firstGradient);
        guarded.arguments[firstGradient + alias].data = guarded.arguments[alias].data;
        break;
      }
    }
    recur_status status = recur_backward(&recurrence, &call);
    (status == RECUR_OK ? done : refused) += 1;
    if (status != RECUR_OK)
      EXPECT_STRNE(recur_message(), "");
  }
  EXPECT_GT(done, 500);
  EXPECT_GT(refused, 500);
}

/// Those of q and of N were left out: the kernel has no arrays for them, and does not go over S.
TEST(Backward, RefusesGradientsThatWereLeftOut) {
  static constexpr int32_t withoutPlaces[] = {0, 6}, carriedSome[] = {0, -1};
  static constexpr auto run = [](const recur_array *arrays, int64_t tokens, void *workspace) {
    memset(workspace, 2, 64);
    write(arrays[9], tokens, K, 1);
    write(arrays[10], tokens, V, 2);
    write(arrays[11], tokens, 1, 3);
    write(arrays[12], 1, V * K, 4);
    write(arrays[13], 1, 1, 5);
  };
  constexpr recur_gradient_info some = {
      runStates, run,     64,      carriedSome, nullptr, 2,       0,       chunk,   2,       withoutPlaces,
      nullptr,   nullptr, 0,       0,           0,       0,       nullptr, nullptr, nullptr, nullptr,
      nullptr,   nullptr, nullptr, 0,           0,       nullptr, nullptr, 0,       0};
  recur_recurrence recurrence = attention;
  recurrence.gradient = &some;
  for (int64_t interval : {0, 4, 8}) {
    GuardedCall guarded(2, 9, 4, 2, {}, interval, true);
    int64_t all = recur_backward_workspace_size(&recurrence, &guarded.call);
    recurrence.gradient = &gradient;
    EXPECT_LT(all, recur_backward_workspace_size(&recurrence, &guarded.call));
    recurrence.gradient = &some;
    guarded.makeSpace(true);
    EXPECT_EQ(recur_backward(&recurrence, &guarded.call), RECUR_NO_PLAN);
    EXPECT_STREQ(recur_message(),
                 "attention: the gradient of input 'q' was left out when the kernel was built; name it in "
                 "--backward=LIST");
    guarded.arguments[firstGradient].data = nullptr;
    EXPECT_EQ(recur_backward(&recurrence, &guarded.call), RECUR_NO_PLAN);
    EXPECT_STREQ(recur_message(),
                 "attention: the gradient of initial state 'N' was left out when the kernel was built; "
                 "name it in --backward=LIST");
    guarded.arguments[gradientArgumentCount - 1].data = nullptr;
    ASSERT_EQ(recur_backward(&recurrence, &guarded.call), RECUR_OK) << recur_message();
    auto first = [&](int i) { return *static_cast<float *>(guarded.arguments[firstGradient + i].data); };
    EXPECT_EQ(first(1), 2); // of a shared input, of a group of two heads
    EXPECT_EQ(first(2), 2);
    EXPECT_EQ(first(3), 3);
    EXPECT_EQ(first(4), 10); // of a param, of two sequences
    EXPECT_EQ(first(5), 4);
  }
}

/// One head of the gated delta rule, of which the sizes alone are looked at.
TEST(Backward, TakesLessThanHalfOfInputsAndGradientsBeside) {
  constexpr int64_t side = 128;
  static constexpr int32_t state[] = {0};
  constexpr recur_gradient_info delta = {
      runStates, runGradient, 1 << 18, state,   state,   1,       1,       64, 0, nullptr, nullptr, nullptr, 0, 0, 0, 0,
      nullptr,   nullptr,     nullptr, nullptr, nullptr, nullptr, nullptr, 0,  0, nullptr, nullptr, 0,       0};
  for (int32_t type : {RECUR_F32, RECUR_BF16}) {
    const recur_array_info arrays[] = {
        {"q", RECUR_INPUT, type, 1, 1, {side, 0}},  {"k", RECUR_INPUT, type, 1, 1, {side, 0}},
        {"v", RECUR_INPUT, type, 0, 1, {side, 0}},  {"g", RECUR_INPUT, type, 0, 0, {0, 0}},
        {"beta", RECUR_INPUT, type, 0, 0, {0, 0}},  {"S", RECUR_STATE, RECUR_F32, 0, 2, {side, side}},
        {"o", RECUR_OUTPUT, type, 0, 1, {side, 0}},
    };
    recur_recurrence recurrence = attention;
    recurrence.arrays = arrays;
    recurrence.array_count = std::size(arrays);
    recurrence.gradient = &delta;
    recur_call call = {};
    call.B = call.H = 1;
    double elementBytes = type == RECUR_F32 ? 4 : 2, stateBytes = side * side * 4;
    for (int64_t T : {100'000, 300'000, 1'000'000, 10'000'000}) {
      call.T = T;
      call.workspace_bytes = 0;
      double inputs = 2 * double(T) * (3 * side + 2) * elementBytes, outputs = 2 * double(T) * side * elementBytes;
      int64_t usual = recur_backward_workspace_size(&recurrence, &call);
      if (T >= 300'000)
        EXPECT_LT(outputs + inputs + double(usual), 1.5 * inputs) << "T = " << T;
      EXPECT_LE(double(usual), std::max(double(64 << 20), (inputs + outputs) / 10 + stateBytes));
      // A budget is used and kept to, where it is no less than the least.
      call.workspace_bytes = 1;
      int64_t least = recur_backward_workspace_size(&recurrence, &call);
      double all = double(T) / 64 * stateBytes;
      EXPECT_LT(double(least), 2.2 * std::sqrt(all * stateBytes) + (1 << 19));
      for (double share : {0.1, 0.3, 0.55, 0.9}) {
        call.workspace_bytes = int64_t(share * all);
        int64_t used = recur_backward_workspace_size(&recurrence, &call);
        if (call.workspace_bytes < least) {
          EXPECT_EQ(used, least);
          continue;
        }
        EXPECT_LE(used, call.workspace_bytes) << "T = " << T;
        EXPECT_GT(double(used), double(call.workspace_bytes) * 0.5) << "T = " << T;
      }
    }
  }
  // No size is too large to plan for.
  recur_recurrence recurrence = makeRecurrence();
  recur_call call = {};
  call.B = call.H = 1;
  call.T = INT64_MAX / 4096;
  EXPECT_GT(recur_backward_workspace_size(&recurrence, &call), 0);
}

/// Of S and N, which are V * K + 1 numbers a head, for 4 heads.
TEST(Backward, ChoosesWhatIsKeptByABudget) {
  recur_recurrence recurrence = makeRecurrence();
  int64_t rowBytes = (V * K + 1) * 4 * int64_t(sizeof(float)), offsets[] = {0, 3, 3, 27};
  recur_call call = {};
  call.B = 2;
  call.T = 27;
  call.H = 4;
  auto choose = [&](int64_t bytes) { return recur_choose_kept_interval(&recurrence, &call, bytes); };
  EXPECT_EQ(choose(14 * rowBytes), chunk); // 7 chunks in each sequence
  EXPECT_EQ(choose(int64_t(1) << 62), chunk);
  EXPECT_EQ(choose(14 * rowBytes - 1), 2 * chunk);
  EXPECT_EQ(choose(8 * rowBytes), 2 * chunk);
  EXPECT_EQ(choose(4 * rowBytes), 4 * chunk);
  EXPECT_EQ(choose(2 * rowBytes), 7 * chunk); // the initial states alone
  EXPECT_EQ(choose(2 * rowBytes - 1), 0);
  EXPECT_EQ(choose(0), 0);
  EXPECT_EQ(choose(-1), 0);
  call.B = 1;
  call.sequence_offsets = offsets;
  call.sequence_count = 3;
  EXPECT_EQ(choose(7 * rowBytes), chunk); // 1 of the first, none of the second, 6 of the third
  EXPECT_EQ(choose(4 * rowBytes), 2 * chunk);
  for (int64_t bytes : {2, 3, 4, 5, 6, 7}) {
    call.kept_interval = choose(bytes * rowBytes);
    EXPECT_LE(recur_kept_rows(&recurrence, &call), bytes);
    call.kept_interval -= chunk;
    if (call.kept_interval)
      EXPECT_GT(recur_kept_rows(&recurrence, &call), bytes);
  }
  call.T = 0;
  offsets[1] = offsets[3] = offsets[2] = 0;
  EXPECT_EQ(choose(0), chunk);
  EXPECT_EQ(recur_choose_kept_interval(&recurrence, nullptr, 1), -1);
  EXPECT_EQ(recur_choose_kept_interval(&attention, &call, 1), -1);
  EXPECT_THAT(recur_message(), StartsWith("attention was compiled without the kernels of its gradient"));
}

TEST(Backward, SaysWhatIsWrong) {
  recur_recurrence recurrence = makeRecurrence();
  GuardedCall guarded(2, 9, 4, 2, {}, 8, false);
  guarded.makeSpace(false);
  auto expectRefused = [&](recur_status status, const char *message) {
    EXPECT_EQ(recur_backward(&recurrence, &guarded.call), status);
    EXPECT_STREQ(recur_message(), message);
  };
  EXPECT_EQ(recur_backward(&recurrence, &guarded.call), RECUR_OK) << recur_message();
  guarded.call.kept_interval = 6;
  expectRefused(RECUR_BAD_SIZE, "attention: kept_interval is 6; for the gradient it must be a multiple of 4");
  guarded.call.kept_interval = 8;
  float *keptN = std::exchange(guarded.kept[1], nullptr);
  expectRefused(RECUR_NULL_POINTER, "attention: the kept state 'N' is null");
  guarded.kept[1] = static_cast<float *>(guarded.arguments[firstGradient].data);
  expectRefused(RECUR_OVERLAP, "attention: the gradient of input 'q' shares memory with the kept state 'N'");
  // Chunks behind are gone over before those ahead are computed again: no gradient may lie where what it is of does.
  guarded.kept[1] = keptN;
  void *own = std::exchange(guarded.arguments[firstGradient].data, guarded.arguments[0].data);
  expectRefused(RECUR_OVERLAP, "attention: the gradient of input 'q' shares memory with the input 'q'");
  guarded.arguments[firstGradient].data = own;
  constexpr int initial = 5, finalCotangent = 9, initialGradient = firstGradient + 5;
  own = std::exchange(guarded.arguments[initialGradient].data, guarded.arguments[initial].data);
  expectRefused(RECUR_OVERLAP, "attention: the gradient of initial state 'S' shares memory with the initial state 'S'");
  guarded.arguments[initialGradient].data = guarded.arguments[finalCotangent].data;
  expectRefused(RECUR_OVERLAP,
                "attention: the gradient of initial state 'S' shares memory with the cotangent of final state 'S'");
  guarded.arguments[initialGradient].data = own;
  guarded.call.plan = RECUR_PLAN_STEP;
  expectRefused(RECUR_NO_PLAN, "attention: the gradient has no plan 'step', only chunk and segment");
  EXPECT_EQ(recur_backward(&attention, &guarded.call), RECUR_NO_PLAN);
  EXPECT_THAT(recur_message(), StartsWith("attention was compiled without the kernels of its gradient"));
}
