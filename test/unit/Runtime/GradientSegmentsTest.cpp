// Gradients by segments: of kernels written by hand, on numbers with which float32 is exact, so that however a sequence
// is cut the gradients must be the same to the last bit.
#include "Runtime/CPU/Segments.h"
#include "TestRecurrence.h"
#include <cstring>
#include <gmock/gmock.h>
#include <random>

using namespace recur::runtime;
using namespace recur::test;

namespace {

constexpr int64_t chunk = 4;

const float *at(const recur_array &array, int64_t token) {
  return static_cast<const float *>(array.data) + token * array.token_stride;
}
float *to(const recur_array &array, int64_t token) {
  return array.data ? static_cast<float *>(array.data) + token * array.token_stride : nullptr;
}

void read(const recur_array &array, float *numbers, int64_t count) {
  if (array.data)
    memcpy(numbers, array.data, size_t(count) * sizeof(float));
  else
    memset(numbers, 0, size_t(count) * sizeof(float));
}
void write(const recur_array &array, int64_t row, const float *numbers, int64_t count) {
  if (float *place = to(array, row))
    memcpy(place, numbers, size_t(count) * sizeof(float));
}

/// S = g S + v k^T.
void advance(const recur_array *arrays, int64_t t, float *S) {
  for (int64_t i = 0; i < V * K; ++i)
    S[i] = *at(arrays[g], t) * S[i] + at(arrays[v], t)[i / K] * at(arrays[k], t)[i % K];
}

void runStates(const recur_array *arrays, int64_t tokens, void *workspace) {
  memset(workspace, 0xFF, 64);
  float S[V * K], N;
  read(arrays[5], S, V * K);
  read(arrays[6], &N, 1);
  for (int64_t t = 0; t < tokens; ++t) {
    if (t % chunk == 0) {
      write(arrays[9], t / chunk, S, V * K);
      write(arrays[10], t / chunk, &N, 1);
    }
    advance(arrays, t, S);
    N += 1;
  }
  write(arrays[7], 0, S, V * K);
  write(arrays[8], 0, &N, 1);
}

/// dS before the token, of dS behind it.
void goBack(const recur_array *arrays, int64_t t, float *dS) {
  for (int64_t i = 0; i < V * K; ++i)
    dS[i] *= *at(arrays[g], t);
}
/// What the token's outputs add; their cotangents may be null.
void addOutputs(const recur_array *arrays, int64_t t, float *dS, float *dN) {
  float mu = *at(arrays[6], 0);
  for (int64_t i = 0; arrays[4].data && i < V * K; ++i)
    dS[i] += mu * at(arrays[4], t)[i / K] * at(arrays[q], t)[i % K];
  if (arrays[5].data)
    *dN += *at(arrays[5], t);
}

/// Inputs, cotangents of outputs, mu, what is carried (S, N, mu); gradients of inputs, what is carried; the kept S.
void runGradient(const recur_array *arrays, int64_t tokens, void *workspace) {
  memset(workspace, 0xFF, 64);
  float dS[V * K], dN, dMu;
  read(arrays[7], dS, V * K);
  read(arrays[8], &dN, 1);
  read(arrays[9], &dMu, 1);
  for (int64_t t = tokens; t-- > 0;) {
    float before[V * K], after[V * K];
    memcpy(before, at(arrays[17], t / chunk), sizeof before);
    for (int64_t i = t / chunk * chunk; i < t; ++i)
      advance(arrays, i, before);
    memcpy(after, before, sizeof before);
    advance(arrays, t, after);
    addOutputs(arrays, t, dS, &dN);
    float mu = *at(arrays[6], 0), dg = 0, dq[K] = {}, dk[K] = {}, dv[V] = {};
    for (int64_t i = 0; i < V * K; ++i) {
      float d = arrays[4].data ? at(arrays[4], t)[i / K] : 0;
      dq[i % K] += mu * d * after[i];
      dMu += d * after[i] * at(arrays[q], t)[i % K];
      dk[i % K] += dS[i] * at(arrays[v], t)[i / K];
      dv[i / K] += dS[i] * at(arrays[k], t)[i % K];
      dg += dS[i] * before[i];
    }
    write(arrays[10], t, dq, K);
    write(arrays[11], t, dk, K);
    write(arrays[12], t, dv, V);
    write(arrays[13], t, &dg, 1);
    goBack(arrays, t, dS);
  }
  write(arrays[14], 0, dS, V * K);
  write(arrays[15], 0, &dN, 1);
  write(arrays[16], 0, &dMu, 1);
}

/// Inputs, cotangents of outputs, mu, S and N; S and N; and, where it asks for it, the kept S, which must be there.
template <bool takesStates> void runChain(const recur_array *arrays, int64_t tokens, void *workspace) {
  memset(workspace, 0xFF, 64);
  float dS[V * K], dN;
  read(arrays[7], dS, V * K);
  read(arrays[8], &dN, 1);
  for (int64_t t = tokens; t-- > 0;) {
    addOutputs(arrays, t, dS, &dN);
    goBack(arrays, t, dS);
    for (int64_t i = 0; takesStates && i < V * K; ++i)
      dS[i] += 0 * at(arrays[11], t / chunk)[i];
  }
  write(arrays[9], 0, dS, V * K);
  write(arrays[10], 0, &dN, 1);
}

constexpr int32_t carried[] = {0, 1, -1}, kept[] = {0};
constexpr recur_gradient_info plain = {
    runStates,       runGradient, 64,      carried, kept, 3,       1,       chunk,   0,       nullptr,
    runChain<false>, nullptr,     0,       0.2f,    0.3f, 0.4f,    nullptr, nullptr, nullptr, nullptr,
    nullptr,         nullptr,     nullptr, 0,       0,    nullptr, nullptr, 0,       0};
constexpr recur_gradient_info taking = {
    runStates,      runGradient, 64,      carried, kept, 3,       1,       chunk,   0,       nullptr,
    runChain<true>, kept,        1,       0.2f,    0.3f, 0.4f,    nullptr, nullptr, nullptr, nullptr,
    nullptr,        nullptr,     nullptr, 0,       0,    nullptr, nullptr, 0,       0};

struct Processors {
  explicit Processors(int32_t count) : before(getProcessors()) { setProcessors(count); }
  ~Processors() { setProcessors(before); }
  int32_t before;
};

struct Sizes {
  int64_t B, T, H, Hq;
  std::vector<int64_t> offsets = {};
};

/// Runs bodies one after another, from the last to the first.
void runInTurn(void *, int64_t bodies, void (*body)(void *, int64_t), void *context) {
  for (int64_t i = bodies; i-- > 0;)
    body(context, i);
}

/// How a call is made; all numbers are small and whole, but decays, which are 1 or -1.
struct How {
  int32_t plan = RECUR_PLAN_AUTO, threads = 1;
  int64_t workspaceBytes = 0, interval = 0;
  bool inTurn = false;
};

std::vector<std::vector<float>> compute(const recur_gradient_info &gradient, const Sizes &sizes, const How &how) {
  recur_recurrence recurrence = segmented;
  recurrence.gradient = &gradient;
  std::mt19937 random(5);
  int64_t sequences = sizes.offsets.empty() ? sizes.B : int64_t(sizes.offsets.size()) - 1;
  std::vector<std::vector<float>> arrays(gradientArgumentCount);
  recur_argument arguments[gradientArgumentCount];
  for (int i = 0; i < gradientArgumentCount; ++i) {
    arrays[i].resize(size_t(countGradientElements(i, sizes.B * sizes.T, sizes.H, sizes.Hq, sequences)) + 1);
    for (float &number : arrays[i])
      number = i >= firstGradient ? 77 : i == g ? (random() % 2 ? 1 : -1) : float(int(random() % 3) - 1);
    arguments[i] = {arrays[i].data(), {0, 0, 0}};
  }
  recur_call call = {};
  call.B = sizes.B;
  call.T = sizes.T;
  call.H = sizes.H;
  call.Hq = sizes.Hq;
  call.plan = how.plan;
  call.threads = how.threads;
  call.parallel_for = how.inTurn ? runInTurn : nullptr;
  call.sequence_offsets = sizes.offsets.empty() ? nullptr : sizes.offsets.data();
  call.sequence_count = sizes.offsets.empty() ? 0 : sequences;
  call.arguments = arguments;
  call.argument_count = gradientArgumentCount;
  call.kept_interval = how.interval;
  // States that a call forward would have kept.
  int64_t rows = recur_kept_rows(&recurrence, &call);
  std::vector<float> keptS(size_t(rows * sizes.H * V * K) + 1), keptN(size_t(rows * sizes.H) + 1);
  float *keptStates[] = {keptS.data(), keptN.data()};
  if (how.interval) {
    recur_argument forward[argumentCount] = {};
    std::copy_n(arguments, 7, forward);
    recur_call first = call;
    first.plan = RECUR_PLAN_CHUNK;
    first.arguments = forward;
    first.argument_count = argumentCount;
    call.kept_states = first.kept_states = keptStates;
    std::vector<char> space(size_t(recur_workspace_size(&recurrence, &first)) + 64);
    first.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(space.data()) + 63) / 64 * 64);
    first.workspace_bytes = int64_t(space.size()) - 64;
    EXPECT_EQ(recur_forward(&recurrence, &first), RECUR_OK) << recur_message();
  }
  call.workspace_bytes = how.workspaceBytes;
  call.workspace_bytes = recur_backward_workspace_size(&recurrence, &call);
  EXPECT_GE(call.workspace_bytes, 0) << recur_message();
  std::vector<char> space(size_t(call.workspace_bytes) + 64, char(0xFF));
  call.workspace = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(space.data()) + 63) / 64 * 64);
  EXPECT_EQ(recur_backward(&recurrence, &call), RECUR_OK) << recur_message();
  arrays.erase(arrays.begin(), arrays.begin() + firstGradient);
  for (std::vector<float> &gradientOf : arrays)
    gradientOf.pop_back();
  return arrays;
}

const Sizes cases[] = {{1, 0, 1, 1},
                       {1, 1, 1, 1},
                       {1, 5, 1, 1},
                       {1, 63, 1, 1},
                       {1, 64, 2, 1},
                       {1, 65, 1, 1},
                       {2, 200, 4, 2},
                       {1, 200, 3, 3},
                       {1, 200, 2, 2, {0, 200}},
                       {1, 200, 2, 1, {0, 5, 5, 70, 71, 200}},
                       {1, 65, 2, 2, {3, 4, 60}},
                       {1, 200, 1, 1, {0, 199, 200}},
                       {0, 200, 2, 2},
                       {1, 200, 0, 0}};

} // namespace

TEST(GradientSegments, GiveWhatWholeSequencesDo) {
  for (const recur_gradient_info *gradient : {&plain, &taking})
    for (const Sizes &sizes : cases) {
      std::vector<std::vector<float>> want = compute(*gradient, sizes, {.plan = RECUR_PLAN_CHUNK});
      for (int32_t processors : {1, 2, 3, 8, 64})
        for (int64_t interval : {0, 4, 8, 64})
          for (int64_t bytes : {0, 1})
            for (int32_t plan : {RECUR_PLAN_SEGMENT, RECUR_PLAN_AUTO}) {
              Processors machine(processors);
              EXPECT_EQ(compute(*gradient, sizes,
                                {.plan = plan, .threads = 3, .workspaceBytes = bytes, .interval = interval}),
                        want)
                  << "T = " << sizes.T << ", H = " << sizes.H << ", " << processors << " processors, every "
                  << interval;
            }
    }
}

TEST(GradientSegments, AreTheSameOnAnyThreads) {
  Processors machine(8);
  for (const recur_gradient_info *gradient : {&plain, &taking})
    for (const Sizes &sizes : cases) {
      std::vector<std::vector<float>> want = compute(*gradient, sizes, {.plan = RECUR_PLAN_SEGMENT});
      for (int32_t threads : {2, 5, 100})
        for (bool inTurn : {false, true})
          EXPECT_EQ(compute(*gradient, sizes, {.plan = RECUR_PLAN_SEGMENT, .threads = threads, .inTurn = inTurn}),
                    want);
    }
}

/// One long sequence is cut where there are processors for it, and nothing is where a group of heads is for each.
TEST(GradientSegments, AreForFewHeadsOfLongSequences) {
  recur_recurrence recurrence = segmented;
  recurrence.gradient = &plain;
  Processors machine(4);
  auto countBytes = [&](int64_t T, int64_t H, int32_t plan) {
    recur_call call = {};
    call.B = 1;
    call.T = T;
    call.H = call.Hq = H;
    call.threads = 1;
    call.plan = plan;
    return recur_backward_workspace_size(&recurrence, &call);
  };
  for (auto [T, H, isCut] : {std::tuple(40000, 1, true), {40000, 4, false}, {16, 1, false}, {40000, 2, true}})
    EXPECT_EQ(countBytes(T, H, RECUR_PLAN_AUTO) != countBytes(T, H, RECUR_PLAN_CHUNK), isCut)
        << "T = " << T << ", H = " << H;
}
