#include "TestRecurrence.h"
#include "Runtime/CPU/FloatMode.h"
#include <cstdlib>
#include <cstring>

using namespace recur::test;

int64_t recur::test::stepRuns = 0, recur::test::chunkRuns = 0, recur::test::allRuns = 0, recur::test::flushingRuns = 0;

/// Nothing but the flags of exceptions may differ: all masked, rounding to nearest, flushing, subnormals are zero.
static bool isFlushing(recur::runtime::FloatMode mode) {
#if defined(__x86_64__)
  constexpr unsigned flags = 0x3F, wanted = 0x1F80 | _MM_FLUSH_ZERO_ON | 0x40;
  return (mode & ~flags) == wanted;
#else
  return mode.control == uint64_t(1) << 24;
#endif
}

static void countRun() {
  __atomic_fetch_add(&allRuns, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&flushingRuns, isFlushing(recur::runtime::getFloatMode()), __ATOMIC_RELAXED);
}

/// N counts tokens (a state of rank 0); S = exp-free decay g * S + outer(v, k); o = mu * S q; seen = N.
static void runTokens(const float *q, const float *k, const float *v, float g, float mu, float *S, float *N, float *o,
                      float *seen) {
  *N += 1;
  for (int64_t row = 0; row < V; ++row) {
    float sum = 0;
    for (int64_t column = 0; column < K; ++column) {
      float &element = S[row * K + column];
      element = g * element + v[row] * k[column];
      sum += element * q[column];
    }
    if (o)
      o[row] = mu * sum;
  }
  if (seen)
    *seen = *N;
}

static const float *getToken(const recur_array &array, int64_t token) {
  return static_cast<const float *>(array.data) + token * array.token_stride;
}
static float *getOutput(const recur_array &array, int64_t token) {
  return array.data ? static_cast<float *>(array.data) + token * array.token_stride : nullptr;
}

static void runKernel(const recur_array *arrays, int64_t tokens, void *workspace) {
  countRun();
  float *S = static_cast<float *>(workspace), *N = S + K * V;
  if (arrays[initialS].data)
    memcpy(S, arrays[initialS].data, K * V * sizeof(float));
  else
    memset(S, 0, K * V * sizeof(float));
  *N = arrays[initialN].data ? *static_cast<float *>(arrays[initialN].data) : 0;
  for (int64_t t = 0; t < tokens; ++t)
    runTokens(getToken(arrays[q], t), getToken(arrays[k], t), getToken(arrays[v], t), *getToken(arrays[g], t),
              *getToken(arrays[mu], 0), S, N, getOutput(arrays[o], t), getOutput(arrays[seen], t));
  if (arrays[finalS].data)
    memcpy(arrays[finalS].data, S, K * V * sizeof(float));
  if (arrays[finalN].data)
    memcpy(arrays[finalN].data, N, sizeof(float));
}

static void runStep(const recur_array *arrays, int64_t tokens, void *workspace) {
  __atomic_fetch_add(&stepRuns, 1, __ATOMIC_RELAXED);
  runKernel(arrays, tokens, workspace);
}
static void runChunk(const recur_array *arrays, int64_t tokens, void *workspace) {
  __atomic_fetch_add(&chunkRuns, 1, __ATOMIC_RELAXED);
  runKernel(arrays, tokens, workspace);
}

static constexpr int64_t workspaceBytes = (K * V + 1) * sizeof(float);

static const recur_array_info arrays[] = {
    {"q", RECUR_INPUT, RECUR_F32, 1, 1, {K, 0}},    {"k", RECUR_INPUT, RECUR_F32, 1, 1, {K, 0}},
    {"v", RECUR_INPUT, RECUR_F32, 0, 1, {V, 0}},    {"g", RECUR_INPUT, RECUR_F32, 0, 0, {0, 0}},
    {"mu", RECUR_PARAM, RECUR_F32, 0, 0, {0, 0}},   {"S", RECUR_STATE, RECUR_F32, 0, 2, {V, K}},
    {"N", RECUR_STATE, RECUR_F32, 0, 0, {0, 0}},    {"o", RECUR_OUTPUT, RECUR_F32, 0, 1, {V, 0}},
    {"seen", RECUR_OUTPUT, RECUR_F32, 0, 0, {0, 0}}};
static const recur_kernel_info kernels[] = {
    {runStep, workspaceBytes, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr},
    {runChunk, workspaceBytes, 3, RECUR_PLAN_CHUNK, 64, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr}};

extern const recur_recurrence recur::test::attention = {RECUR_ABI_VERSION, 0,           9,       2,       arrays,
                                                        kernels,           "attention", "host",  "test",  nullptr,
                                                        nullptr,           RECUR_CPU,   nullptr, nullptr, nullptr};

static float *getFloats(const recur_array &array) { return static_cast<float *>(array.data); }

/// What tokens make of S, as `map * S + offset` elementwise. The arrays are inputs, mu, map, offset, map, offset.
static void summariseS(const recur_array *arrays, int64_t tokens, void *) {
  countRun();
  const float *map = getFloats(arrays[mu + 1]), *offset = getFloats(arrays[mu + 2]);
  float *newMap = getFloats(arrays[mu + 3]), *newOffset = getFloats(arrays[mu + 4]);
  memmove(newMap, map, K * V * sizeof(float));
  memmove(newOffset, offset, K * V * sizeof(float));
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t i = 0; i < K * V; ++i) {
      newMap[i] *= *getToken(arrays[g], t);
      newOffset[i] =
          *getToken(arrays[g], t) * newOffset[i] + getToken(arrays[v], t)[i / K] * getToken(arrays[k], t)[i % K];
    }
}

/// What they make of N, with S as a state that must be known.
static void summariseN(const recur_array *arrays, int64_t tokens, void *) {
  countRun();
  if (!arrays[mu + 1].data || arrays[mu + 4].data)
    abort();
  *getFloats(arrays[mu + 5]) = *getFloats(arrays[mu + 2]);
  *getFloats(arrays[mu + 6]) = *getFloats(arrays[mu + 3]) + float(tokens);
}

static void apply(const recur_array *arrays, int64_t count) {
  countRun();
  for (int64_t i = 0; i < count; ++i)
    getFloats(arrays[3])[i] = getFloats(arrays[0])[i] * getFloats(arrays[1])[i] + getFloats(arrays[2])[i];
}
static void applyS(const recur_array *arrays, int64_t, void *) { apply(arrays, K * V); }
static void applyN(const recur_array *arrays, int64_t, void *) { apply(arrays, 1); }

static const int32_t needs[] = {0};
static const recur_summary_info summaries[] = {
    {summariseS, applyS, nullptr, 0, 0, 0, 1, 0, 0.3f, 0.1f, 0, 0, RECUR_NO_EXTREMUM, nullptr},
    {summariseN, applyN, needs, 1, 1, 0, 1, 0, 0.1f, 0.1f, 0, 0, RECUR_NO_EXTREMUM, nullptr}};
static const recur_kernel_info segmentedKernels[] = {
    {runStep, workspaceBytes, 0, RECUR_PLAN_STEP, 0, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr},
    {runChunk, workspaceBytes, 3, RECUR_PLAN_CHUNK, 4, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr},
    {runChunk, workspaceBytes, 0, RECUR_PLAN_SEGMENT, 4, summaries, 2, 0, nullptr, nullptr, 0, nullptr, nullptr}};
extern const recur_recurrence recur::test::segmented = {RECUR_ABI_VERSION, 0,           9,       3,       arrays,
                                                        segmentedKernels,  "attention", "host",  "test",  nullptr,
                                                        nullptr,           RECUR_CPU,   nullptr, nullptr, nullptr};

Problem::Problem(int64_t B, int64_t T, int64_t H, int64_t Hq, int64_t sequences)
    : B(B), T(T), H(H), Hq(Hq), sequences(sequences < 0 ? B : sequences) {
  int64_t n = this->sequences;
  int64_t sizes[argumentCount] = {B * T * Hq * K, B * T * Hq * K, B * T * H * V, B * T * H,     H,    n * H * V * K,
                                  n * H,          B * T * H * V,  B * T * H,     n * H * V * K, n * H};
  uint32_t random = 1;
  for (int i = 0; i < argumentCount; ++i) {
    arrays[i].resize(sizes[i] + 1); // never empty, so that data() is not null
    for (float &value : arrays[i])
      value = float((random = random * 1664525u + 1013904223u) >> 8) / (1 << 24);
  }
}

recur_call Problem::makeCall(recur_argument (&arguments)[argumentCount], const int64_t *offsets, int32_t threads,
                             const recur_recurrence *recurrence) {
  for (int i = 0; i < argumentCount; ++i)
    arguments[i] = {arrays[i].data(), {0, 0, 0}};
  recur_call call = {};
  call.B = B;
  call.T = T;
  call.H = H;
  call.Hq = Hq;
  call.arguments = arguments;
  call.argument_count = argumentCount;
  call.sequence_offsets = offsets;
  call.sequence_count = offsets ? sequences : 0;
  call.threads = threads;
  makeSpace(call, recurrence);
  return call;
}

void Problem::makeSpace(recur_call &call, const recur_recurrence *recurrence) {
  call.workspace_bytes = recur_workspace_size(recurrence, &call);
  space.assign(call.workspace_bytes + 2 * 64, -1);
  call.workspace = space.data() + (64 - reinterpret_cast<uintptr_t>(space.data()) % 64) % 64;
}

Expected::Expected(const Problem &problem, const int64_t *offsets)
    : o(problem.arrays[recur::test::o].size()), seen(problem.arrays[recur::test::seen].size()),
      S(problem.arrays[initialS]), N(problem.arrays[initialN]) {
  for (int64_t sequence = 0; sequence < problem.sequences; ++sequence)
    for (int64_t head = 0; head < problem.H; ++head) {
      int64_t begin = offsets ? offsets[sequence] : sequence * problem.T;
      int64_t end = offsets ? offsets[sequence + 1] : begin + problem.T;
      int64_t state = sequence * problem.H + head;
      for (int64_t token = begin; token < end; ++token) {
        int64_t at = token * problem.H + head;
        int64_t shared = token * problem.Hq + head / (problem.H / problem.Hq);
        runTokens(&problem.arrays[q][shared * K], &problem.arrays[k][shared * K], &problem.arrays[v][at * V],
                  problem.arrays[g][at], problem.arrays[mu][head], &S[state * V * K], &N[state], &o[at * V], &seen[at]);
      }
    }
}

namespace {
enum class Of { Tokens, Heads, States };

struct GradientArgument {
  int64_t elements; // of a token, a head or a state
  Of of;
  bool isShared = false;
};
constexpr GradientArgument qs{K, Of::Tokens, true}, ks = qs, vs{V, Of::Tokens}, numbers{1, Of::Tokens};
constexpr GradientArgument mus{1, Of::Heads}, S{V * K, Of::States}, N{1, Of::States};
constexpr GradientArgument gradientArguments[gradientArgumentCount] = {
    qs, ks, vs, numbers, mus, S, N, vs, numbers, S, N, qs, ks, vs, numbers, mus, S, N};
} // namespace

int64_t recur::test::countGradientElements(int argument, int64_t tokens, int64_t H, int64_t Hq, int64_t sequences) {
  const GradientArgument &given = gradientArguments[argument];
  int64_t many = given.of == Of::Tokens ? tokens : given.of == Of::States ? sequences : 1;
  return many * (given.isShared ? Hq : H) * given.elements;
}
