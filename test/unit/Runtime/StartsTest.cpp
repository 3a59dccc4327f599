// States that start as what another recurrence makes of the params, where the caller gives no initial state.
#include "TestRecurrence.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <string>

using namespace recur::test;

namespace {

constexpr int64_t elements = V * K;

float *floats(const recur_array &array) { return static_cast<float *>(array.data); }

/// S starts as mu * (1, 2, 3, ...). The arrays are mu, the initial S, which matters to nothing, and the final one.
void runStart(const recur_array *arrays, int64_t tokens, void *) {
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(arrays[1].data, nullptr);
  for (int64_t i = 0; arrays[2].data && i < elements; ++i)
    floats(arrays[2])[i] = *floats(arrays[0]) * float(i + 1);
}
/// mu, what is carried (S, mu), and that once more.
void runStartGradient(const recur_array *arrays, int64_t, void *) {
  float sum = *floats(arrays[2]);
  for (int64_t i = 0; i < elements; ++i)
    sum += floats(arrays[1])[i] * float(i + 1);
  std::fill_n(floats(arrays[3]), elements, 0.0f);
  *floats(arrays[4]) = sum;
}
void runNothing(const recur_array *, int64_t, void *) {}

const recur_array_info startArrays[] = {{"mu", RECUR_PARAM, RECUR_F32, 0, 0, {0, 0}},
                                        {"S", RECUR_STATE, RECUR_F32, 0, 2, {V, K}}};
const recur_kernel_info startKernels[] = {
    {runStart, 64, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr}};
const int32_t startCarried[] = {0, -1};
const recur_gradient_info startGradient = {runNothing, runStartGradient,
                                           64,         startCarried,
                                           nullptr,    2,
                                           0,          64,
                                           0,          nullptr,
                                           nullptr,    nullptr,
                                           0,          0.1f,
                                           0,          0.5f,
                                           nullptr,    nullptr,
                                           nullptr,    nullptr,
                                           nullptr,    nullptr,
                                           nullptr,    0,
                                           0,          nullptr,
                                           nullptr,    0,
                                           0};
const recur_recurrence start = {RECUR_ABI_VERSION, 0,       2,      1,       startArrays, startKernels,
                                "attention$start", "host",  "test", nullptr, nullptr,     RECUR_CPU,
                                &startGradient,    nullptr, nullptr};

/// Gives gradients of 1 to all that is asked for but the initial states, of which element i gets i.
void runGradient(const recur_array *arrays, int64_t tokens, void *) {
  const int64_t each[] = {K, K, V, 1};
  for (int i = 0; i < 4; ++i)
    for (int64_t t = 0; arrays[10 + i].data && t < tokens; ++t)
      std::fill_n(floats(arrays[10 + i]) + t * arrays[10 + i].token_stride, each[i], 1.0f);
  for (int64_t i = 0; i < elements; ++i)
    floats(arrays[14])[i] = float(i);
  *floats(arrays[15]) = 1;
  *floats(arrays[16]) = *floats(arrays[9]) + float(tokens);
}
const int32_t carried[] = {0, 1, -1};
const recur_gradient_info gradient = {runNothing, runGradient, 64,      carried, nullptr, 3,       0,       4,
                                      0,          nullptr,     nullptr, nullptr, 0,       0.3f,    0,       0.5f,
                                      nullptr,    nullptr,     nullptr, nullptr, nullptr, nullptr, nullptr, 0,
                                      0,          nullptr,     nullptr, 0,       0};

recur_recurrence makeRecurrence(const recur_recurrence &base = attention) {
  recur_recurrence recurrence = base;
  recurrence.gradient = &gradient;
  recurrence.start = &start;
  return recurrence;
}

float startOf(const Problem &problem, int64_t head, int64_t i) { return problem.arrays[mu][head] * float(i + 1); }

/// The same problem with what S starts as given, as declared or with its sides swapped.
Problem giveStarts(const Problem &problem, bool isTransposed) {
  Problem given = problem;
  for (int64_t unit = 0; unit < problem.sequences * problem.H; ++unit)
    for (int64_t row = 0; row < V; ++row)
      for (int64_t column = 0; column < K; ++column) {
        int64_t place = isTransposed ? column * V + row : row * K + column;
        given.arrays[initialS][unit * elements + place] = startOf(problem, unit % problem.H, row * K + column);
      }
  return given;
}

/// Runs both, the one without the initial S, and compares all that is written.
void expectStarted(Problem problem, const int64_t *offsets, int32_t plan, bool isTransposed,
                   const recur_recurrence &base) {
  recur_recurrence recurrence = makeRecurrence(base);
  Problem given = giveStarts(problem, isTransposed);
  recur_argument arguments[argumentCount], wanted[argumentCount];
  for (auto [own, places, isGiven] : {std::tuple(&problem, &arguments, false), {&given, &wanted, true}}) {
    recur_call call = own->makeCall(*places, offsets, 3, &recurrence);
    call.plan = plan;
    call.states_transposed = isTransposed;
    own->makeSpace(call, &recurrence);
    if (!isGiven)
      (*places)[initialS].data = nullptr;
    ASSERT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message();
  }
  for (int i : {o, seen, finalS, finalN})
    EXPECT_EQ(problem.arrays[i], given.arrays[i]) << i;
}

} // namespace

TEST(Starts, AreMadeWhereNoInitialStateIsGiven) {
  for (int64_t T : {0, 1, 2, 9, 40})
    for (bool isTransposed : {false, true}) {
      expectStarted(Problem(2, T, 4, 2), nullptr, RECUR_PLAN_AUTO, isTransposed, attention);
      expectStarted(Problem(2, T, 4, 2), nullptr, RECUR_PLAN_SEGMENT, isTransposed, segmented);
    }
}

TEST(Starts, AreThoseOfEachPackedSequence) {
  const int64_t offsets[] = {0, 0, 3, 20};
  for (bool isTransposed : {false, true})
    for (auto [base, plan] : {std::pair(&attention, RECUR_PLAN_CHUNK), {&segmented, RECUR_PLAN_SEGMENT}})
      expectStarted(Problem(1, 20, 2, 1, 3), offsets, plan, isTransposed, *base);
}

/// Sequences whose index is negative begin with it, and those of the pool do not.
TEST(Starts, StandForRowsThatAPoolDoesNotHave) {
  recur_recurrence recurrence = makeRecurrence();
  for (bool isTransposed : {false, true}) {
    Problem pooled(3, 5, 4, 2), given = giveStarts(pooled, isTransposed);
    std::vector<float> pool(2 * 4 * elements, 0.5f), counts(2 * 4, 2.0f);
    const int32_t rows[] = {-1, 1, -2};
    std::copy_n(pool.begin(), 4 * elements, given.arrays[initialS].begin() + 4 * elements);
    for (int64_t i = 0; i < 3 * 4; ++i)
      given.arrays[initialN][i] = i / 4 == 1 ? 2.0f : 0.0f;
    recur_argument arguments[argumentCount];
    recur_call call = given.makeCall(arguments, nullptr, 1, &recurrence);
    call.states_transposed = isTransposed;
    given.makeSpace(call, &recurrence);
    ASSERT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message();
    call = pooled.makeCall(arguments, nullptr, 2, &recurrence);
    call.states_transposed = isTransposed;
    call.state_indices = rows;
    call.pool_rows = 2;
    arguments[initialS].data = arguments[finalS].data = pool.data();
    arguments[initialN].data = arguments[finalN].data = counts.data();
    pooled.makeSpace(call, &recurrence);
    ASSERT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message();
    EXPECT_EQ(pooled.arrays[o], given.arrays[o]);
    EXPECT_TRUE(std::equal(pool.begin() + 4 * elements, pool.end(), given.arrays[finalS].begin() + 4 * elements));
    EXPECT_TRUE(std::all_of(pool.begin(), pool.begin() + 4 * elements, [](float x) { return x == 0.5f; }));
  }
}

TEST(Starts, AreNothingWithoutSequencesOrHeads) {
  recur_recurrence recurrence = makeRecurrence();
  for (auto [B, H] : {std::pair(0, 2), {2, 0}}) {
    Problem problem(B, 4, H, H);
    recur_argument arguments[argumentCount];
    recur_call call = problem.makeCall(arguments, nullptr, 1, &recurrence);
    arguments[initialS].data = nullptr;
    EXPECT_EQ(recur_forward(&recurrence, &call), RECUR_OK) << recur_message();
  }
}

TEST(Starts, NeedTheirWorkspace) {
  recur_recurrence recurrence = makeRecurrence();
  Problem problem(1, 4, 2, 2);
  recur_argument arguments[argumentCount];
  recur_call call = problem.makeCall(arguments, nullptr, 1, &recurrence);
  int64_t whole = recur_workspace_size(&recurrence, &call);
  EXPECT_GT(whole, recur_workspace_size(&attention, &call));
  problem.makeSpace(call, &recurrence);
  arguments[initialS].data = nullptr;
  call.workspace_bytes = whole - 1;
  EXPECT_EQ(recur_forward(&recurrence, &call), RECUR_SMALL_WORKSPACE);
  call.H = call.Hq = INT64_MAX / 64;
  call.B = 1;
  call.T = 0;
  EXPECT_LT(recur_workspace_size(&recurrence, &call), 0);
  EXPECT_NE(std::string(recur_message()).find("too large"), std::string::npos) << recur_message();
}

TEST(Starts, GiveTheParamsTheirPartOfTheGradient) {
  constexpr int64_t B = 2, T = 9, H = 2;
  recur_recurrence recurrence = makeRecurrence();
  for (bool isGiven : {false, true})
    for (bool wantsInitial : {false, true}) {
      Problem problem(B, T, H, H);
      std::vector<std::vector<float>> arrays(gradientArgumentCount);
      recur_argument arguments[gradientArgumentCount] = {};
      for (int i = 0; i < gradientArgumentCount; ++i) {
        arrays[i].assign(size_t(countGradientElements(i, B * T, H, H, B)), 0.5f);
        arguments[i].data = arrays[i].data();
      }
      constexpr int initial = 5, dMu = firstGradient + 4, dInitial = firstGradient + 5;
      if (!isGiven)
        arguments[initial].data = nullptr;
      if (!wantsInitial)
        arguments[dInitial].data = nullptr;
      recur_call call = {};
      call.B = B;
      call.T = T;
      call.H = H;
      call.arguments = arguments;
      call.argument_count = gradientArgumentCount;
      call.threads = 2;
      call.workspace_bytes = recur_backward_workspace_size(&recurrence, &call);
      ASSERT_GT(call.workspace_bytes, 0) << recur_message();
      std::vector<char> space(size_t(call.workspace_bytes) + 64);
      call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64);
      EXPECT_EQ(recur_backward_workspace_size(&recurrence, &call), call.workspace_bytes);
      ASSERT_EQ(recur_backward(&recurrence, &call), RECUR_OK) << recur_message();
      float ofStart = 0;
      for (int64_t i = 0; i < elements; ++i)
        ofStart += float(i * (i + 1));
      // In parts of whole chunks each token counts once; each sequence starts once.
      for (float sum : arrays[dMu])
        EXPECT_EQ(sum, float(B * T) + (isGiven ? 0 : float(B) * ofStart));
      for (size_t i = 0; wantsInitial && i < arrays[dInitial].size(); ++i)
        EXPECT_EQ(arrays[dInitial][i], float(i % elements));
    }
}
